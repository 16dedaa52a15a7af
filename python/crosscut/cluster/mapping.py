"""A run, or a file of another tool, into a partial: everything comes from `crosscut table`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import crosscut
from crosscut.cluster import merging, spec
from crosscut.cluster.ledger import PAIR, way_of
from crosscut.cluster.partial import SHARD, Gap, Partial
from crosscut.cluster.shards import (
    bytes_of,
    imported_files,
    of_one_unit,
    run_facts,
    shard_of_process,
    with_leads,
)
from crosscut.cluster.step_classes import classes_of_steps
from crosscut.reading import Run

PROCESS = "process"


def map_input(path: str, job: str = "") -> Partial:
    """The partial of one run or file. `job`: its name, where the run states none.

    FileNotFoundError, ValueError and OSError as `crosscut.read` raises them; ValueError, too, where
    there is no process in it.
    """
    of_run = run_facts(path)
    run = crosscut.read(path)
    processes = pa.table(run.table("processes"))
    if not processes.num_rows:
        raise ValueError(f"{path}: there is no process in it")
    stated = _facts_by_process(run)
    rows = processes.to_pylist()
    files = imported_files(path, of_run)
    imported = bytes_of(files) if files else None
    shards = of_one_unit(with_leads(
        {row[PROCESS]: shard_of_process(path, of_run, row, stated.get(row[PROCESS], {}), imported)
         for row in rows},
        {row[PROCESS]: row["parent"] for row in rows}))
    jobs = [str(of["job"]) for of in (*stated.values(), of_run) if of.get("job")]
    partial = Partial(job or min(jobs, default=""))
    partial.shards = sorted(shards.values(), key=lambda shard: shard.order)
    if run.damaged:  # the gaps of a run begin with the most serious one
        partial.shards[0] = replace(partial.shards[0], damage=run.gaps[0])
    numbers = {shard.id: number for number, shard in enumerate(partial.shards)}
    place = {process: numbers[shard.id] for process, shard in shards.items()}
    _add_unions(run, place, partial)
    _add_steps(run, place, partial)
    _add_sums(run, partial)
    _add_ledger(run, place, partial)
    return partial


def _facts_by_process(run: Run) -> dict[str, dict[str, Any]]:
    """What processes state about themselves, where the run has the table `facts`."""
    if "facts" not in run.tables():
        return {}
    out: dict[str, dict[str, Any]] = {}
    for row in run.table("facts").rows():
        out.setdefault(str(row[PROCESS]), {})[str(row["name"])] = row["value"]
    return out


def numbered(table: pa.Table, place: Mapping[str, int]) -> pa.Table:
    """The rows in the order of their shards, whose numbers stand for the processes. Rows of none,
    such as those for all processes together, are left out: `reduce` has more of them."""
    kept = [column for column in table.column_names if column != PROCESS]
    if not table.num_rows:
        none = pa.array([], pa.int32())
        return table.select(kept).add_column(0, pa.field(SHARD, pa.int32()), none)
    keys = pa.array(list(place), pa.string())
    numbers = pa.array(list(place.values()), pa.int32())
    at = pc.index_in(table.column(PROCESS).cast(pa.string()), value_set=keys)
    shard = pc.take(numbers, at)
    out = pa.table([shard, *(table.column(column) for column in kept)], names=[SHARD, *kept])
    return by_shard(out.filter(pc.is_valid(out.column(SHARD))))


def by_shard(table: pa.Table) -> pa.Table:
    """The rows sorted by shard; those of one keep their order."""
    shard = table.column(SHARD).to_numpy()
    if len(shard) and np.any(shard[1:] < shard[:-1]):
        return table.take(pa.array(np.argsort(shard, kind="stable")))
    return table


def _add_unions(run: Run, place: Mapping[str, int], partial: Partial) -> None:
    notes = set()  # the sentences under the tables, each once
    for name in spec.UNION:
        table = run.table(name)
        partial.tables[name] = numbered(pa.table(table), place)
        notes |= {(name, note) for note in table.notes}
    rows = sorted(notes)
    partial.tables[spec.NOTES] = pa.table({
        SHARD: pa.array([0] * len(rows), pa.int32()),
        "table": pa.array([name for name, _ in rows], pa.string()),
        "note": pa.array([note for _, note in rows], pa.string())})
    for name in spec.OF_RUN:
        table = pa.table(run.table(name))
        first = pa.array(np.zeros(table.num_rows, np.int32))
        partial.tables[name] = table.add_column(0, pa.field(SHARD, pa.int32()), first)


def _add_steps(run: Run, place: Mapping[str, int], partial: Partial) -> None:
    steps = pa.table(run.table("steps"))
    classes, unclear = classes_of_steps(steps, pa.table(run.table("step_layers")))
    wide = steps.select([PROCESS, *spec.STEP_COLUMNS])
    for (name, _), column in zip(spec.STEP_CLASSES, classes):
        wide = wide.append_column(name, column)
    partial.tables[spec.STEPS] = numbered(wide, place)
    if unclear:
        partial.gaps.append(Gap(partial.shards[0].title, f"{unclear} steps share their number with "
                                "another step of their process: their time is not split"))


def _add_sums(run: Run, partial: Partial) -> None:
    there = run.tables()
    for name, sums in spec.SUMS.items():
        if name not in there:
            continue
        table = pa.table(run.table(name)).select([*sums.key, *sums.add, *sums.least, *sums.most])
        partial.tables[name] = merging.add_up([table], sums)


def _add_ledger(run: Run, place: Mapping[str, int], partial: Partial) -> None:
    if spec.LEDGER not in run.tables():
        partial.gaps.append(Gap(partial.shards[0].host, "no table of collectives: who waited for "
                                "whom is not known"))
        return
    table = with_ordinals(numbered(pa.table(run.table(spec.LEDGER)), place))
    partial.tables[spec.LEDGER] = spec.narrow_ledger(table)


def with_ordinals(calls: pa.Table) -> pa.Table:
    """Calls, in order of time, with `ordinal` and `among`: the which it is of how many calls of its
    process with the same group, place and `seq`, or where that is not stated, step and name; where
    it is with one rank, step, direction and that rank."""
    columns = [calls.column(name).to_pylist() for name in (SHARD, "group", "place", "seq", "step",
                                                           "name", "kind", "peer")]
    keys = [(shard, group, place, None, step, way_of(name), peer)
            if kind == PAIR or (peer is not None and peer >= 0) else
            (shard, group, place, seq, *((None, None) if seq is not None else (step, name)))
            for shard, group, place, seq, step, name, kind, peer in zip(*columns)]
    among = Counter(keys)
    seen: Counter[tuple[Any, ...]] = Counter()
    ordinals = []
    for key in keys:
        ordinals.append(seen[key])
        seen[key] += 1
    return (calls.append_column("ordinal", pa.array(ordinals, pa.int64()))
            .append_column("among", pa.array([among[key] for key in keys], pa.int64())))
