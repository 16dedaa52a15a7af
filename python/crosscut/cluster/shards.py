"""Which process of which host, run and rank the rows of a partial are about."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

UNKNOWN = "unknown"  # a host that the run does not state

_BLOCK = 1 << 20
_MOST_OF_PART = 60  # characters of a file's name


@dataclass(frozen=True)
class Shard:
    """A process whose log was mapped, and what it is in its job. Numbers that the run does not
    state are -1, texts are "" (the host's: "unknown").

    `unit` tells the mapped run or file from others: its processes come and go together.
    `leads`: the process is the rank itself, not a child of it, such as a loader.
    """

    host: str = UNKNOWN
    boot: str = ""
    unit: str = ""
    process: str = ""
    restart: int = 0
    rank: int = -1
    leads: bool = False
    local_rank: int = -1
    world: int = -1
    node_rank: int = -1
    role: str = ""
    actor: str = ""
    seed: str = ""
    complete: bool = True
    damage: str = ""  # what could not be read of its run, of one process of it
    log_bytes: int = 0
    log_crc32: int = 0

    @property
    def id(self) -> tuple[str, str, str, int]:
        """What makes it the same process wherever it was mapped."""
        return self.host, self.boot, self.process, self.restart

    @property
    def order(self) -> tuple[Any, ...]:
        """The one order of shards: by rank, those without one last."""
        return (self.restart, self.rank < 0, self.rank, not self.leads, self.host, self.boot,
                self.process)

    @property
    def title(self) -> str:
        """It, in a sentence."""
        rank = f"rank {self.rank}, " if self.leads else ""
        return f"{rank}process {self.process} of host {self.host}"

    def as_json(self) -> dict[str, Any]:
        """For a manifest."""
        return asdict(self)

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Shard:
        """The inverse. ValueError where something is missing or of another type."""
        try:
            shard = cls(**stated)
        except TypeError as error:
            raise ValueError(f"a shard of the manifest is not understood: {error}") from None
        for field in fields(cls):
            if type(getattr(shard, field.name)) is not type(field.default):
                raise ValueError(f"{field.name} of a shard of the manifest has the wrong type")
        return shard


def crc32_of(path: str, crc: int = 0) -> int:
    """The checksum of a file's bytes, behind those with that one. OSError where it cannot be
    read."""
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def imported_files(path: str, run: Mapping[str, Any]) -> list[str]:
    """The files of other tools that an input with these facts was made of: the file itself, or
    those in a run directory; none of a recorded run."""
    if not os.path.isdir(path):
        return [path]
    names = run.get("imported")
    files = [os.path.join(path, str(name)) for name in names] if isinstance(names, list) else []
    return [file for file in files if os.path.isfile(file)]


def bytes_of(files: Sequence[str]) -> tuple[int, int]:
    """How many bytes the files have, and the checksum of all of them. OSError where one cannot be
    read."""
    crc = functools.reduce(lambda before, file: crc32_of(file, before), files, 0)
    return sum(map(os.path.getsize, files)), crc


def run_facts(path: str) -> dict[str, Any]:
    """What a run directory says about itself in run.json; empty for a file of another tool.
    ValueError where that cannot be read."""
    if not os.path.isdir(path):
        return {}
    try:
        with open(os.path.join(path, "run.json"), encoding="utf-8",
                  errors="replace") as file:  # a command's words may be no text
            facts = json.load(file)
        if isinstance(facts, dict):
            return facts
        why = "it is no object"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise ValueError(f"run.json cannot be read, so its job is not known: {why}")


def first_stated(facts: Mapping[str, Any], *names: str) -> Any:
    """The first of these facts that is stated, else None."""
    for name in names:
        if facts.get(name) not in (None, ""):
            return facts[name]
    return None


def number(value: Any) -> int:
    """A stated number; -1 where it is none of 62 bits, which can still be counted on from."""
    try:
        stated = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return stated if -1 <= stated < 1 << 62 else -1


def file_name(*parts: str) -> str:
    """The beginnings of the parts, joined by dots, with no character in them that a file name must
    not have."""
    return ".".join(re.sub(r"[^A-Za-z0-9_-]", "_", part)[:_MOST_OF_PART] or "_" for part in parts)


def shard_of_process(path: str, run: Mapping[str, Any], row: Mapping[str, Any],
                     stated: Mapping[str, Any], imported: tuple[int, int] | None) -> Shard:
    """The shard of a row of the table `processes`. `stated`: more facts of that process.
    `imported`: bytes_of(imported_files()), which all processes of an input share; None: none."""
    process = str(row["process"])
    facts = {**_distributed_info(stated), **row, **stated}
    rank = number(first_stated(facts, "rank"))
    named = re.fullmatch(r"rank (\d+)", str(row.get("name") or ""))
    if rank < 0 and named:
        rank = number(named[1])
    log = os.path.join(path, process + ".crosscut")
    logs = [log] if os.path.isfile(log) else []
    log_bytes, crc = imported or bytes_of(logs)
    return Shard(
        host=str(first_stated({**run, **stated}, "host", "host_name") or UNKNOWN),
        boot=str(first_stated({**run, **stated}, "boot_id") or ""),
        # Files of other tools state no host: their bytes tell them apart.
        process=f"{process}@{crc:08x}" if imported else process,
        restart=max(0, number(first_stated(facts, "restart", "restart_count"))),
        rank=rank, local_rank=number(first_stated(facts, "local_rank")),
        world=number(first_stated(facts, "world_size", "world")),
        node_rank=number(first_stated(facts, "node_rank", "group_rank")),
        role=str(first_stated(facts, "role") or ""), actor=str(first_stated(facts, "actor") or ""),
        seed=str(first_stated(facts, "seed") or first_stated(run, "seed") or ""),
        complete=bool(row.get("complete")), log_bytes=log_bytes, log_crc32=crc)


def _distributed_info(stated: Mapping[str, Any]) -> dict[str, Any]:
    """What PyTorch's own profile says of the rank it is of."""
    try:
        info = json.loads(str(stated.get("distributedInfo", "")))
    except ValueError:
        return {}
    return {name: info[name] for name in ("rank", "world_size") if name in info} if isinstance(
        info, dict) else {}


def with_leads(shards: Mapping[str, Shard], parents: Mapping[str, str]) -> dict[str, Shard]:
    """Says which of a run's processes are ranks themselves; the others get the rank that they work
    for. Both mappings are by process, as tables call it."""
    out = {}
    for process, shard in shards.items():
        above = _ranked_above(process, shards, parents)
        if shard.rank < 0 and above is not None:
            shard = replace(shard, rank=above.rank, world=above.world, restart=above.restart)
        leads = shard.rank >= 0 and (above is None or above.rank != shard.rank)
        out[process] = replace(shard, leads=leads)
    return out


def _ranked_above(process: str, shards: Mapping[str, Shard],
                  parents: Mapping[str, str]) -> Shard | None:
    """The nearest ancestor that states a rank; None where there is none."""
    seen = {process}
    at = parents.get(process, "")
    while at in shards and at not in seen:
        if shards[at].rank >= 0:
            return shards[at]
        seen.add(at)
        at = parents.get(at, "")
    return None


def worlds(shards: Sequence[Shard]) -> dict[int, int]:
    """How many ranks the job has, by restart: the most that a process states, and at least as many
    as the highest rank that is here asks for; 0 where none is."""
    out: dict[int, int] = {}
    for shard in shards:
        most = max(shard.world, shard.rank + 1, 0)
        out[shard.restart] = max(out.get(shard.restart, 0), most)
    return out


def of_one_unit(shards: Mapping[str, Shard]) -> dict[str, Shard]:
    """The processes of one run or file, with the name of that: it changes with any of their
    logs."""
    text = json.dumps(sorted([*shard.id, shard.log_bytes, shard.log_crc32]
                             for shard in shards.values()))
    unit = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {process: replace(shard, unit=unit) for process, shard in shards.items()}
