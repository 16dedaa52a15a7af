"""Ranks that never ran: partials with tables of known content, for tests and for bench/cluster.py.

Every rank has the same steps; in each, all ranks of a group meet in collectives. One rank comes
late by a known time, the others wait for it exactly as long.
"""

import dataclasses
import zlib

import numpy as np
import pyarrow as pa

from crosscut.cluster import merging, spec
from crosscut.cluster.partial import SHARD, Partial
from crosscut.cluster.shards import Shard, of_one_unit

STEP_NS = 10_000_000
TRANSFER_NS = 1_000
CLASSES = [name for name, _ in spec.STEP_CLASSES]


@dataclasses.dataclass(frozen=True)
class Job:
    """A job of `ranks` ranks, `per_host` of them on each host, which all take `steps` steps with
    `collectives` in each. Rank `late` takes `late_ns` longer in every step;
    each of the others comes up to `jitter_ns` earlier than it has to, at random."""

    ranks: int = 4
    per_host: int = 2
    steps: int = 20
    collectives: int = 3
    late: int = 1
    late_ns: int = 30_000_000
    functions: int = 12
    jitter_ns: int = 0


def shard_of(job, rank, **more):
    """The shard of a rank."""
    host = f"host{rank // job.per_host:05d}"
    stated = {"host": host, "boot": f"boot-{host}", "process": f"{1000 + rank}-0", "rank": rank,
              "leads": True, "local_rank": rank % job.per_host, "world": job.ranks,
              "node_rank": rank // job.per_host, "seed": "7", "log_bytes": 4096 + rank,
              "log_crc32": zlib.crc32(f"{rank}".encode()), **more}
    return of_one_unit({"p": Shard(**stated)})["p"]


def partial_of(job, rank, **more):
    """The partial of a rank, whose run is one process. `more`: of its shard."""
    partial = Partial("job7", [shard_of(job, rank, **more)])
    late = job.late_ns if rank == job.late else 0
    steps = np.arange(job.steps)
    partial.tables = {
        "processes": _rows(pid=[1000 + rank], name=[f"rank {rank}"], complete=[1],
                           wall_ns=[job.steps * 4 * STEP_NS],
                           corrected_ns=[job.steps * 4 * STEP_NS]),
        "operations": _rows(operation=["train", "load"], count=[job.steps, job.steps],
                            wall_ns=[job.steps * STEP_NS, job.steps * (5_000 + rank) + 10 * late]),
        "gaps": _rows(message=[]),
        "findings": _rows(message=[f"finding of {rank}"], value_ns=[rank]),
        spec.STEPS: steps_of(job, rank, steps, late),
        spec.LEDGER: calls_of(job, rank, steps),
        "functions": functions_of(job, rank), "function_lengths": lengths_of(job, rank),
    }
    return partial


def _rows(**columns):
    count = len(next(iter(columns.values())))
    if not count:
        columns = {name: pa.array([], pa.string()) for name in columns}
    return pa.table({SHARD: pa.array([0] * count, pa.int32()), **columns})


def steps_of(job, rank, steps, late):
    """Each step: framework, then Python (longer where the rank is late), then communication."""
    wait = 0 if rank == job.late else job.late_ns
    sums = {name: np.zeros(len(steps), np.int64) for name in CLASSES}
    sums["framework_ns"] += STEP_NS + rank % 7 + chance(job, rank, len(steps))
    sums["python_ns"] += 1_000_000 + late
    sums["comm_ns"] += job.collectives * TRANSFER_NS + wait
    wall = sum(sums.values())
    return _rows(step=steps, kind=["step"] * len(steps), level=[2] * len(steps),
                 begin_ns=steps * 4 * STEP_NS, wall_ns=wall, corrected_ns=wall - 10,
                 corrected_low_ns=wall - 20, corrected_high_ns=wall, after_switch=steps * 0,
                 open=steps * 0, **sums)


def chance(job, rank, count):
    """Random numbers up to the jitter, the same ones for each rank in every process."""
    if not job.jitter_ns:
        return np.zeros(count, np.int64)
    return np.random.default_rng([7, rank]).integers(1, job.jitter_ns, count)


def waits_of(job, rank):
    """What the rank waits in each of its collectives."""
    count = job.steps * job.collectives
    if rank == job.late:
        return np.zeros(count, np.int64)
    first = np.arange(count) % job.collectives == 0
    return np.where(first, job.late_ns, 0) + chance(job, rank, count)


def calls_of(job, rank, steps):
    """The first collective of a step is where the others wait for the late rank."""
    step = np.repeat(steps, job.collectives)
    ordinal = np.tile(np.arange(job.collectives), len(steps))
    count = len(step)
    stay = TRANSFER_NS + waits_of(job, rank)
    apart = 10_000 + 2 * job.jitter_ns
    leave = step * 4 * STEP_NS + 20_000_000 + ordinal * apart + job.late_ns
    return spec.narrow_ledger(pa.table({
        SHARD: pa.array(np.zeros(count, np.int32)), "group": pa.array(["world"] * count),
        "name": pa.array(["all_reduce"] * count), "kind": pa.array(["all"] * count),
        "place": pa.array(["host"] * count),
        "seq": np.arange(count), "step": step, "ordinal": np.zeros(count, np.int64),
        "among": np.ones(count, np.int64),
        "operation": pa.array(["train"] * count),
        "begin_ns": leave - stay, "ns": stay,
        "bytes": np.full(count, 4096), "peer": pa.array([None] * count, pa.int64()),
        "group_size": np.full(count, job.ranks)}))


def functions_of(job, rank):
    """Sums by name; every rank has a few names that others lack."""
    names = [f"aten::op{(rank * 3 + i) % (2 * job.functions)}" for i in range(job.functions)]
    table = pa.table({
        "layer": ["framework"] * len(names), "name": names, "count": [rank + 1] * len(names),
        "total_ns": [1_000 * (rank + 1)] * len(names), "self_ns": [500 * (rank + 1)] * len(names),
        "min_ns": [10 + rank] * len(names), "max_ns": [900 + rank] * len(names)})
    return merging.add_up([table], spec.SUMS["functions"])


def lengths_of(job, rank):
    """Each of those functions: one span of the least length, the others of the most."""
    table = functions_of(job, rank)
    both = pa.concat_tables([table, table])
    names = both.num_rows // 2
    start = np.concatenate([both.column("min_ns").to_numpy()[:names],
                            both.column("max_ns").to_numpy()[:names] // 4 * 4])
    count = np.concatenate([np.ones(names, np.int64), np.full(names, rank)])
    table = pa.table({"layer": both.column("layer"), "name": both.column("name"),
                      "from_ns": start, "below_ns": start + np.repeat([1, 4], names),
                      "count": count})
    return merging.add_up([table], spec.SUMS["function_lengths"])


def partials_of(job):
    """One for each rank."""
    return [partial_of(job, rank) for rank in range(job.ranks)]
