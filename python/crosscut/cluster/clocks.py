"""How far the clocks of hosts are apart, told by collectives.

Nobody leaves a collective in which all wait for all before its last rank has come. So of two hosts
h and k that met in one, with the stamps of their own clocks: h's first end lies behind k's last
begin, and k's first end behind h's last begin. Each collective bounds the difference of the clocks
from both sides, whatever the network does. A clock drifts by a line: of all lines between the
bounds, the earliest and the latest at any time give the interval in which the difference lies.
Where no line fits, a clock was set: the bounds are split there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class _Many:
    """Bounds of many differences at once, a row for each; rows of fewer bounds are filled up."""

    def __init__(self, rows: Sequence[Bounds]) -> None:
        most = max(len(row.lower) for row in rows)

        def filled(name: str, nothing: float) -> Numbers:
            out = np.full((len(rows), most), nothing)
            for number, row in enumerate(rows):
                cells = getattr(row, name)
                out[number, :len(cells)] = cells
            return out

        self.begin = np.array([min(row.lower_at[0], row.upper_at[0]) for row in rows])
        self.end = np.array([max(row.lower_at[-1], row.upper_at[-1]) for row in rows])
        # Stamps are large; what is left behind the middle of each row is exact enough.
        self.middle = (self.begin + self.end) / 2
        self._lower, self._upper = filled("lower", -np.inf), filled("upper", np.inf)
        self._lower_at = filled("lower_at", 0.0) - self.middle[:, None]
        self._upper_at = filled("upper_at", 0.0) - self.middle[:, None]

    def lowest(self, drift: Numbers, at: Numbers) -> Numbers:
        """What a line of that drift is at least at `at`, from the middle on."""
        lines: Numbers = self._lower - drift[:, None] * (self._lower_at - at[:, None])
        return lines.max(axis=1)

    def highest(self, drift: Numbers, at: Numbers) -> Numbers:
        """And at most."""
        lines: Numbers = self._upper - drift[:, None] * (self._upper_at - at[:, None])
        return lines.min(axis=1)

    def room(self, drift: Numbers) -> Numbers:
        """How far apart these two are in the middle; below 0 where no such line fits."""
        nowhere = np.zeros(len(drift))
        return self.highest(drift, nowhere) - self.lowest(drift, nowhere)

    def drift(self) -> Numbers:
        """The drift with the most room."""
        most = np.full(len(self.middle), MOST_DRIFT)
        return _best(self.room, -most, most)


def _best(function: Callable[[Numbers], Numbers], low: Numbers, high: Numbers) -> Numbers:
    """Where concave functions are greatest."""
    for _ in range(60):
        third = (high - low) / 3
        rises = function(low + third) < function(high - third)
        low, high = np.where(rises, low + third, low), np.where(rises, high, high - third)
    return (low + high) / 2


def _edge(function: Callable[[Numbers], Numbers], inside: Numbers, outside: Numbers) -> Numbers:
    """Where functions that are not negative at `inside` become negative on the way out."""
    everywhere = function(outside) >= 0
    inside, end = np.where(everywhere, outside, inside), outside
    for _ in range(60):
        middle = (inside + end) / 2
        fine = function(middle) >= 0
        inside, end = np.where(fine, middle, inside), np.where(fine, end, middle)
    return inside


def fits(bounds: Bounds) -> bool:
    """Whether a line lies between all of them."""
    many = _Many([bounds])
    return bool(many.room(many.drift())[0] >= 0)


def _segments(many: _Many) -> list[Segment]:
    """One for each row. Requires: a line fits."""
    drift = many.drift()
    most = np.full(len(drift), MOST_DRIFT)
    slow, fast = _edge(many.room, drift, -most), _edge(many.room, drift, most)

    def interval(at: Numbers) -> tuple[Numbers, Numbers]:
        low = _best(lambda d: -many.lowest(d, at), slow, fast)
        high = _best(lambda d: many.highest(d, at), slow, fast)
        return many.lowest(low, at), many.highest(high, at)

    low, high = interval(np.zeros(len(drift)))
    offset = (low + high) / 2
    error = np.maximum(high - offset, offset - low)
    for end in (many.begin, many.end):  # the interval is widest at an end, or in the middle
        at = end - many.middle
        low, high = interval(at)
        line = offset + drift * at
        error = np.maximum(error, np.maximum(high - line, line - low))
    return [Segment(int(begin), int(end), round(ahead), int(np.ceil(off)) + 1, round(slope * 1e9))
            for begin, end, ahead, off, slope in zip(many.begin, many.end, offset.tolist(), error,
                                                     drift.tolist())]


def all_segments(rows: Sequence[Bounds]) -> list[list[Segment]]:
    """segments_of() each, most of them at once."""
    if not rows:
        return []
    many = _Many(rows)
    whole = (many.room(many.drift()) >= 0) & (many.end - many.begin <= LONGEST_NS)
    at_once = [row for row, one in zip(rows, whole) if one]
    segments = iter(_segments(_Many(at_once)) if at_once else [])
    return [[next(segments)] if one else segments_of(row) for row, one in zip(rows, whole)]


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
            out += _segments(_Many([part]))
        first = low
    return out


def host_clocks(database: duckdb.DuckDBPyConnection, stays: pa.Table) -> pa.Table:
    """The clock of each host beside the one of the host that it meets, by segment. `stays`: of
    ledger.Folded. Empty for one host."""
    database.register("stays", stays)
    database.execute(_BOUNDS)
    hosts = dict(database.execute(
        "SELECT dense_rank() OVER (ORDER BY boot), host FROM shards WHERE boot != ''").fetchall())
    columns = database.execute(
        "SELECT first, second, collectives, lower_at, lower, upper_at, upper FROM clock_bounds "
        "ORDER BY first, second, bucket").fetchnumpy()
    key = np.stack([columns["first"], columns["second"]])
    cuts = np.nonzero(np.any(key[:, 1:] != key[:, :-1], axis=0))[0] + 1
    parts = [part for part in np.split(np.arange(key.shape[1]), cuts) if len(part)]
    bounds = [Bounds(*(np.asarray(columns[name], np.float64)[part]
                       for name in ("lower_at", "lower", "upper_at", "upper"))) for part in parts]
    rows = []
    for part, segments in zip(parts, all_segments(bounds)):
        first, second = key[:, part[0]].tolist()
        collectives = int(columns["collectives"][part].sum())
        rows += [(hosts[second], hosts[first], segment, collectives, len(segments) - 1)
                 for segment in segments]
    return pa.table({
        "host": pa.array([host for host, *_ in rows], pa.string()),
        "beside": pa.array([row[1] for row in rows], pa.string()),
        **{name: pa.array([getattr(row[2], name) for row in rows], pa.int64())
           for name in ("begin_ns", "end_ns", "offset_ns", "error_ns", "drift_ppb")},
        "collectives": pa.array([row[3] for row in rows], pa.int64()),
        "splits": pa.array([row[4] for row in rows], pa.int64())})
