"""What a job's time went by, from its first collective to its last: the path across ranks, and what
one rank costs it. From the ledger alone, without a common clock.

A collective goes on when its last rank has come. So the path leads from a collective back to the
one before it on that rank: what the rank did in between is work, what came after it in the
collective is transfer. Both are differences on one clock.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa

from crosscut.cluster.ledger import Folded

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


def prepare(database: duckdb.DuckDBPyConnection, folded: Folded) -> None:
    """Makes the tables `hops`, `ends` and `saved`."""
    database.register("hops", folded.hops)
    database.register("ends", folded.ends)
    database.execute(_SAVED)


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
    whole: Counter[int] = Counter()
    for (restart, *_), (_, ns) in ordered:
        whole[restart] += ns
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
        "SELECT meeting, rank, operation, boot, begin_ns, end_ns, before, free_ns FROM hops "
        "WHERE restart = ? ORDER BY meeting", [restart]).fetchnumpy()
    meeting, before, free = (np.ma.filled(hops[c], -1) for c in ("meeting", "before", "free_ns"))
    place = np.searchsorted(meeting, before)
    [(last, boot, left)] = database.execute(
        "SELECT meeting, boot, end_ns FROM ends WHERE restart = ?", [restart]).fetchall()
    at, now = int(np.searchsorted(meeting, last)), left

    def go_back(kind: str, until: int) -> None:
        nonlocal now
        operation = str(hops["operation"][at] or "")
        row = rows.setdefault((restart, int(hops["rank"][at]), kind, operation), [0, 0])
        row[0] += 1
        row[1] += max(now - until, 0)
        now = min(now, until)

    seen = np.zeros(len(meeting), bool)
    while not seen[at]:
        seen[at] = True
        # At `left` the rank from which the path comes has left this collective. On one clock, the
        # rank to which it goes may have left at another time; else that is taken to be the same.
        if boot < 0 or boot != hops["boot"][at]:
            now += int(hops["end_ns"][at]) - left
        go_back("transfer", int(hops["begin_ns"][at]))
        if before[at] < 0:
            return
        boot, left = hops["boot"][at], int(free[at])
        go_back("work", left)  # of collectives in flight at once, each instant is in the later one
        at = int(place[at])
