"""Partials into one: union, sums of integers, least and most. The result is a partial, and does not
depend on the order or the grouping of what was merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crosscut.cluster import spec
from crosscut.cluster.partial import SHARD, Conflict, Partial
from crosscut.cluster.shards import Shard
from crosscut.cluster.spool import Piece, Spooled

_MOST = (1 << 63) - 1
_ALL_KNOWN = pc.ScalarAggregateOptions(skip_nulls=False)


def merge(partials: Sequence[Partial]) -> Partial:
    """One partial of all. What is in several of them counts once.

    Conflict where they are of several jobs, where one process has two different logs of one length,
    where tables have different columns, or where two of them share runs and each has others, too:
    sums cannot be taken apart.
    """
    kept = _distinct(partials)
    jobs = sorted({partial.job for partial in kept})
    if len(jobs) > 1:
        first = {partial.job: partial.shards[0].title for partial in reversed(kept)}
        raise Conflict("these are runs of several jobs: "
                       + "; ".join(f"{job or '(unnamed)'}, as {first[job]}" for job in jobs)
                       + ": name those of one job")
    merged = Partial(jobs[0] if jobs else "")
    merged.gaps = sorted({gap for partial in kept for gap in partial.gaps})
    merged.shards = sorted((shard for partial in kept for shard in partial.shards),
                           key=lambda shard: shard.order)
    place = {shard.id: at for at, shard in enumerate(merged.shards)}
    for name in sorted({name for partial in kept for name in partial.tables}):
        having = [partial for partial in kept if name in partial.tables]
        if isinstance(having[0].tables[name], Piece):
            merged.tables[name] = _spooled(name, having, place)
            continue
        _same_columns(name, [partial.tables[name] for partial in having])
        if name in spec.SUMS:
            merged.tables[name] = add_up([p.tables[name] for p in having], spec.SUMS[name])
        else:
            merged.tables[name] = _united(name, having, place)
    return merged


def _distinct(partials: Sequence[Partial]) -> list[Partial]:
    """The partials without those of which others have all processes, in the same or in a later
    state: logs only grow."""
    kept: list[Partial] = []
    taken: dict[tuple[Any, ...], Shard] = {}
    for partial in sorted(partials, key=lambda p: (
            -len(p.shards), -sum(s.log_bytes for s in p.shards), [s.order for s in p.shards])):
        shared = [(shard, taken[shard.id]) for shard in partial.shards if shard.id in taken]
        for shard, other in shared:
            _check_older(shard, other)
        if not shared:
            taken |= {shard.id: shard for shard in partial.shards}
            kept.append(partial)
        elif len(shared) < len(partial.shards):
            raise Conflict(f"{shared[0][0].title} is in two partials that each hold other runs, "
                           "too: take one of them away, or map the runs again")
    return kept


def _check_older(one: Shard, other: Shard) -> None:
    if one.log_bytes > other.log_bytes or (one.log_bytes == other.log_bytes
                                           and one.log_crc32 != other.log_crc32):
        raise Conflict(f"{one.title} was mapped twice from different logs ({other.log_bytes} and "
                       f"{one.log_bytes} bytes): map its run again, and remove the older partial")
    if one.unit == other.unit and one != other:
        raise Conflict(f"{one.title} was mapped twice with different identities: map its run again")


def _same_columns(name: str, tables: Sequence[pa.Table]) -> None:
    for table in tables[1:]:
        if table.schema != tables[0].schema:
            raise Conflict(f"{name} has other columns in some partials, which another version of "
                           "Crosscut made: map their runs again")


def _spooled(name: str, partials: Sequence[Partial],
             place: dict[tuple[Any, ...], int]) -> Spooled:
    """The same of pieces of a spool."""
    owners: list[tuple[Piece, int] | None] = [None] * len(place)
    for partial in partials:
        for number, shard in enumerate(partial.shards):
            owners[place[shard.id]] = partial.tables[name], number
    return Spooled(owners)


def _united(name: str, partials: Sequence[Partial], place: dict[tuple[Any, ...], int]) -> pa.Table:
    """The rows of all, in the order of the merged shards; those of one shard keep theirs."""
    parts = []
    for partial in partials:
        table = partial.tables[name]
        where = np.array([place[shard.id] for shard in partial.shards], np.int32)
        old = table.column(SHARD).to_numpy()
        parts.append(table.set_column(0, pa.field(SHARD, pa.int32()),
                                      pa.array(where[old] if len(old) else old, pa.int32())))
    whole = pa.concat_tables(parts)
    shard = whole.column(SHARD).to_numpy()
    if len(shard) and np.any(shard[1:] < shard[:-1]):
        whole = whole.take(pa.array(np.argsort(shard, kind="stable")))
    return whole


def add_up(tables: Sequence[pa.Table], sums: spec.Sums) -> pa.Table:
    """A row for each key, sorted by key. A sum is not known where a part of it is not, or where it
    needs more than 63 bits, as of a table of a run."""
    whole = pa.concat_tables(tables)
    wanted = ([(column, "sum", _ALL_KNOWN) for column in sums.add]
              + [(c, "min", None) for c in sums.least] + [(c, "max", None) for c in sums.most])
    grouped = whole.group_by(list(sums.key), use_threads=False).aggregate(wanted)
    names = {f"{column}_{how}": column for column, how, _ in wanted}
    grouped = grouped.rename_columns([names.get(c, c) for c in grouped.column_names])
    for column in sums.add:
        if not _fits(whole.column(column)):
            at = grouped.column_names.index(column)
            grouped = grouped.set_column(at, column, _exact_sums(whole, grouped, sums.key, column))
    grouped = grouped.select([*sums.key, *sums.add, *sums.least, *sums.most])
    return grouped.sort_by([(column, "ascending") for column in sums.key])


def _fits(column: pa.ChunkedArray) -> bool:
    """Whether no sum of these cells can overflow."""
    bounds = pc.min_max(column).as_py()
    return bounds["min"] is None or max(-bounds["min"], bounds["max"]) * len(column) <= _MOST


def _exact_sums(whole: pa.Table, grouped: pa.Table, key: Sequence[str], column: str) -> pa.Array:
    """The sums of a column, in the order of the groups."""
    totals: dict[tuple[Any, ...], int | None] = {}
    for of, cell in zip(_keys(whole, key), whole.column(column).to_pylist()):
        total = totals.get(of, 0)
        totals[of] = None if cell is None or total is None else total + cell
    found = [totals[of] for of in _keys(grouped, key)]
    return pa.array([None if total is None or abs(total) > _MOST else total for total in found],
                    pa.int64())


def _keys(table: pa.Table, key: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*(table.column(column).to_pylist() for column in key))
