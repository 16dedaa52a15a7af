"""Tables of collectives, from the meetings that ledger.fold() finds: queries of a database that has
the tables `meetings` and `missing`."""

from __future__ import annotations

COLLECTIVES = """
WITH known AS (SELECT * FROM meetings WHERE unmatched = ''),
firsts AS (
  SELECT restart, "group", place, name, first_rank AS rank, count(*) AS n FROM known
  WHERE first_rank IS NOT NULL GROUP BY ALL),
lasts AS (
  SELECT restart, "group", place, name, last_rank AS rank, count(*) AS n FROM known
  WHERE last_rank IS NOT NULL GROUP BY ALL),
often_first AS (
  SELECT restart, "group", place, name, min(struct_pack(n := -n, rank := rank)) AS most
  FROM firsts GROUP BY ALL),
often_last AS (
  SELECT restart, "group", place, name, min(struct_pack(n := -n, rank := rank)) AS most
  FROM lasts GROUP BY ALL),
sums AS (
  SELECT restart, "group", place, name, count(*)::BIGINT AS count, max(ranks) AS ranks,
    max(group_size) AS group_size,
    CASE WHEN bool_and(size_stated OR lacks IS NULL)
      THEN count(*) FILTER (ranks < group_size)::BIGINT END AS incomplete_count,
    CASE WHEN count(*) = count(bytes) THEN TRY_CAST(sum(bytes) AS BIGINT) END AS bytes,
    TRY_CAST(sum(transfer_ns) AS BIGINT) AS transfer_ns,
    sum(waited_ns) AS waited
  FROM known LEFT JOIN (SELECT DISTINCT restart, true AS lacks FROM missing) USING (restart)
  GROUP BY restart, "group", place, name)
SELECT s.* EXCLUDE (waited), TRY_CAST(waited AS BIGINT) AS waited_ns,
  f.most.rank AS first_rank, l.most.rank AS last_rank,
  (-l.most.n)::BIGINT AS last_count,
  TRY_CAST(s.bytes::HUGEINT * 1000000000 // nullif(s.transfer_ns, 0) AS BIGINT) AS bytes_per_s
FROM sums s LEFT JOIN often_first f USING (restart, "group", place, name)
  LEFT JOIN often_last l USING (restart, "group", place, name)
ORDER BY waited DESC, s.restart, s."group", s.place, s.name"""

UNMATCHED = """
SELECT restart, "group", place, name, unmatched AS reason,
  CASE WHEN max(ranks) IS NOT NULL THEN count(*)::BIGINT END AS collectives,
  sum(calls)::BIGINT AS calls
FROM meetings WHERE unmatched != '' GROUP BY restart, "group", place, name, unmatched
ORDER BY 1, 2, 3, 4, 5"""

# The rank for which the others waited longest in each step.
STRAGGLER_STEPS = """
WITH made AS (
  SELECT restart, step, last_rank AS rank, sum(waited_ns)::BIGINT AS made_wait_ns FROM meetings
  WHERE step IS NOT NULL AND unmatched = '' AND last_rank IS NOT NULL GROUP BY ALL),
most AS (
  SELECT restart, step, min(struct_pack(ns := -made_wait_ns, rank := rank)) AS most,
    sum(made_wait_ns)::BIGINT AS waited_ns
  FROM made GROUP BY restart, step)
SELECT step, most.most.rank AS rank, restart, (-most.most.ns)::BIGINT AS made_wait_ns, waited_ns
FROM most WHERE most.most.ns < 0 ORDER BY step, restart"""
