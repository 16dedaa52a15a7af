"""Clocks of hosts: on simulated hosts that drift, jitter, have slow ways in one direction and are
set anew, the published interval holds the true difference."""

import random

import numpy as np
import pyarrow as pa
import pytest
from crosscut.cluster import clocks, merging
from crosscut.cluster.finish import finish
from synthetic import Job, partials_of


class Host:
    """A clock: `offset` ns ahead of the true time at 0, drifting, perhaps set at a time."""

    def __init__(self, offset, drift, jump_at=None, jump=0):
        self.offset, self.drift, self.jump_at, self.jump = offset, drift, jump_at, jump

    def stamp(self, true_ns):
        jumped = self.jump if self.jump_at is not None and true_ns >= self.jump_at else 0
        return true_ns + self.offset + self.drift * true_ns + jumped


def simulated(seed, seconds=40, jump=False):
    """Bounds of a second host's clock beside a first one's, and the two clocks."""
    rng = random.Random(seed)
    first = Host(rng.uniform(-1e9, 1e9), rng.uniform(-20e-6, 20e-6))
    second = Host(rng.uniform(-1e9, 1e9), rng.uniform(-20e-6, 20e-6),
                  jump_at=seconds * 0.5e9 if jump else None, jump=rng.choice((-1, 1)) * 5e6)
    slow = rng.uniform(0, 200_000)  # one direction takes so much longer
    best = {}
    now = 0.0
    while now < seconds * 1e9:
        now += rng.uniform(1e6, 2e8)
        come = [now + rng.expovariate(1 / 3e6), now + rng.expovariate(1 / 3e6)]
        together = max(come)
        gone = [together + 2_000 + slow + rng.expovariate(1 / 8_000),
                together + 2_000 + rng.expovariate(1 / 8_000)]
        a = [first.stamp(come[0]), first.stamp(gone[0])]
        b = [second.stamp(come[1]), second.stamp(gone[1])]
        bucket = int(a[1] // clocks.BUCKET_NS)
        lower, upper = b[0] - a[1], b[1] - a[0]
        row = best.setdefault(bucket, [a[1], lower, a[0], upper])
        if lower > row[1]:
            row[:2] = a[1], lower
        if upper < row[3]:
            row[2:] = a[0], upper
    columns = [np.array(column) for column in zip(*(best[bucket] for bucket in sorted(best)))]
    return clocks.Bounds(*columns), first, second


def holds(segments, first, second, true_ns):
    """Whether the segment of that time has the true difference in its interval; None: no segment
    covers the time."""
    at = first.stamp(true_ns)
    for segment in segments:
        if not segment.begin_ns <= at <= segment.end_ns:
            continue
        middle = (segment.begin_ns + segment.end_ns) / 2
        line = segment.offset_ns + segment.drift_ppb * 1e-9 * (at - middle)
        return abs(second.stamp(true_ns) - at - line) <= segment.error_ns + 2
    return None


@pytest.mark.parametrize("jump", [False, True])
def test_the_interval_holds_the_true_difference(jump):
    held = told = 0
    for seed in range(40):
        bounds, first, second = simulated(seed, jump=jump)
        segments = clocks.segments_of(bounds)
        assert len(segments) == (2 if jump else 1), seed
        for true_ns in np.linspace(1e9, 39e9, 77):
            answer = holds(segments, first, second, float(true_ns))
            if answer is not None:
                told += 1
                held += answer
        assert all(segment.error_ns < 1_000_000 for segment in segments)
    assert told > 0.95 * 40 * 77
    assert held >= 0.999 * told


def test_a_cluster_tells_how_far_its_hosts_clocks_are_apart():
    job = Job(ranks=4, per_host=2, steps=30)
    partials = partials_of(job)
    ahead = 123_456_789
    for partial in partials[2:]:  # of the second host
        ledger = partial.tables["collective_calls"]
        at = ledger.column_names.index("begin_ns")
        begin = pa.array(ledger.column("begin_ns").to_numpy() + ahead)
        partial.tables["collective_calls"] = ledger.set_column(at, "begin_ns", begin)
    (row,) = finish(merging.merge(partials)).tables["host_clocks"].to_pylist()
    assert (row["host"], row["beside"]) == ("host00001", "host00000")
    assert abs(row["offset_ns"] - ahead) <= row["error_ns"] <= 50_000
    assert row["collectives"] == 30 * job.collectives


def test_one_host_has_nothing_beside_it():
    assert not finish(merging.merge(partials_of(Job(ranks=2)))).tables["host_clocks"].num_rows
