"""The cluster folder: cluster.json, and a Parquet file for each table. docs/cluster.md has the
schema. Equal partials give equal bytes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crosscut.cluster import spec, store
from crosscut.cluster.finish import Finished, shard_table
from crosscut.cluster.partial import SHARD, Partial, canonical

FACTS = "cluster.json"
FRONT = ("rank", "restart", "host", "process")  # of each row that is about a process
_GROUP_ROWS = 1 << 18  # of a Parquet row group
# Files of `reduce` itself beside the dataset.
PARTIALS = "partials"


@dataclass(frozen=True)
class Cluster:
    """A cluster folder that is being read."""

    path: str
    facts: dict[str, Any]

    @property
    def tables(self) -> list[str]:
        """The names of its tables, sorted."""
        return sorted(self.facts["tables"])

    def table(self, name: str) -> pa.Table:
        """A table of it. OSError, ValueError where it cannot be read."""
        return pq.read_table(file_of(self.path, name))


def open_cluster(path: str) -> Cluster:
    """The folder at `path`. OSError, ValueError where it is none that this version reads."""
    with open(os.path.join(path, FACTS), encoding="utf-8") as file:
        facts = json.load(file)
    version = facts.get("version") if isinstance(facts, dict) else None
    if version != spec.VERSION:
        raise ValueError(f"{path}: {FACTS} has version {version}; this Crosscut reads "
                         f"{spec.VERSION}: reduce the partials again")
    return Cluster(path, facts)


def file_of(path: str, table: str) -> str:
    """Where a table lies."""
    return os.path.join(path, table, f"{table}.parquet")


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
    steps = table.column("step").fill_null(-1).to_numpy()
    if np.any(steps[1:] < steps[:-1]):
        table = table.take(pa.array(np.argsort(steps, kind="stable")))
    return table.select(["step", *(c for c in table.column_names if c != "step")])


def _tables(partial: Partial, done: Finished) -> Iterator[tuple[str, pa.Table]]:
    shards = shard_table(partial.shards)
    for name in sorted(set(partial.tables) - set(done.tables)):
        rows = partial.tables[name]
        if SHARD in rows.column_names:
            rows = with_front(rows, shards, name)
        yield name, by_step(rows) if name in (spec.STEPS, spec.LEDGER) else rows
    yield from sorted(done.tables.items())


def write(path: str, partial: Partial, done: Finished) -> dict[str, Any]:
    """Writes the folder, which may hold an earlier result. Returns what cluster.json says, which
    comes last: without it there is no result. OSError where it cannot be written."""
    os.makedirs(path, exist_ok=True)
    facts_file = os.path.join(path, FACTS)
    before: list[str] = []
    if os.path.exists(facts_file):
        try:
            before = open_cluster(path).tables
        except ValueError:
            pass
        os.unlink(facts_file)
    stated = {}
    for name, table in _tables(partial, done):
        _write_table(file_of(path, name), table)
        stated[name] = {"rows": table.num_rows,
                        "columns": {field.name: _type_name(field.type) for field in table.schema}}
    for gone in set(before) - set(stated):
        shutil.rmtree(os.path.join(path, gone), ignore_errors=True)
    facts = _facts(partial, done, stated)
    text = json.dumps(facts, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    store.write(facts_file, text.encode("utf-8", "surrogatepass"))
    return facts


def _write_table(file: str, table: pa.Table) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    temporary = f"{file}.tmp"
    pq.write_table(canonical(table), temporary, row_group_size=_GROUP_ROWS, compression="zstd",
                   store_schema=False)
    os.replace(temporary, file)


def _type_name(kind: pa.DataType) -> str:
    return "string" if pa.types.is_dictionary(kind) else str(kind)


def _facts(partial: Partial, done: Finished, stated: dict[str, Any]) -> dict[str, Any]:
    hosts: dict[str, dict[str, Any]] = {}
    for shard in partial.shards:
        host = hosts.setdefault(shard.host, {"boots": [], "processes": 0, "ranks": 0})
        host["boots"] = sorted({*host["boots"], shard.boot} - {""})
        host["processes"] += 1
        host["ranks"] += shard.leads
    return {
        "version": spec.VERSION, "spec": spec.digest(), "job": partial.job, "hosts": hosts,
        "world": max((shard.world for shard in partial.shards), default=-1),
        "ranks": sum(shard.leads for shard in partial.shards),
        "processes": len(partial.shards), "missing": done.missing,
        "incomplete": done.incomplete,
        "gaps": [[gap.where, gap.what] for gap in done.gaps], "tables": stated,
    }
