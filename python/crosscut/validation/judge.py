"""How true corrected times are, told from runs of one program, recorded and unrecorded in turn.

Times go in as nanoseconds; ratios come out as parts of one (0.02: 2 %). docs/validation.md says
why each figure is taken so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.plots.repeats import student

FEWEST_RUNS_FOR_COVERAGE = 20
LEAST_COVERAGE = 0.85
MOST_PAIRS_TOLD = 10_000


@dataclass(frozen=True)
class Corrected:
    """One time of a recorded run: as it was, corrected, and the report's own 95 % interval."""

    raw_ns: float
    corrected_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class Summary:
    """What pairs of runs say together."""

    unrecorded_ns: float  # median
    raw_inflation: float  # median over the pairs of recorded / unrecorded - 1
    error: float  # the same of corrected / unrecorded
    aa_band: float | None  # neighbours_band() of the unrecorded runs
    half_width: float  # of the report's interval, median, / unrecorded_ns
    spread: float  # standard deviation of the unrecorded runs / unrecorded_ns
    covered: float  # the part of the intervals that hold unrecorded_ns
    covered_unrecorded: float | None  # unrecorded_coverage()
    covered_with_spread: float  # when each is 1.96 standard deviations wider, in quadrature


def neighbours_band(unrecorded: Sequence[float]) -> float | None:
    """How far from 1 the median ratio of so many pairs lies by chance, in 95 of 100 measurements,
    if both runs of each are unrecorded. None under two runs.

    How neighbours differ (first and second, third and fourth, ...) tells that; the last of an odd
    number is left out. It holds for normal noise, for skewed noise and for hiccups.
    """
    apart = [abs(math.log(b / a)) for a, b in zip(unrecorded[::2], unrecorded[1::2])]
    return math.expm1(statistics.fmean(apart) * _reach(len(unrecorded))) if apart else None


def _reach(pairs: int) -> float:
    """The band of so many pairs, on a log scale, by the mean of what neighbours differ by. The root
    of pi / 2 makes a standard deviation of that, and again of a mean's error a median's."""
    return student(pairs // 2) * math.pi / 2 / math.sqrt(pairs)


def coverage(recorded: Sequence[Corrected], truth_ns: float, more_ns: float) -> float:
    """The part of the intervals, each wider by `more_ns` in quadrature, that hold the truth."""
    held = 0
    for run in recorded:
        low = run.corrected_ns - math.hypot(run.corrected_ns - run.low_ns, more_ns)
        high = run.corrected_ns + math.hypot(run.high_ns - run.corrected_ns, more_ns)
        held += low <= truth_ns <= high
    return held / len(recorded)


def unrecorded_coverage(unrecorded: Sequence[float],
                        recorded: Sequence[Corrected]) -> float | None:
    """How often the same intervals would hold the truth if correcting were perfect.

    An unrecorded run is one that was corrected without any error. Each stands in the place of the
    recorded run beside it, in the middle of that run's interval; the median of the others is the
    truth. What `coverage` lacks of this is Crosscut's, the rest is that runs differ. None under two
    runs.
    """
    if len(unrecorded) < 2:
        return None
    held = 0
    for i, (plain, run) in enumerate(zip(unrecorded, recorded, strict=True)):
        truth = statistics.median([*unrecorded[:i], *unrecorded[i + 1:]])
        held += (plain - (run.corrected_ns - run.low_ns) <= truth <=
                 plain + (run.high_ns - run.corrected_ns))
    return held / len(unrecorded)


def summarize(unrecorded: Sequence[float], recorded: Sequence[Corrected]) -> Summary:
    """Of at least one pair: the n-th unrecorded run ran beside the n-th recorded one."""
    pairs = list(zip(unrecorded, recorded, strict=True))
    truth = statistics.median(unrecorded)
    spread = statistics.stdev(unrecorded) if len(unrecorded) > 1 else 0.0
    return Summary(
        unrecorded_ns=truth,
        raw_inflation=statistics.median(run.raw_ns / plain for plain, run in pairs) - 1,
        error=statistics.median(run.corrected_ns / plain for plain, run in pairs) - 1,
        aa_band=neighbours_band(unrecorded),
        half_width=statistics.median(run.high_ns - run.low_ns for run in recorded) / 2 / truth,
        spread=spread / truth,
        covered=coverage(recorded, truth, 0.0),
        covered_unrecorded=unrecorded_coverage(unrecorded, recorded),
        covered_with_spread=coverage(recorded, truth, 1.96 * spread))


def misses(summary: Summary, pairs: int, within: float) -> list[str]:
    """Why the corrected time is not true, as sentences; empty where nothing shows that.

    It is not where it is off by more than `within` and what unrecorded runs differ by, which one
    pair does not show; and, from FEWEST_RUNS_FOR_COVERAGE pairs on, where the intervals do not hold
    the truth often enough.
    """
    out = []
    band = summary.aa_band
    if band is not None and abs(summary.error) > within + band:
        out.append(f"off by {summary.error:+.2%}, more than {within:.2%} plus the A/A band of "
                   f"{band:.2%}")
    if pairs >= FEWEST_RUNS_FOR_COVERAGE and summary.covered_with_spread < LEAST_COVERAGE:
        out.append(f"{summary.covered_with_spread:.0%} of the intervals hold the truth, "
                   f"less than {LEAST_COVERAGE:.0%}")
    return out


def not_shown(summary: Summary, pairs: int, within: float) -> list[str]:
    """Why the runs show neither that it is off by at most `within` nor that it is not, as sentences
    that say how many pairs would; empty where they show one of them."""
    if summary.aa_band is None:
        return ["the A/A band is not known from one pair"]
    error, band = abs(summary.error), summary.aa_band
    if error + band <= within or error - band > within:
        return []
    # What _reach() has to become.
    reach = _reach(pairs) * math.log1p(abs(within - error)) / math.log1p(band)
    enough = next((f"about {n}" for n in range(pairs, MOST_PAIRS_TOLD) if _reach(n) <= reach),
                  f"more than {MOST_PAIRS_TOLD}")
    return [f"off by {summary.error:+.2%}, give or take an A/A band of {band:.2%}, where "
            f"{within:.2%} is claimed; {enough} pairs would show it"]
