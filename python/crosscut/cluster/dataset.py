"""The cluster folder: cluster.json, and a folder of Parquet files for each table. docs/cluster.md
has the schema. Equal partials give equal bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crosscut.cluster import is_cluster, spec, store
from crosscut.cluster.finish import Finished, shard_table
from crosscut.cluster.partial import SHARD, Partial, canonical
from crosscut.cluster.spool import InMemory

FACTS = "cluster.json"
VERSION = 2  # of the folder
_STATED = {"tables", "incomplete", "missing", "gaps", "hosts", "job", "ranks", "processes", "spec"}
FRONT = ("rank", "restart", "host", "process")  # of each row that is about a process
_GROUP_ROWS = 1 << 18  # of a Parquet row group
# Tables with many rows have a file for so many processes: together they would not fit.
_FILE_SHARDS = 256
_LONG = (spec.STEPS, spec.LEDGER)
# Files of `reduce` itself beside the dataset.
PARTIALS = "partials"
_OLD = "."  # in front of a table that another took the place of
_PATIENCE = 20  # seconds for another process that puts its result in place, a matter of renames


@dataclass(frozen=True)
class Cluster:
    """A cluster folder that is being read."""

    path: str
    facts: dict[str, Any]
    stamp: tuple[int, ...]  # of cluster.json

    @property
    def tables(self) -> list[str]:
        """The names of its tables, sorted."""
        return sorted(self.facts["tables"])

    def table(self, name: str) -> pa.Table:
        """A table of it. OSError, ValueError where it cannot be read, or `reduce` put another
        result in place of this one."""
        folder = os.path.join(self.path, name)
        parts = []
        for part in sorted(os.listdir(folder)):
            with open(os.path.join(folder, part), "rb") as file:
                parts.append(pq.read_table(_path_of(file)))
        table = pa.concat_tables(parts)
        if _stamp(os.stat(os.path.join(self.path, FACTS))) != self.stamp:
            raise OSError(f"{self.path}: it was reduced anew while it was read: try again")
        return table


def open_cluster(path: str | os.PathLike[str]) -> Cluster:
    """The folder at `path`. OSError, ValueError where it is none that this version reads."""
    with open(os.path.join(path, FACTS), encoding="utf-8") as file:
        try:
            facts = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path}: {FACTS} is damaged: {error}") from None
        stamp = _stamp(os.fstat(file.fileno()))
    version = facts.get("version") if isinstance(facts, dict) else None
    if version != VERSION:
        raise ValueError(f"{path}: {FACTS} has version {version}; this Crosscut reads "
                         f"{VERSION}: reduce the partials again")
    if not _STATED <= facts.keys():
        raise ValueError(f"{path}: {FACTS} is damaged: reduce the partials again")
    return Cluster(os.fspath(path), facts, stamp)


def _path_of(file: BinaryIO) -> str:
    """One that pyarrow takes: it knows none of any bytes. What is Python's must not reach its
    threads, which may outlive Python."""
    path = f"/proc/self/fd/{file.fileno()}"
    return path if os.path.exists(path) else file.name


def _stamp(file: os.stat_result) -> tuple[int, ...]:
    return file.st_dev, file.st_ino, file.st_mtime_ns, file.st_size


def with_front(rows: pa.Table, shards: pa.Table, name: str) -> pa.Table:
    """Rows of shards with what these are in front. A column that has the name of one of those gets
    the table's name before it."""
    at = rows.column(SHARD)
    columns, names = [], []
    for front in FRONT:
        cells = shards.column(front).combine_chunks()
        if pa.types.is_string(cells.type):
            encoded = pc.dictionary_encode(cells)
            cells = pa.DictionaryArray.from_arrays(pc.take(encoded.indices, at).combine_chunks(),
                                                   encoded.dictionary)
        else:
            cells = pc.take(cells, at)
        columns.append(cells)
        names.append(front)
    for column in rows.column_names:
        if column != SHARD:
            columns.append(rows.column(column))
            names.append(f"{name}_{column}" if column in FRONT else column)
    return pa.table(columns, names=names)


def by_step(table: pa.Table) -> pa.Table:
    """Rows in the order of shards, by step instead, which comes first; those without one first."""
    table = table.select(["step", *(c for c in table.column_names if c != "step")]).combine_chunks()
    steps = table.column("step").fill_null(-1).to_numpy()
    if not np.any(steps[1:] < steps[:-1]):
        return table
    order = np.argsort(steps, kind="stable")
    return pa.table([_taken(column.chunk(0), order) for column in table.columns],
                    names=table.column_names)


def _taken(cells: pa.Array, order: Any) -> pa.Array:
    """The cells in that order. NumPy does it faster where it can."""
    if pa.types.is_dictionary(cells.type):
        codes = pa.array(cells.indices.to_numpy()[order])
        return pa.DictionaryArray.from_arrays(codes, cells.dictionary)
    if cells.null_count or not pa.types.is_integer(cells.type):
        return cells.take(pa.array(order))
    return pa.array(cells.to_numpy()[order], cells.type)


def _tables(partial: Partial, done: Finished) -> Iterator[tuple[str, Iterable[pa.Table]]]:
    """Each table, as the files that it is written into."""
    shards = shard_table(partial.shards)
    for name in sorted(set(partial.tables) - set(done.tables)):
        rows = partial.tables[name]
        if name in _LONG:
            yield name, _files(rows, shards, name)
        else:
            yield name, [with_front(rows, shards, name) if SHARD in rows.column_names else rows]
    for name, table in sorted(done.tables.items()):
        yield name, [table]


def _files(rows: Any, shards: pa.Table, name: str) -> Iterator[pa.Table]:
    of_shards = InMemory(rows) if isinstance(rows, pa.Table) else rows
    for first in range(0, max(1, len(shards)), _FILE_SHARDS):
        part = of_shards.table(first, min(first + _FILE_SHARDS, len(shards)))
        yield by_step(with_front(part, shards, name))


def claim(path: str) -> None:
    """Makes the folder a cluster folder. FileExistsError where it is one of something else."""
    keep = os.path.join(path, PARTIALS)  # a sign, too, until cluster.json is there
    used = os.path.isdir(path) and os.listdir(path)
    if used and not is_cluster(path) and not os.path.isdir(keep):
        raise FileExistsError(f"{path} holds something else than a cluster: name another folder")
    os.makedirs(keep, exist_ok=True)


def _tables_there(path: str) -> set[str]:
    """The tables of an earlier result."""
    try:
        return set(open_cluster(path).tables) & set(os.listdir(path)) - {PARTIALS}
    except (OSError, ValueError):
        return set()


def write(path: str, partial: Partial, done: Finished) -> dict[str, Any]:
    """Writes the folder, which may hold an earlier result: that is there until all of this one is
    written. Returns what cluster.json says. OSError where it cannot be written."""
    claim(path)
    path = os.fspath(path)
    with store.scratch(path) as folder:
        stated = {}
        for name, files in _tables(partial, done):
            os.makedirs(os.path.join(folder, name))
            rows = 0
            for number, table in enumerate(files):
                _write_file(os.path.join(folder, name, f"{number:05d}.parquet"), table,
                            name in _LONG)
                rows += table.num_rows
            stated[name] = {"rows": rows, "columns": {field.name: _type_name(field.type)
                                                      for field in table.schema}}
        facts = _facts(partial, done, stated)
        text = json.dumps(facts, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
        content = text.encode("utf-8", "replace")  # a path may be no text
        store.write(os.path.join(folder, FACTS), content)
        with store.alone_in(path, _PATIENCE):
            _put_in_place(folder, path, set(stated))
    return facts


def _put_in_place(folder: str, path: str, tables: set[str]) -> None:
    """Moves the result that is in `folder`. cluster.json goes first and comes last: without it
    there is no result."""
    before = _tables_there(path)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(path, FACTS))
    for name in sorted(before | tables):
        place = os.path.join(path, name)
        if os.path.lexists(place):
            os.rename(place, os.path.join(folder, f"{_OLD}{name}"))
        if name in tables:
            os.rename(os.path.join(folder, name), place)
    os.rename(os.path.join(folder, FACTS), os.path.join(path, FACTS))


def _write_file(file: str, table: pa.Table, long: bool) -> None:
    # Times hardly repeat. Of long tables, steps and ranks are what readers select by.
    codes = [name for name in table.column_names if name != "ns" and not name.endswith("_ns")]
    with open(file, "wb") as out:  # pyarrow takes no path of any bytes
        pq.write_table(canonical(table), out, row_group_size=_GROUP_ROWS, compression="zstd",
                       store_schema=False, use_dictionary=codes or False,
                       write_statistics=["step", "rank"] if long else True)


def _type_name(kind: pa.DataType) -> str:
    return "string" if pa.types.is_dictionary(kind) else str(kind)


def _facts(partial: Partial, done: Finished, stated: dict[str, Any]) -> dict[str, Any]:
    hosts: dict[str, dict[str, Any]] = {}
    ranks: dict[str, set[int]] = {}  # of all restarts
    for shard in partial.shards:
        host = hosts.setdefault(shard.host, {"boots": [], "processes": 0})
        host["boots"] = sorted({*host["boots"], shard.boot} - {""})
        host["processes"] += 1
        ranks.setdefault(shard.host, set()).update([shard.rank] if shard.leads else [])
        host["ranks"] = len(ranks[shard.host])
    return {
        "version": VERSION, "spec": spec.digest(), "job": partial.job, "hosts": hosts,
        "world": max((shard.world for shard in partial.shards), default=-1),
        "ranks": len(set().union(*ranks.values())),
        "processes": len(partial.shards), "missing": done.missing,
        "incomplete": done.incomplete,
        "gaps": [[gap.where, gap.what] for gap in done.gaps], "tables": stated,
    }
