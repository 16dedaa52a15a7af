"""What `map` and `reduce` are given: runs, files of other tools, partials, folders of those."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from crosscut._command import why
from crosscut.cluster import is_cluster, partial, shards, spec, store
from crosscut.cluster.partial import Damaged, Gap, OtherVersion, Partial
from crosscut.cluster.shards import Shard
from crosscut.cluster.spool import Spool

_DEPTH = 4  # of folders below a source in which runs are looked for
_LOG = ".crosscut"
_TRACES = (".json", ".json.gz", ".xplane.pb")


Log = tuple[str, int, int]  # its process ("" for a file of another tool), bytes, checksum


@dataclass(frozen=True)
class Input:
    """What has to be mapped. `nodes`: of Ray, those that see it; none: this machine does."""

    path: str
    logs: frozenset[Log]  # empty for a run without any
    nodes: tuple[str, ...] = ()


@dataclass
class Sources:
    """What is to be reduced: partials that could be read, paths that have to be mapped, paths that
    are not there, and what could not be read, with the shards that are missing for it (None: not
    known). `given`: the paths as they were given, but for those of partials."""

    given: list[str] = field(default_factory=list)
    partials: list[Partial] = field(default_factory=list)
    unmapped: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    unread: list[tuple[Gap, list[Shard] | None]] = field(default_factory=list)


def is_run(path: str) -> bool:
    """Whether it is a run directory, or what is left of one."""
    with os.scandir(path) as entries:
        return any(e.name == "run.json" or e.name.endswith(_LOG) for e in entries if e.is_file())


def runs_below(folder: str, depth: int = _DEPTH) -> list[str]:
    """The run directories in a folder, sorted; the folder itself where it is one."""
    if is_run(folder):
        return [folder]
    if depth == 0 or is_cluster(folder):
        return []
    with os.scandir(folder) as entries:
        inside = sorted(e.path for e in entries if e.is_dir(follow_symlinks=False))
    return [run for path in inside for run in runs_below(path, depth - 1)]


def traces_in(folder: str) -> list[str]:
    """The traces of other tools in a folder, by their names: JSON of PyTorch, XSpaces. Sorted."""
    with os.scandir(folder) as entries:
        return sorted(e.path for e in entries if e.is_file() and e.name.endswith(_TRACES))


def inputs_of(paths: Iterable[str]) -> list[str]:
    """The runs and files that these paths mean, each once. FileNotFoundError for a path that is
    not there, ValueError for a folder without a run."""
    out: dict[str, None] = {}
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: there is no such run or file")
        found = (runs_below(path) or traces_in(path)) if os.path.isdir(path) else [path]
        if not found:
            raise ValueError(f"{path}: there is no run in it, and no trace (*.json, *.json.gz, "
                             "*.xplane.pb)")
        out.update(dict.fromkeys(found))
    return list(out)


def all_inputs_of(paths: Iterable[str]) -> tuple[list[str], list[Gap]]:
    """The same of those that mean something; and what is wrong with the others."""
    out: dict[str, None] = {}
    gaps = []
    for path in paths:
        try:
            out.update(dict.fromkeys(inputs_of([path])))
        except (OSError, ValueError) as error:
            gaps.append(Gap(path, why(error).removeprefix(f"{path}: ")))
    return list(out), gaps


def spooled(part: Partial, spool: Spool) -> Partial:
    """The partial with its ledger in the spool: together they would not fit into memory."""
    if spec.LEDGER in part.tables:
        part.tables[spec.LEDGER] = spool.add(part.tables[spec.LEDGER], len(part.shards))
    return part


def find(paths: Iterable[str], spool: Spool, elsewhere: bool = False) -> Sources:
    """Reads the partials among the sources, their ledgers into the spool. ValueError for a folder
    that holds neither runs nor partials, unless other machines may see some in it (`elsewhere`)."""
    out = Sources()
    for path in dict.fromkeys(paths):
        if path.endswith(partial.SUFFIX):
            _read(path, spool, out)
            continue
        inside = store.partials_in(path)
        for file in inside:
            _read(file, spool, out)
        if store.is_uri(path):
            if not inside:
                raise ValueError(f"{path}: there is no partial (*{partial.SUFFIX}) in it")
            continue
        if inside and not (runs_below(path) or traces_in(path)):
            continue
        out.given.append(path)
        if not os.path.exists(path):
            out.absent.append(path)
        elif not os.path.isdir(path):
            out.unmapped.append(path)
        else:
            runs = runs_below(path) or traces_in(path)
            if not runs and not elsewhere:
                raise ValueError(f"{path}: there is no run in it, no partial (*{partial.SUFFIX}) "
                                 "and no trace (*.json, *.json.gz, *.xplane.pb)")
            out.unmapped += runs
    return out


def _read(path: str, spool: Spool, out: Sources) -> None:
    try:
        out.partials.append(spooled(partial.from_bytes(store.read(path), path), spool))
    except (Damaged, OtherVersion) as error:
        out.unread.append((Gap(os.path.basename(path), str(error)), error.shards))
    except OSError as error:
        out.unread.append((Gap(os.path.basename(path), f"it cannot be read: {why(error)}"), None))


def log_of(shard: Shard) -> Log:
    """The log of which the shard was made."""
    crc = shard.log_crc32
    process = "" if shard.process.endswith(f"@{crc:08x}") else shard.process
    return process, shard.log_bytes, crc


def logs_of(path: str) -> frozenset[Log]:
    """All the logs of a run as they are now, or the one that a file is, or the files of an imported
    run together. OSError where they cannot be read."""
    try:
        files = shards.imported_files(path, shards.run_facts(path))
    except ValueError:  # who maps it says so
        files = []
    if files:
        return frozenset([("", *shards.bytes_of(files))])
    names = [name for name in os.listdir(path) if name.endswith(_LOG)]
    logs = {name: os.path.join(path, name) for name in names}
    return frozenset((name.removesuffix(_LOG), os.path.getsize(log), shards.crc32_of(log))
                     for name, log in logs.items())
