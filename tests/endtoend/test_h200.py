"""What Crosscut and torch.profiler recorded of the same programs on a real device, an NVIDIA H200:
tests/gpu/h200, which tests/gpu made."""

import collections
import csv
import gzip
import io
import json
import statistics

from runs import ROOT, table

H200 = ROOT / "tests" / "gpu" / "h200"


def rows(name):
    with gzip.open(H200 / f"crosscut-{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(io.StringIO(file.read())))


def durations(name):
    found = collections.defaultdict(list)
    for row in rows(name):
        found[row["name"]].append(int(row["ns"]))
    return found


def test_names_and_counts_are_torch_profilers():
    ours, theirs = ({row["name"]: row for row in table(H200 / f"{who}-train.json.gz", "kernels")}
                    for who in ("crosscut", "kineto"))
    # The program trains twice; torch.profiler was there the second time.
    assert {name: row["count"] for name, row in ours.items()} == {
        name: 2 * row["count"] for name, row in theirs.items()}
    for name, row in theirs.items():
        if row["type"] == "computation":  # a copy's time is the bus's, and another in each process
            off = abs(ours[name]["p50_ns"] - row["p50_ns"])
            assert off <= max(0.05 * row["p50_ns"], 1000), (name, ours[name], row)


def test_calls_that_launch_are_torch_profilers():
    ours, theirs = ({row["launch"]: row["work_count"]
                     for row in table(H200 / f"{who}-train.json.gz", "launches")}
                    for who in ("crosscut", "kineto"))
    assert ours == {call: 2 * count for call, count in theirs.items()}


def test_replayed_graphs_are_torch_profilers():
    theirs = json.loads((H200 / "kineto-graphs.json").read_text())
    ours = durations("torch-graphs")
    assert {name: len(ns) for name, ns in ours.items()} == {
        name: 2 * len(ns) for name, ns in theirs.items()}
    for name, ns in theirs.items():
        off = abs(statistics.median(ours[name]) - statistics.median(ns))
        assert off <= max(0.05 * statistics.median(ns), 1000), name
    graphs = rows("torch-graphs")
    assert graphs and all(row["launch"] for row in graphs)


def test_only_a_graph_that_is_one_loop_has_work_without_its_launch():
    for one_loop in (rows("driver"), rows("jax")):
        assert one_loop and all(row["launch"] for row in one_loop)
    lonely = collections.Counter(row["name"] for row in rows("streams") if not row["launch"])
    assert lonely == {"spin(long long)": 6, "again(unsigned long long, int*)": 6}


def test_times_are_those_of_the_devices_own_clock():
    """As far as the two clocks are known: within a microsecond, whatever a kernel takes."""
    clock = json.loads((H200 / "clock.json").read_text())
    known = max(clock["error_ns"]) + clock["resolution_ns"]
    assert known < 1100
    # A kernel is recorded from before its first stamp until after its last.
    assert min(clock["before"]) > -known and min(clock["behind"]) > -known
    for values in (clock["before"], clock["behind"]):
        assert max(values) - min(values) < 300, "the conversion stays where it is"
