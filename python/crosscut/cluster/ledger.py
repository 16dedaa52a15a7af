"""The ledger of collectives: who waited in which of them for whom.

Calls are one collective if they agree in restart, group, place, and ordinal in the group (`seq`);
where ordinals are not stated, in step, name and place in the step, if all ranks have as many. On
one host begins say who came last. Elsewhere all leave together, so the rank with the shortest stay
came last, and what the others stayed beyond that is waiting: no common clock is needed. What does
not match is counted, never guessed.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from crosscut.cluster import spec
from crosscut.cluster.partial import SHARD

# Names by which ranks may move different numbers of bytes; of transfers between two ranks; of
# collectives with a root, which not all leave together.
_UNEVEN = "gather|scatter|all_to_all|alltoall"
_PAIR = ":send|:recv|SendRecv|isend|irecv|^send|^recv"
_ROOTED = "broadcast|Broadcast|:reduce|_Reduce_|:gather|:scatter"
_NOT_ROOTED = "educe_scatter|educeScatter"

_KEY = "restart, grp, place, seq, key_step, key_name, ordinal"

_CALLS = f"""
CREATE TEMP VIEW calls AS
SELECT s.restart, s.rank, s.boot_number, l.grp, l.place, l.name, l.step, l.seq,
  CASE WHEN l.seq IS NULL THEN l.step END AS key_step,
  CASE WHEN l.seq IS NULL THEN l.name END AS key_name,
  l.operation, l.ordinal, l.among, l.begin_ns, l.ns, l.bytes, l.group_size,
  coalesce(l.peer >= 0, false) OR regexp_matches(l.name, '{_PAIR}') AS pair
FROM (SELECT * RENAME ("group" AS grp) FROM ledger) l JOIN (
  SELECT *, CASE WHEN boot != '' THEN dense_rank() OVER (ORDER BY boot) END AS boot_number
  FROM shards) s USING (shard)
WHERE s.rank >= 0"""

# One row for each collective that some rank was in: what its ranks say of it.
_MEETINGS = f"""
CREATE TEMP TABLE meetings AS
SELECT {_KEY}, min(name) AS name, min(step) AS step, count(*)::BIGINT AS calls,
  count(DISTINCT rank)::BIGINT AS ranks, max(bytes) AS bytes, max(group_size) AS group_size,
  min(ns) AS shortest_ns, min(begin_ns + ns) AS first_end_ns, max(begin_ns) AS last_begin_ns,
  min(ns, 2)[2] AS second_ns, max(begin_ns, 2)[2] AS second_begin_ns,
  min(boot_number) = max(boot_number) AND count(boot_number) = count(*) AS one_clock,
  min(struct_pack(ns := ns, rank := rank)).rank AS shortest_rank,
  max(struct_pack(ns := ns, rank := -rank)).rank * -1 AS longest_rank,
  max(struct_pack(at := begin_ns, rank := -rank)).rank * -1 AS last_rank,
  min(struct_pack(at := begin_ns, rank := rank)).rank AS first_rank,
  min(begin_ns) < max(begin_ns) AS begins_differ, min(ns) < max(ns) AS stays_differ,
  min(name) != max(name) AS names_differ, min(among) != max(among) AS counts_differ,
  NOT regexp_matches(min(name), '{_UNEVEN}') AND min(bytes) != max(bytes) AS bytes_differ,
  regexp_matches(min(name), '{_ROOTED}') AND NOT regexp_matches(min(name), '{_NOT_ROOTED}')
    AS rooted
FROM calls WHERE NOT pair GROUP BY {_KEY}"""

_JUDGED = f"""
CREATE TEMP TABLE judged AS
SELECT {_KEY}, m.name, step, calls, ranks, m.bytes, shortest_ns, first_end_ns, last_begin_ns,
  coalesce(CASE WHEN one_clock THEN last_begin_ns - second_begin_ns
    ELSE second_ns - shortest_ns END, 0) AS saved_ns,
  coalesce(m.group_size, size) AS size, m.group_size IS NOT NULL AS size_stated,
  coalesce(one_clock, false) AS one_clock,
  CASE WHEN one_clock THEN CASE WHEN begins_differ THEN last_rank END
    WHEN stays_differ THEN shortest_rank END AS last_rank,
  CASE WHEN one_clock THEN CASE WHEN begins_differ THEN first_rank END
    WHEN stays_differ THEN longest_rank END AS first_rank,
  CASE WHEN calls > ranks THEN 'a rank has it twice'
    WHEN coalesce(m.group_size, size) = 1 THEN 'the group has one rank'
    WHEN ranks = 1 THEN 'no other rank of the group has it'
    WHEN names_differ THEN 'the names differ'
    WHEN counts_differ THEN 'the ranks have different numbers of it'
    WHEN bytes_differ THEN 'the sizes differ'
    WHEN one_clock AND NOT rooted AND last_begin_ns > first_end_ns + {spec.CLOCK_ERROR_NS}
      THEN 'the ranks were not in it at the same time'
    WHEN rooted AND NOT coalesce(one_clock, false) THEN 'it has a root, the ranks no common clock'
    ELSE '' END AS unmatched
FROM meetings m JOIN (
  SELECT restart, grp, place, count(DISTINCT rank)::BIGINT AS size FROM calls
  GROUP BY restart, grp, place) USING (restart, grp, place)"""

# Each instant that a rank waited, once: of waits that overlap, the earlier collective counts.
_WAITS = f"""
CREATE TEMP TABLE waits AS
WITH single AS (
  SELECT c.restart, c.rank, c.grp, c.place, j.name, j.step, j.last_rank, c.begin_ns, c.ordinal,
    c.seq, c.begin_ns + CASE WHEN j.one_clock
      THEN least(greatest(j.last_begin_ns - c.begin_ns, 0), c.ns)
      ELSE c.ns - j.shortest_ns END AS until_ns
  FROM calls c JOIN judged j ON c.restart = j.restart AND c.grp = j.grp AND c.place = j.place
    AND c.ordinal = j.ordinal AND c.seq IS NOT DISTINCT FROM j.seq
    AND c.key_step IS NOT DISTINCT FROM j.key_step
    AND c.key_name IS NOT DISTINCT FROM j.key_name
  WHERE j.unmatched = '' AND NOT c.pair),
apart AS (
  SELECT *, max(until_ns) OVER (PARTITION BY restart, rank
    ORDER BY begin_ns, until_ns, grp, place, seq, name, ordinal
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS waited_until_ns
  FROM single)
SELECT restart, rank, grp, place, name, step, last_rank, count(*)::BIGINT AS collectives,
  sum(greatest(until_ns - greatest(begin_ns, coalesce(waited_until_ns, begin_ns)), 0))::BIGINT
    AS waited_ns
FROM apart GROUP BY ALL"""

_EMPTY = pa.table({
    SHARD: pa.array([], pa.int32()),
    **{name: pa.array([], pa.string() if name in spec.LEDGER_TEXTS else pa.int64())
       for name in spec.LEDGER_COLUMNS}})

COLLECTIVES = """
WITH firsts AS (
  SELECT restart, grp, place, name, first_rank AS rank, count(*) AS n FROM judged
  WHERE unmatched = '' AND first_rank IS NOT NULL GROUP BY ALL),
lasts AS (
  SELECT restart, grp, place, name, last_rank AS rank, count(*) AS n FROM judged
  WHERE unmatched = '' AND last_rank IS NOT NULL GROUP BY ALL),
often_first AS (
  SELECT restart, grp, place, name, min(struct_pack(n := -n, rank := rank)).rank AS first_rank
  FROM firsts GROUP BY ALL),
often_last AS (
  SELECT restart, grp, place, name, min(struct_pack(n := -n, rank := rank)) AS most
  FROM lasts GROUP BY ALL),
waited AS (
  SELECT restart, grp, place, name, sum(waited_ns)::BIGINT AS waited_ns FROM waits GROUP BY ALL),
known AS (
  SELECT restart, grp, place, name, count(*)::BIGINT AS count, max(ranks) AS ranks,
    max(size) AS group_size,
    CASE WHEN bool_and(size_stated OR lacks IS NULL)
      THEN count(*) FILTER (ranks < size)::BIGINT END AS incomplete_count,
    sum(bytes)::BIGINT AS bytes, sum(shortest_ns)::BIGINT AS transfer_ns
  FROM (SELECT * REPLACE (CASE WHEN one_clock AND first_end_ns > last_begin_ns
      THEN least(shortest_ns, first_end_ns - last_begin_ns) ELSE shortest_ns END AS shortest_ns)
    FROM judged) LEFT JOIN (SELECT DISTINCT restart, true AS lacks FROM missing) USING (restart)
  WHERE unmatched = '' GROUP BY restart, grp, place, name)
SELECT k.restart, k.grp AS "group", k.place, k.name, k.count, k.ranks, k.group_size,
  k.incomplete_count, k.bytes, k.transfer_ns, w.waited_ns, f.first_rank,
  l.most.rank AS last_rank, (-l.most.n)::BIGINT AS last_count,
  (k.bytes::HUGEINT * 1000000000 // nullif(k.transfer_ns, 0))::BIGINT AS bytes_per_s
FROM known k LEFT JOIN waited w USING (restart, grp, place, name)
  LEFT JOIN often_first f USING (restart, grp, place, name)
  LEFT JOIN often_last l USING (restart, grp, place, name)
ORDER BY waited_ns DESC, k.restart, k.grp, k.place, k.name"""

UNMATCHED = """
SELECT restart, grp AS "group", place, name, unmatched AS reason,
  count(*)::BIGINT AS collectives, sum(calls)::BIGINT AS calls
FROM judged WHERE unmatched != '' GROUP BY ALL
UNION ALL
SELECT restart, grp, place, name, 'between two ranks' AS reason, NULL AS collectives,
  count(*)::BIGINT AS calls FROM calls WHERE pair GROUP BY ALL
ORDER BY 1, 2, 3, 4, 5"""

# The rank for which the others waited longest in each step.
STRAGGLER_STEPS = """
WITH made AS (
  SELECT restart, step, last_rank AS rank, sum(waited_ns)::BIGINT AS made_wait_ns FROM waits
  WHERE step IS NOT NULL GROUP BY ALL),
most AS (
  SELECT restart, step, min(struct_pack(ns := -made_wait_ns, rank := rank)) AS most,
    sum(made_wait_ns)::BIGINT AS waited_ns
  FROM made GROUP BY restart, step)
SELECT step, most.rank AS rank, restart, (-most.ns)::BIGINT AS made_wait_ns, waited_ns
FROM (SELECT restart, step, waited_ns, most FROM most) WHERE most.ns < 0 ORDER BY step, restart"""


def prepare(database: duckdb.DuckDBPyConnection, rows: pa.Table | None) -> None:
    """Makes the tables `calls`, `judged` and `waits` for the queries above. The database has the
    tables `shards` and `missing`. `rows`: the merged ledger; None where there is none."""
    database.register("ledger", _EMPTY if rows is None else rows)
    for statement in (_CALLS, _MEETINGS, _JUDGED, _WAITS):
        database.execute(statement)
