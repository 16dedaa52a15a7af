"""From a merged partial to the tables that are about ranks and hosts. All numbers are integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from crosscut.cluster import clocks, collectives, ledger, path, peers, spec
from crosscut.cluster.partial import Gap, Partial
from crosscut.cluster.shards import Shard, worlds
from crosscut.cluster.spool import InMemory, Spooled

_UNKNOWN_NUMBERS = ("rank", "local_rank", "world", "node_rank")


@dataclass
class Finished:
    """What a cluster folder holds: tables, and what is missing of the job."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    missing: list[tuple[int, int]] = field(default_factory=list)  # first and last rank, sorted
    incomplete: bool = False  # ranks or sources are missing


def shard_table(shards: list[Shard]) -> pa.Table:
    """The shards by number. A rank that is not known is missing here, not -1."""
    rows: dict[str, list[Any]] = {"shard": list(range(len(shards)))}
    for name in ("rank", "host", "restart", "process", "leads", "local_rank", "world", "node_rank",
                 "role", "actor", "seed", "boot", "complete", "log_bytes"):
        cells = [getattr(shard, name) for shard in shards]
        rows[name] = [None if name in _UNKNOWN_NUMBERS and cell < 0 else cell for cell in cells]
    types = {"shard": pa.int32(), "leads": pa.bool_(), "complete": pa.bool_()}
    texts = ("host", "process", "role", "actor", "seed", "boot")
    return pa.table({name: pa.array(cells, types.get(
        name, pa.string() if name in texts else pa.int64())) for name, cells in rows.items()})


def calls_of(partial: Partial) -> InMemory | Spooled | None:
    """The ledger of a partial; None where it has none."""
    table = partial.tables.get(spec.LEDGER)
    return InMemory(table) if isinstance(table, pa.Table) else table


def missing_ranks(shards: list[Shard]) -> list[tuple[int, int, int, int]]:
    """(first rank, last rank, restart, world) of the ranks that the job has and that are not here.
    Where no rank states how many there are, those below the highest one that is here."""
    out = []
    of_restart = worlds(shards)
    for restart in sorted(of_restart):
        ranks = sorted({s.rank for s in shards if s.leads and s.restart == restart})
        if ranks:
            world = of_restart[restart]
            out += [(before + 1, after - 1, restart, world)
                    for before, after in zip([-1, *ranks], [*ranks, world]) if after > before + 1]
    return out


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in sorted ranges that do not meet."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(out[-1][1], last)
        else:
            out.append((first, last))
    return out


def finish(partial: Partial, memory: int = 2048) -> Finished:
    """The finished tables of a merged partial. `memory`: MiB that the database may use, beyond
    which it goes on in files."""
    done = Finished()
    database = duckdb.connect(config={"memory_limit": f"{memory}MiB"})
    database.execute("SET enable_progress_bar=false")
    database.register("shards", shard_table(partial.shards))
    absent = missing_ranks(partial.shards)
    done.missing = joined((first, last) for first, last, _, _ in absent)
    done.tables["missing"] = pa.table(
        {name: pa.array([row[at] for row in absent], pa.int64())
         for at, name in enumerate(("first_rank", "last_rank", "restart", "world"))})
    database.register("missing", done.tables["missing"])
    for name in (spec.STEPS, "operations", "processes"):
        database.register(name, partial.tables[name])
    folded = ledger.fold(calls_of(partial), partial.shards)
    database.register("meetings", folded.meetings)
    database.register("waits_of_shards", folded.waits)
    database.execute(_WAITS)
    path.prepare(database, folded)

    def query(text: str) -> pa.Table:
        return database.sql(text).to_arrow_table()

    if "function_lengths" in partial.tables:
        database.register("functions", partial.tables["functions"])
        database.register("function_lengths", partial.tables["function_lengths"])
        done.tables["functions"] = query(_FUNCTIONS)
    done.tables["collectives"] = query(collectives.COLLECTIVES)
    done.tables["unmatched"] = query(collectives.UNMATCHED)
    done.tables["straggler_steps"] = query(collectives.STRAGGLER_STEPS)
    done.tables["operation_spread"] = query(_SPREAD)
    done.tables["cluster_path"] = path.cluster_path(database)
    done.tables["host_clocks"] = clocks.host_clocks(database, folded.stays)
    database.execute(_COMPARED)
    compared = list(peers.excesses(_figures(database), _ranks_of_roles(partial.shards)))
    done.tables["rank_outliers"] = _outlier_table(peers.outliers(compared), partial.shards)
    database.register("grew", _grew_table(compared))
    done.tables["ranks"] = query(_RANKS)
    done.tables["stragglers"] = query(_STRAGGLERS)
    done.gaps = sorted({*partial.gaps, *partial.damage, *_own_gaps(partial, query)})
    return done


# Of the ranks themselves, what each operation took; the worst one of equal ones is the lowest rank.
# Times of all ranks together may need more than 63 bits: then they are not known.
_SPREAD = """
WITH by_rank AS (
  SELECT s.restart, s.rank, s.host, o.operation, sum(o.count)::BIGINT AS count,
    sum(o.wall_ns)::BIGINT AS wall_ns
  FROM operations o JOIN shards s USING (shard) WHERE s.leads GROUP BY ALL),
together AS (
  SELECT restart, operation, count(*)::BIGINT AS ranks, sum(count)::BIGINT AS count,
    sum(wall_ns) AS total, list_sort(list(wall_ns)) AS sorted,
    min(struct_pack(w := -wall_ns, r := rank, h := host)) AS worst
  FROM by_rank GROUP BY restart, operation)
SELECT restart, operation, ranks, count, TRY_CAST(total AS BIGINT) AS total_ns,
  sorted[1] AS min_ns,
  sorted[(ranks + 1) // 2] AS p50_ns, sorted[(ranks * 99 + 99) // 100] AS p99_ns,
  -worst.w AS max_ns, worst.r AS worst_rank, worst.h AS worst_host
FROM together ORDER BY total DESC, restart, operation"""

# Percentiles are the middles of ranges of lengths, which are 0.8 % wide, by nearest rank.
_FUNCTIONS = """
WITH running AS (
  SELECT layer, name, from_ns, below_ns,
    sum(count) OVER (PARTITION BY layer, name ORDER BY from_ns) AS upto,
    sum(count) OVER (PARTITION BY layer, name) AS n
  FROM function_lengths),
middles AS (
  SELECT layer, name,
    min(from_ns + (below_ns - from_ns - 1) // 2) FILTER (upto >= (n + 1) // 2) AS p50_ns,
    min(from_ns + (below_ns - from_ns - 1) // 2) FILTER (upto >= (n * 99 + 99) // 100) AS p99_ns
  FROM running GROUP BY layer, name)
SELECT f.layer, f.name, f.count, f.total_ns, f.self_ns, f.min_ns,
  CASE WHEN m.p50_ns >= 0 THEN greatest(f.min_ns, least(f.max_ns, m.p50_ns)) END AS p50_ns,
  CASE WHEN m.p99_ns >= 0 THEN greatest(f.min_ns, least(f.max_ns, m.p99_ns)) END AS p99_ns, f.max_ns
FROM functions f LEFT JOIN middles m USING (layer, name)
ORDER BY f.self_ns DESC, f.layer, f.name"""

# What is told of a step by classes: neither control steps nor those that the budget left out.
_CLASSED = "level BETWEEN 1 AND 3"

# Steps that all ranks of a role have, each once, at one such level: `after_switch` ones only where
# there are no others. What shares its number with another step is in no class.
_COMPARED = f"""
CREATE TEMP TABLE lead_steps AS
SELECT s.restart, s.role, s.rank, s.host, st.*
FROM steps st JOIN shards s USING (shard) WHERE s.leads;
CREATE TEMP TABLE common AS
SELECT restart, role, step, kind, bool_or(after_switch != 0) AS after_switch
FROM lead_steps l JOIN (SELECT restart, role, count(DISTINCT rank) AS ranks FROM shards
  WHERE leads GROUP BY restart, role) r USING (restart, role)
GROUP BY restart, role, step, kind
HAVING count(*) = any_value(ranks) AND count(DISTINCT rank) = count(*) AND min(level) = max(level)
  AND bool_and({_CLASSED}) AND max(open) = 0 AND count(device_ns) = count(*);
CREATE TEMP TABLE compared AS
SELECT l.* FROM lead_steps l JOIN common c USING (restart, role, step, kind)
WHERE NOT c.after_switch OR NOT EXISTS (SELECT 1 FROM common o WHERE o.restart = c.restart
  AND o.role = c.role AND NOT o.after_switch)"""

# By restart and rank: what it waited, and what the others waited for it.
_WAITS = """
CREATE TEMP TABLE waits AS
SELECT s.restart, s.rank, sum(w.collectives)::BIGINT AS collectives,
  sum(w.waited_ns)::BIGINT AS waited_ns,
  sum(w.waited_in_steps_ns)::BIGINT AS waited_in_steps_ns
FROM waits_of_shards w JOIN shards s USING (shard) GROUP BY s.restart, s.rank;
CREATE TEMP TABLE made AS
SELECT restart, last_rank AS rank, count(*)::BIGINT AS last_count,
  sum(waited_ns)::BIGINT AS made_wait_ns,
  coalesce(sum(waited_ns) FILTER (step IS NOT NULL), 0)::BIGINT AS made_wait_in_steps_ns
FROM meetings WHERE unmatched = '' AND last_rank IS NOT NULL GROUP BY restart, last_rank"""


def _all_of(column: str, which: str) -> str:
    """SQL for the sum of a column's cells; not known where one of them is not."""
    return (f"CASE WHEN count(*) FILTER ({which}) = count({column}) FILTER ({which}) "
            f"THEN coalesce(sum({column}) FILTER ({which}), 0)::BIGINT END")


_RANKS = f"""
WITH own AS (
  SELECT shard, count(wall_ns)::BIGINT AS steps,
    {_all_of("wall_ns", "wall_ns IS NOT NULL")} AS steps_ns,
    count(*) FILTER ({_CLASSED})::BIGINT AS observed_steps,
    {_all_of("wall_ns", _CLASSED)} AS observed_steps_ns,
    count(*) FILTER (level > 0)::BIGINT AS marked_steps,
    {_all_of("wall_ns", "level > 0")} AS marked_steps_ns,
    {", ".join(f"{_all_of(name, _CLASSED)} AS {name}" for name, _ in spec.STEP_CLASSES)}
  FROM shards LEFT JOIN steps USING (shard) WHERE leads GROUP BY shard),
common_steps AS (
  SELECT shard, count(*)::BIGINT AS compared_steps, sum(wall_ns)::BIGINT AS compared_ns
  FROM compared GROUP BY shard)
SELECT s.rank, s.restart, s.host, s.process, s.local_rank, s.world, s.node_rank, s.role, s.actor,
  p.pid, p.name, p.wall_ns, p.corrected_ns, s.complete, own.steps, own.steps_ns,
  own.observed_steps, own.observed_steps_ns, own.marked_steps, own.marked_steps_ns,
  {", ".join(f"own.{name}" for name, _ in spec.STEP_CLASSES)},
  coalesce(compared_steps, 0) AS compared_steps, coalesce(compared_ns, 0) AS compared_ns,
  wait.collectives, wait.waited_ns,
  CASE WHEN wait.collectives IS NOT NULL THEN coalesce(blamed.made_wait_ns, 0) END AS made_wait_ns
FROM shards s JOIN processes p USING (shard) LEFT JOIN own USING (shard)
  LEFT JOIN common_steps USING (shard) LEFT JOIN waits wait USING (restart, rank)
  LEFT JOIN made blamed USING (restart, rank)
WHERE s.leads ORDER BY s.restart, s.rank, s.host, s.process"""

# Ranks start at different times, so what they waited outside of steps tells little of the job.
_STRAGGLERS = """
WITH everything AS (
  SELECT restart, coalesce(nullif(sum(waited_in_steps_ns), 0), sum(waited_ns)) AS all_ns,
    sum(waited_in_steps_ns) > 0 AS in_steps
  FROM waits GROUP BY restart),
names AS (SELECT restart, rank, min(struct_pack(h := host, r := role)) AS n FROM shards
  WHERE leads GROUP BY restart, rank)
SELECT w.rank, w.restart, n.h AS host, n.r AS role, w.collectives, w.waited_ns,
  w.waited_in_steps_ns,
  coalesce(b.last_count, 0) AS last_count, coalesce(b.made_wait_ns, 0) AS made_wait_ns,
  coalesce(b.made_wait_in_steps_ns, 0) AS made_wait_in_steps_ns,
  coalesce(v.saved_ns, 0) AS saved_ns, coalesce(v.saved_in_steps_ns, 0) AS saved_in_steps_ns,
  CASE WHEN e.all_ns > 0 THEN (coalesce(CASE WHEN e.in_steps THEN b.made_wait_in_steps_ns
    ELSE b.made_wait_ns END, 0)::HUGEINT * 1000000 // e.all_ns)::BIGINT ELSE 0 END AS share_ppm,
  g.class AS grew_class, g.class_ns AS grew_class_ns, g.operation AS grew_operation,
  g.operation_ns AS grew_operation_ns
FROM waits w LEFT JOIN made b USING (restart, rank) LEFT JOIN saved v USING (restart, rank)
  JOIN everything e USING (restart)
  LEFT JOIN names USING (restart, rank) LEFT JOIN grew g USING (restart, rank)
ORDER BY made_wait_in_steps_ns DESC, made_wait_ns DESC, w.restart, w.rank"""


def _figures(database: duckdb.DuckDBPyConnection) -> list[peers.Figure]:
    """What ranks are compared by: their compared steps' wall time and its classes, and what their
    operations took in the whole window."""
    names = ["wall_ns", *(name for name, _ in spec.STEP_CLASSES)]
    rows = database.execute(
        f"SELECT restart, role, rank, {', '.join(f'sum({n})::BIGINT' for n in names)} "
        "FROM compared GROUP BY restart, role, rank").fetchall()
    out = []
    for restart, role, rank, *values in rows:
        for name, value in zip(names, values):
            kind = "wall" if name == "wall_ns" else "class"
            if value is not None:
                out.append(peers.Figure(restart, role, rank, kind, name.removesuffix("_ns"), value))
    rows = database.execute(
        "SELECT s.restart, s.role, s.rank, o.operation, sum(o.wall_ns)::BIGINT FROM operations o "
        "JOIN shards s USING (shard) WHERE s.leads AND o.operation != '' GROUP BY ALL").fetchall()
    out += [peers.Figure(restart, role, rank, "operation", operation, ns)
            for restart, role, rank, operation, ns in rows]
    return out


def _ranks_of_roles(shards: list[Shard]) -> Counter[tuple[int, str]]:
    """How many ranks each role has in each restart."""
    return Counter((restart, role) for restart, role, _ in {
        (shard.restart, shard.role, shard.rank) for shard in shards if shard.leads})


def _outlier_table(found: list[peers.Excess], shards: list[Shard]) -> pa.Table:
    hosts = {(s.restart, s.rank): s.host for s in reversed(shards) if s.leads}
    keys = [(e.figure.restart, e.figure.rank) for e in found]
    return pa.table({
        "rank": pa.array([rank for _, rank in keys], pa.int64()),
        "restart": pa.array([restart for restart, _ in keys], pa.int64()),
        "host": pa.array([hosts[key] for key in keys], pa.string()),
        "kind": pa.array([e.figure.kind for e in found], pa.string()),
        "name": pa.array([e.figure.name for e in found], pa.string()),
        "ns": pa.array([e.figure.ns for e in found], pa.int64()),
        "median_ns": pa.array([e.median_ns for e in found], pa.int64()),
        "more_ns": pa.array([e.more_ns for e in found], pa.int64())})


def _grew_table(compared: list[peers.Excess]) -> pa.Table:
    classes = peers.grew_most(compared, "class")
    operations = peers.grew_most(compared, "operation")
    keys = sorted({*classes, *operations})

    def column(of: dict[tuple[int, int], peers.Excess], name: bool) -> list[Any]:
        return [None if key not in of else of[key].figure.name if name else of[key].more_ns
                for key in keys]

    return pa.table({
        "restart": pa.array([restart for restart, _ in keys], pa.int64()),
        "rank": pa.array([rank for _, rank in keys], pa.int64()),
        "class": pa.array(column(classes, True), pa.string()),
        "class_ns": pa.array(column(classes, False), pa.int64()),
        "operation": pa.array(column(operations, True), pa.string()),
        "operation_ns": pa.array(column(operations, False), pa.int64())})


def _own_gaps(partial: Partial, query: Any) -> list[Gap]:
    """What only shows when all ranks are together."""
    gaps = []
    leads = [shard for shard in partial.shards if shard.leads]
    if partial.shards and not leads:
        gaps.append(Gap("", "no process states a rank: nothing is compared"))
    twice = sorted({(a.restart, a.rank) for a, b in zip(leads, leads[1:])
                    if (a.restart, a.rank) == (b.restart, b.rank)})
    gaps += [Gap(f"rank {rank}", f"several processes state it (restart {restart})")
             for restart, rank in twice]
    seeds = {shard.seed for shard in leads}
    if len(seeds) > 1:
        gaps.append(Gap("", f"the ranks have {len(seeds)} seeds, so levels of steps differ between "
                        "them; steps are compared where they agree"))
    gaps += [Gap(f"rank {shard.rank}" if shard.leads else f"process {shard.process}",
                 f"it did not end by itself (host {shard.host}): mapped to its last word")
             for shard in partial.shards if not shard.complete and not shard.damage]
    counts = query("SELECT restart, role, min(n) AS least, max(n) AS most, max(c) AS common FROM ("
                   "SELECT restart, role, rank, count(wall_ns) AS n FROM shards LEFT JOIN steps "
                   "USING (shard) WHERE leads GROUP BY ALL) "
                   "LEFT JOIN (SELECT restart, role, count(DISTINCT step) AS c FROM compared "
                   "GROUP BY ALL) USING (restart, role) GROUP BY ALL ORDER BY ALL").to_pylist()
    gaps += [Gap("", f"ranks{' of ' + row['role'] if row['role'] else ''} have {row['least']} to "
                 f"{row['most']} steps; the {row['common'] or 0} that all have are compared")
             for row in counts if row["least"] != row["most"]]
    return gaps
