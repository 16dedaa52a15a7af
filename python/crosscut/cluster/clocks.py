"""How far the clocks of hosts are apart, told by collectives.

Nobody leaves a collective in which all wait for all before its last rank has come. So of two hosts
h and k that met in one, with the stamps of their own clocks: h's first end lies behind k's last
begin, and k's first end behind h's last begin. Each collective bounds the difference of the clocks
from both sides, whatever the network does. A clock drifts by a line: of all lines between the
bounds, the earliest and the latest at any time give the interval in which the difference lies.
Where no line fits, a clock was set: the bounds are split there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.float64]

BUCKET_NS = 1_000_000_000  # of each, the closest bounds count
LONGEST_NS = 120_000_000_000  # a line holds so long: temperature changes the drift
MOST_DRIFT = 500e-6  # that NTP gives a clock at most

# For each pair of hosts that met, and each second of the first one's clock: the closest bounds of
# (second's clock - first's), and how many collectives gave them. `lower` <= difference <= `upper`.
_BOUNDS = f"""
CREATE TEMP TABLE clock_bounds AS
WITH firsts AS (SELECT meeting, min(boot) AS boot FROM stays GROUP BY meeting),
pairs AS (
  SELECT a.boot AS first, b.boot AS second, a.gone_ns // {BUCKET_NS} AS bucket,
    max(struct_pack(ns := b.come_ns - a.gone_ns, at := a.gone_ns)) AS low,
    min(struct_pack(ns := b.gone_ns - a.come_ns, at := a.come_ns)) AS high,
    count(*)::BIGINT AS collectives
  FROM firsts JOIN stays a USING (meeting, boot) JOIN stays b ON a.meeting = b.meeting
    AND a.boot < b.boot
  GROUP BY first, second, bucket)
SELECT first, second, bucket, low.ns AS lower, high.ns AS upper, low.at AS lower_at,
  high.at AS upper_at, collectives FROM pairs"""


@dataclass(frozen=True)
class Bounds:
    """Of a difference of two clocks, in order of time: at `lower_at` ns it is at least `lower`, at
    `upper_at` at most `upper`."""

    lower_at: Numbers
    lower: Numbers
    upper_at: Numbers
    upper: Numbers

    def slice(self, first: int, end: int) -> Bounds:
        """Those from `first` up to `end`."""
        return Bounds(self.lower_at[first:end], self.lower[first:end], self.upper_at[first:end],
                      self.upper[first:end])


@dataclass(frozen=True)
class Segment:
    """From `begin_ns` to `end_ns` of the first clock, the second is `offset_ns` ahead of it in the
    middle, by at most `error_ns` more or less anywhere in the segment, and drifts by
    `drift_ppb`."""

    begin_ns: int
    end_ns: int
    offset_ns: int
    error_ns: int
    drift_ppb: int


def _best(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is greatest."""
    for _ in range(100):
        third = (high - low) / 3
        if function(low + third) < function(high - third):
            low += third
        else:
            high -= third
    return (low + high) / 2


def _edge(function: Callable[[float], float], inside: float, outside: float) -> float:
    """Where a function that is not negative at `inside` becomes negative on the way out."""
    if function(outside) >= 0:
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        if function(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return inside


def _lowest(bounds: Bounds, drift: float, at: float) -> float:
    """What a line of that drift is at least at `at`."""
    return float(np.max(bounds.lower - drift * (bounds.lower_at - at)))


def _highest(bounds: Bounds, drift: float, at: float) -> float:
    return float(np.min(bounds.upper - drift * (bounds.upper_at - at)))


def _room(bounds: Bounds, drift: float, at: float) -> float:
    return _highest(bounds, drift, at) - _lowest(bounds, drift, at)


def fits(bounds: Bounds) -> bool:
    """Whether a line lies between all of them."""
    at = float(bounds.lower_at[0])
    drift = _best(lambda d: _room(bounds, d, at), -MOST_DRIFT, MOST_DRIFT)
    return _room(bounds, drift, at) >= 0


def segment_of(bounds: Bounds) -> Segment:
    """Requires: fits(bounds)."""
    begin = float(min(bounds.lower_at[0], bounds.upper_at[0]))
    end = float(max(bounds.lower_at[-1], bounds.upper_at[-1]))
    middle = (begin + end) / 2
    drift = _best(lambda d: _room(bounds, d, middle), -MOST_DRIFT, MOST_DRIFT)
    slow = _edge(lambda d: _room(bounds, d, middle), drift, -MOST_DRIFT)
    fast = _edge(lambda d: _room(bounds, d, middle), drift, MOST_DRIFT)

    def interval(at: float) -> tuple[float, float]:
        low = _best(lambda d: -_lowest(bounds, d, at), slow, fast)
        high = _best(lambda d: _highest(bounds, d, at), slow, fast)
        return _lowest(bounds, low, at), _highest(bounds, high, at)

    low, high = interval(middle)
    offset = (low + high) / 2
    error = max(high - offset, offset - low)
    for at in (begin, end):  # the interval is widest at the ends of the segment, or in its middle
        low, high = interval(at)
        line = offset + drift * (at - middle)
        error = max(error, high - line, line - low)
    return Segment(int(begin), int(end), round(offset), int(np.ceil(error)) + 1,
                   round(drift * 1e9))


def segments_of(bounds: Bounds) -> list[Segment]:
    """The fewest segments, each as long as a line fits and at most LONGEST_NS."""
    out = []
    first, count = 0, len(bounds.lower)
    while first < count:
        latest = bounds.lower_at[first] + LONGEST_NS
        end = first + max(1, int(np.searchsorted(bounds.lower_at[first:], latest)))
        low = first + 1
        while low < end:  # the longest that fits, by halves
            middle = (low + end + 1) // 2
            if fits(bounds.slice(first, middle)):
                low = middle
            else:
                end = middle - 1
        part = bounds.slice(first, low)
        if fits(part):
            out.append(segment_of(part))
        first = low
    return out


def host_clocks(database: duckdb.DuckDBPyConnection, stays: pa.Table) -> pa.Table:
    """The clock of each host beside the one of the host that it meets, by segment. `stays`: of
    ledger.Folded. Empty for one host."""
    database.register("stays", stays)
    database.execute(_BOUNDS)
    hosts = dict(database.execute(
        "SELECT dense_rank() OVER (ORDER BY boot), host FROM shards WHERE boot != ''").fetchall())
    rows = []
    pairs = database.execute("SELECT first, second, sum(collectives)::BIGINT FROM clock_bounds "
                             "GROUP BY ALL ORDER BY ALL").fetchall()
    for first, second, collectives in pairs:
        columns = database.execute(
            "SELECT lower_at, lower, upper_at, upper FROM clock_bounds WHERE first = ? AND "
            "second = ? ORDER BY bucket", [first, second]).fetchnumpy()
        bounds = Bounds(*(np.asarray(columns[name], np.float64)
                          for name in ("lower_at", "lower", "upper_at", "upper")))
        segments = segments_of(bounds)
        rows += [(hosts[second], hosts[first], segment, collectives, len(segments) - 1)
                 for segment in segments]
    return pa.table({
        "host": pa.array([host for host, *_ in rows], pa.string()),
        "beside": pa.array([row[1] for row in rows], pa.string()),
        **{name: pa.array([getattr(row[2], name) for row in rows], pa.int64())
           for name in ("begin_ns", "end_ns", "offset_ns", "error_ns", "drift_ppb")},
        "collectives": pa.array([row[3] for row in rows], pa.int64()),
        "splits": pa.array([row[4] for row in rows], pa.int64())})
