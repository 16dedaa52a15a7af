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
    [(last,)] = database.execute("SELECT meeting FROM ends WHERE restart = ?",
                                 [restart]).fetchall()
    at = int(np.searchsorted(meeting, last))

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
