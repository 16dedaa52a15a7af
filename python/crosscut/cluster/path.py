"""What a job's time went by, from its first collective to its last: the path across ranks, and what
one rank costs it. From the ledger alone, without a common clock.

A collective goes on when its last rank has come. So the path leads from a collective back to the
one before it on that rank: what the rank did in between is work, what came after it in the
collective is transfer. Both are differences on one rank's clock.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

MATCH = """c.restart = j.restart AND c.grp = j.grp AND c.place = j.place
    AND c.ordinal = j.ordinal AND c.seq IS NOT DISTINCT FROM j.seq
    AND c.key_step IS NOT DISTINCT FROM j.key_step
    AND c.key_name IS NOT DISTINCT FROM j.key_name"""

_NUMBERED = """
CREATE TEMP TABLE numbered AS
SELECT *, row_number() OVER (ORDER BY restart, grp, place, seq, key_step, key_name, ordinal) - 1
  AS meeting FROM judged WHERE unmatched = '' AND ranks > 1"""

# A row for each matched collective: where its last rank came from. A collective that began while
# the one before it on that rank went on has no work before it.
_HOPS = f"""
CREATE TEMP TABLE hops AS
WITH mine AS (
  SELECT c.restart, c.rank, c.begin_ns, c.begin_ns + c.ns AS end_ns, c.operation, j.meeting,
    j.last_rank, j.step, j.saved_ns,
    CASE WHEN j.one_clock AND j.first_end_ns > j.last_begin_ns
      THEN least(j.shortest_ns, j.first_end_ns - j.last_begin_ns) ELSE j.shortest_ns END
      AS transfer_ns
  FROM calls c JOIN numbered j ON {MATCH} WHERE NOT c.pair),
behind AS (
  SELECT *, lag(meeting) OVER line AS before, lag(end_ns) OVER line AS before_end_ns FROM mine
  WINDOW line AS (PARTITION BY restart, rank ORDER BY end_ns, begin_ns, meeting))
SELECT restart, meeting, rank, operation, step, transfer_ns, saved_ns, begin_ns, before,
  greatest(begin_ns - before_end_ns, 0) AS work_ns
FROM behind WHERE rank = coalesce(last_rank, rank)
QUALIFY row_number() OVER (PARTITION BY meeting ORDER BY rank) = 1"""

_LAST = f"""
SELECT max(struct_pack(at := c.begin_ns + c.ns, meeting := j.meeting)).meeting
FROM calls c JOIN numbered j ON {MATCH}
WHERE c.restart = $1 AND NOT c.pair AND c.rank = (SELECT min(rank) FROM hops WHERE restart = $1)"""

# What each rank costs: the time in which only it was missing, each instant once, on its own clock.
_SAVED = """
CREATE TEMP TABLE saved AS
WITH apart AS (
  SELECT restart, rank, step, begin_ns, begin_ns - saved_ns AS from_ns,
    max(begin_ns) OVER (PARTITION BY restart, rank ORDER BY begin_ns - saved_ns, begin_ns, meeting
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns
  FROM hops WHERE saved_ns > 0)
SELECT restart, rank,
  sum(greatest(begin_ns - greatest(from_ns, coalesce(until_ns, from_ns)), 0))::BIGINT AS saved_ns,
  coalesce(sum(greatest(begin_ns - greatest(from_ns, coalesce(until_ns, from_ns)), 0))
    FILTER (step IS NOT NULL), 0)::BIGINT AS saved_in_steps_ns
FROM apart GROUP BY restart, rank"""


def prepare(database: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables `hops` and `saved`. The database has those of ledger.prepare()."""
    for statement in (_NUMBERED, _HOPS, _SAVED):
        database.execute(statement)


def cluster_path(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """The path of each restart of the job, by rank, kind (`work`, `transfer`) and operation: what
    was on it, the longest first. It ends with the collective that the job's lowest rank left last;
    the rows of a restart add up to the time from its first collective to that end."""
    rows: dict[tuple[int, int, str, str], list[int]] = {}
    restarts = database.execute("SELECT DISTINCT restart FROM hops ORDER BY restart").fetchall()
    for (restart,) in restarts:
        _walk(database, restart, rows)
    hosts = dict(database.execute("SELECT (restart, rank), min(host) FROM shards WHERE leads "
                                  "GROUP BY restart, rank").fetchall())
    ordered = sorted(rows.items(), key=lambda row: (row[0][0], -row[1][1], row[0]))
    whole = {restart: sum(ns for key, (_, ns) in ordered if key[0] == restart)
             for (restart,) in restarts}
    return pa.table({
        "restart": pa.array([key[0] for key, _ in ordered], pa.int64()),
        "rank": pa.array([key[1] for key, _ in ordered], pa.int64()),
        "host": pa.array([hosts.get((key[0], key[1])) for key, _ in ordered], pa.string()),
        "kind": pa.array([key[2] for key, _ in ordered], pa.string()),
        "operation": pa.array([key[3] for key, _ in ordered], pa.string()),
        "count": pa.array([row[0] for _, row in ordered], pa.int64()),
        "ns": pa.array([row[1] for _, row in ordered], pa.int64()),
        "share_ppm": pa.array([row[1] * 10**6 // max(whole[key[0]], 1) for key, row in ordered],
                              pa.int64())})


def _walk(database: duckdb.DuckDBPyConnection, restart: int,
          rows: dict[tuple[int, int, str, str], list[int]]) -> None:
    """Adds the path of a restart to `rows`: by key the count and the time."""
    hops = database.execute(
        "SELECT meeting, rank, operation, transfer_ns, work_ns, before FROM hops WHERE restart = ? "
        "ORDER BY meeting", [restart]).fetchnumpy()
    meeting = np.ma.getdata(hops["meeting"])
    if not len(meeting):
        return
    before = np.ma.filled(hops["before"], -1)
    place = np.searchsorted(meeting, before)
    (last,) = database.execute(_LAST, [restart]).fetchone() or (None,)
    at = int(np.searchsorted(meeting, meeting[-1] if last is None else last))

    def add(kind: str, operation: Any, ns: int) -> None:
        row = rows.setdefault((restart, int(hops["rank"][at]), kind, str(operation or "")), [0, 0])
        row[0] += 1
        row[1] += ns

    seen = np.zeros(len(meeting), bool)
    while not seen[at]:
        seen[at] = True
        operation = hops["operation"][at]
        add("transfer", operation, int(hops["transfer_ns"][at]))
        if before[at] < 0:
            return
        add("work", operation, int(np.ma.filled(hops["work_ns"], 0)[at]))
        at = int(place[at])
