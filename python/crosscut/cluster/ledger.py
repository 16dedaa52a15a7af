"""The ledger of collectives: who was in which for how long, and what follows without any clock.

All leave a collective together, so a rank that is in one longer than the shortest of its group
waited for that one. The same collective on two ranks has the same group, restart, kind of record,
step, name and ordinal in the step. What does not match is counted, never guessed.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from crosscut.cluster import spec
from crosscut.cluster.partial import SHARD

# Collectives in which ranks may move different numbers of bytes.
_UNEVEN = "gather|scatter|all_to_all|alltoall|send|recv"

# One row for each collective that some rank was in: what its ranks say of it. Where all were in it
# for equally long, nobody was the first or the last.
_MEETINGS = f"""
CREATE TEMP TABLE meetings AS
SELECT restart, "group", "where", step, name, ordinal, count(*)::BIGINT AS calls,
  count(DISTINCT rank)::BIGINT AS ranks, min(duration_ns) AS shortest_ns,
  max(duration_ns) AS longest_ns, sum(duration_ns)::BIGINT AS total_ns, max(bytes) AS bytes,
  CASE WHEN min(duration_ns) < max(duration_ns)
    THEN min(struct_pack(d := duration_ns, r := rank)).r END AS last_rank,
  CASE WHEN min(duration_ns) < max(duration_ns)
    THEN max(struct_pack(d := duration_ns, r := -rank)).r * -1 END AS first_rank,
  min(seq) IS DISTINCT FROM max(seq) AS seq_differs,
  NOT regexp_matches(name, '{_UNEVEN}') AND min(bytes) IS DISTINCT FROM max(bytes) AS bytes_differ
FROM calls WHERE peer IS NULL OR peer < 0
GROUP BY restart, "group", "where", step, name, ordinal"""

_JUDGED = """
CREATE TEMP TABLE judged AS
SELECT m.*, size, CASE
  WHEN calls > ranks THEN 'a rank has it twice'
  WHEN size = 1 THEN 'the group has one rank here'
  WHEN ranks = 1 THEN 'no other rank of the group has it'
  WHEN seq_differs THEN 'the sequence numbers differ'
  WHEN bytes_differ THEN 'the sizes differ'
  ELSE '' END AS unmatched
FROM meetings m JOIN (
  SELECT restart, "group", "where", count(DISTINCT rank)::BIGINT AS size FROM calls
  GROUP BY restart, "group", "where") USING (restart, "group", "where")"""

_WAITS = """
CREATE TEMP TABLE waits AS
SELECT c.restart, c.rank, c.step, count(*)::BIGINT AS collectives,
  sum(c.duration_ns - j.shortest_ns)::BIGINT AS waited_ns
FROM calls c JOIN judged j ON c.restart = j.restart AND c."group" = j."group"
  AND c."where" = j."where" AND c.step IS NOT DISTINCT FROM j.step AND c.name = j.name
  AND c.ordinal = j.ordinal
WHERE j.unmatched = '' AND (c.peer IS NULL OR c.peer < 0)
GROUP BY c.restart, c.rank, c.step"""

_MADE = """
CREATE TEMP TABLE made AS
SELECT restart, last_rank AS rank, step, count(*)::BIGINT AS last_count,
  sum(total_ns - ranks * shortest_ns)::BIGINT AS made_wait_ns
FROM judged WHERE unmatched = '' AND last_rank IS NOT NULL GROUP BY restart, last_rank, step"""

_EMPTY = pa.table({
    SHARD: pa.array([], pa.int32()),
    **{name: pa.array([], pa.string() if name in spec.LEDGER_TEXTS else pa.int64())
       for name in spec.LEDGER_COLUMNS}})

COLLECTIVES = """
WITH first AS (
  SELECT restart, "group", "where", name, first_rank AS rank, count(*) AS n FROM judged
  WHERE unmatched = '' AND first_rank IS NOT NULL GROUP BY ALL),
last AS (
  SELECT restart, "group", "where", name, last_rank AS rank, count(*) AS n FROM judged
  WHERE unmatched = '' AND last_rank IS NOT NULL GROUP BY ALL),
most AS (
  SELECT restart, "group", "where", name,
    min(struct_pack(n := -f.n, r := f.rank)).r AS first_rank FROM first f GROUP BY ALL),
least AS (
  SELECT restart, "group", "where", name, min(struct_pack(n := -l.n, r := l.rank)) AS l
  FROM last l GROUP BY ALL)
SELECT j.restart, j."group", j."where", j.name, count(*)::BIGINT AS count, max(j.size) AS ranks,
  CASE WHEN any_value(missing.n) IS NULL THEN count(*) FILTER (j.ranks < j.size)::BIGINT END
    AS incomplete_count,
  sum(j.bytes)::BIGINT AS bytes, sum(j.shortest_ns)::BIGINT AS transfer_ns,
  sum(j.longest_ns - j.shortest_ns)::BIGINT AS skew_ns,
  max(j.longest_ns - j.shortest_ns) AS max_skew_ns,
  sum(j.total_ns - j.ranks * j.shortest_ns)::BIGINT AS waited_ns,
  any_value(most.first_rank) AS first_rank, any_value(least.l.r) AS last_rank,
  (-any_value(least.l.n))::BIGINT AS last_count,
  (sum(j.bytes)::HUGEINT * 1000000000 // nullif(sum(j.shortest_ns), 0))::BIGINT AS bytes_per_s
FROM judged j LEFT JOIN most USING (restart, "group", "where", name)
  LEFT JOIN least USING (restart, "group", "where", name)
  LEFT JOIN (SELECT restart, count(*) AS n FROM missing GROUP BY restart) missing USING (restart)
WHERE j.unmatched = '' GROUP BY j.restart, j."group", j."where", j.name
ORDER BY waited_ns DESC, j.restart, j."group", j."where", j.name"""

UNMATCHED = """
SELECT restart, "group", "where", name, unmatched AS reason, count(*)::BIGINT AS collectives,
  sum(calls)::BIGINT AS calls FROM judged WHERE unmatched != '' GROUP BY ALL
UNION ALL
SELECT restart, "group", "where", name, 'from rank to rank: not compared' AS reason,
  NULL AS collectives, count(*)::BIGINT AS calls FROM calls WHERE peer >= 0 GROUP BY ALL
ORDER BY 1, 2, 3, 4, 5"""

# The rank that made the others wait most in each step.
STRAGGLER_STEPS = """
WITH waited AS (
  SELECT restart, step, sum(waited_ns)::BIGINT AS waited_ns FROM waits GROUP BY restart, step),
most AS (
  SELECT restart, step, min(struct_pack(w := -made_wait_ns, r := rank)) AS m FROM made
  GROUP BY restart, step)
SELECT step, most.m.r AS rank, restart, (-most.m.w)::BIGINT AS made_wait_ns, waited_ns
FROM most JOIN waited USING (restart, step)
WHERE step IS NOT NULL AND most.m.w < 0 ORDER BY step, restart"""


def prepare(database: duckdb.DuckDBPyConnection, rows: pa.Table | None) -> None:
    """Makes the tables `calls`, `judged`, `waits` and `made` for the queries above. The database
    has the tables `shards` and `missing`. `rows`: the merged ledger; None where there is none."""
    database.register("ledger", _EMPTY if rows is None else rows)
    database.execute("CREATE TEMP VIEW calls AS SELECT s.restart, s.rank, l.* FROM ledger l "
                     "JOIN shards s USING (shard) WHERE s.rank >= 0")
    for statement in (_MEETINGS, _JUDGED, _WAITS, _MADE):
        database.execute(statement)
