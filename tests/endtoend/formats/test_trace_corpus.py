"""Real traces of other people's profilers, and what other tools say of them. The traces are no part
of the project: CROSSCUT_TRACE_CORPUS names the folder that has them."""

import gzip
import json
import os
import pathlib
import subprocess
import sys
from decimal import Decimal

import hta_figures
import pytest
from runs import table

CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(),
                                reason="CROSSCUT_TRACE_CORPUS names no folder of traces")


def expected(name):
    return json.loads((CORPUS / f"expected-{name}.json").read_text())


def path_of(trace):
    return CORPUS / f"{trace}.json.gz"


def events_of(trace):
    return json.loads(gzip.open(path_of(trace)).read())["traceEvents"]


def figures_of(trace):
    decimals = any(isinstance(event.get("ts"), float) for event in events_of(trace)
                   if event.get("ph") == "X")
    path = path_of(trace)
    return hta_figures.Figures(table(path, "device_events"), table(path, "steps"), decimals)


# Trace, the entry of expected-hta.json, and the number of its rank there.
HTA = [("kineto-v100-ddp-ns", None, 0), ("kineto-a100-nccl-rank0", None, 0),
       ("kineto-sampled-rank0", "kineto-sampled-rank0+1", 0),
       ("kineto-sampled-rank1", "kineto-sampled-rank0+1", 1),
       ("kineto-a100-simple-add", None, 0), ("kineto-a100-event-sync", None, 0),
       ("kineto-mtia-inference", None, 0), ("kineto-mi250-minitoy", None, 0)]


@pytest.mark.parametrize("trace, entry, rank", HTA, ids=[row[0] for row in HTA])
def test_figures_are_those_of_hta(trace, entry, rank):
    theirs = expected("hta")[entry or trace]
    ours = figures_of(trace)
    assert len(ours.rows) == theirs["gpu_rows"][str(rank)]
    assert ours.steps == theirs["steps"]
    temporal = ours.temporal()
    assert temporal == {key: theirs["temporal"][rank][key] for key in temporal}
    assert {key: us for key, us in ours.idle().items() if us} == {
        (stream, cause): us for of, stream, cause, us, _ in theirs["idle"] if of == rank and us}
    percent = theirs["overlap"][rank]["comp_comm_overlap_pctg"]
    assert ours.overlap_percent() == (None if percent == "nan" else percent)
    if rank == 0:
        assert ours.launches() == theirs["launch"]
    if entry is None:  # of several ranks HTA gives one sum
        assert ours.kernel_types() == {row["kernel_type"]: row["sum"]
                                       for row in theirs["kernel_breakdown"]["types"]}
    for _, of, name, us in theirs["kernel_breakdown"]["top"]:
        assert of != rank or name == "others" or us in ours.kernel_sums(name)


@pytest.mark.parametrize("trace, entry, rank", HTA, ids=[row[0] for row in HTA])
def test_queues_and_bandwidths_are_those_of_hta(trace, entry, rank):
    theirs = expected("hta")[entry or trace]
    ours = figures_of(trace)
    both = [ours.queue(ties) for ties in (-1, 1)]
    for which, *figures in theirs["queue"]:
        of, stream = json.loads(which.replace("(", "[").replace(")", "]"))
        if of == rank:
            assert_between(figures, *(hta_figures.summary(lengths[stream]) for lengths in both))
    both = [ours.bandwidth(ties) for ties in (-1, 1)]
    for which, *figures in theirs["membw"]:
        of, name = which.strip("()").split(", ")
        if int(of) == rank:
            assert_between(figures, *(hta_figures.summary(values[name.strip("'")])
                                      for values in both))


def assert_between(figures, one, other):
    """HTA sorts by time alone, and not stably: its figures lie between those of either order of
    what happens at one time, and are ours where nothing does. Four decimals are printed."""
    assert len(figures) == len(one) == len(other) > 0
    for figure, low, high in zip(figures, map(min, one, other), map(max, one, other)):
        assert low - 6e-5 <= figure <= high + 6e-5, (figures, one, other)


@pytest.mark.parametrize("trace", ["kineto-h100-bert-small", "kineto-h100-vit-nsfw",
                                   "kineto-mi300-bert-small"])
def test_busy_and_total_are_those_of_tracelens(trace):
    """TraceLens adds in doubles, whose steps are 0.24 ns here: from our events in doubles come its
    figures; in integers, as we add, those of the file's own decimals."""
    theirs = expected("tracelens-gpu-timeline")[trace]
    rows = [row for row in table(path_of(trace), "device_events") if row["type"] != "wait"]
    doubles = hta_figures.union((row["begin_ns"] / 1000,
                                 row["begin_ns"] / 1000 + (row["end_ns"] - row["begin_ns"]) / 1000)
                                for row in rows)
    assert hta_figures.length(doubles) / 1e3 == pytest.approx(theirs["busy_ms"], abs=1e-6)
    assert (doubles[-1][1] - doubles[0][0]) / 1e3 == pytest.approx(theirs["total_ms"], abs=1e-6)
    text = gzip.open(path_of(trace)).read()
    exact = hta_figures.union(
        (event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000)
        for event in json.loads(text, parse_float=Decimal)["traceEvents"]
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    ours, = table(path_of(trace), "device_timeline")
    assert ours["busy_ns"] == hta_figures.length(exact)
    assert ours["total_ns"] == exact[-1][1] - exact[0][0]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("kineto-*.json.gz")), ids=lambda p: p.stem)
def test_every_event_is_taken_in_with_its_duration(path):
    events = [e for e in json.loads(gzip.open(path).read())["traceEvents"]
              if e.get("ph") == "X" and e.get("cat") != "Trace"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep#")
             and e["cat"] == "user_annotation"]
    spans = sum(row["count"] for row in table(path, "functions"))
    operations = sum(e["cat"] == "user_annotation" and not e["name"].startswith(
        ("ProfilerStep#", "nccl:")) for e in events)
    assert spans + operations + len(steps) == len(events)
    assert len(table(path, "steps")) == len(steps)
    work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset",
                                              "mtia_ccp_events")]
    assert sum(row["count"] for row in table(path, "kernels")) == len(work)
    total_us = sum(e["dur"] for e in work)
    assert sum(row["total_ns"] for row in table(path, "kernels")) == pytest.approx(
        total_us * 1000, abs=len(work))


HTA_EDGES = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.analyzers.critical_path_analysis import CPEdgeType
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
rows = analysis.t.traces[0]
graph, good = analysis.critical_path_analysis(rank=0, annotation=sys.argv[2], instance_id=0)
assert good
edges = []
for start, end, data in graph.edges(data=True):
    one, other = (rows.loc[graph.node_list[node].ev_idx] for node in (start, end))
    edges.append([data["object"].type.name, int(one.ts), int(one.ts + one.dur), int(other.ts),
                  int(other.ts + other.dur)])
print("EDGES", json.dumps(edges))
"""


@pytest.fixture(scope="module")
def simple_add():
    return path_of("kineto-a100-simple-add")


@pytest.fixture(scope="module")
def hta_edges(simple_add):
    """Type to its edges: begin and end of the event that it leaves and of the one it reaches."""
    done = subprocess.run([sys.executable, "-c", HTA_EDGES, simple_add, "[param|cuda]"],
                          capture_output=True, text=True)
    line, = [line for line in done.stdout.splitlines() if line.startswith("EDGES ")]
    first = min(event["ts"] for event in events_of("kineto-a100-simple-add")
                if event.get("ph") == "X" and event["cat"] != "Trace")
    edges = {}
    for kind, *times in json.loads(line.removeprefix("EDGES ")):
        edges.setdefault(kind, []).append([(us + first) * 1000 for us in times])
    return edges


def waits_of(path):
    """(begin of the call, end of the work), with what is known of it."""
    return {(row["begin_ns"], row["work_end_ns"]): (row["waited_for"], row["known"])
            for row in table(path, "device_waits")}


def test_calls_wait_for_the_work_that_htas_edges_come_from(simple_add, hta_edges):
    theirs = {(call_begin, work_end)
              for _, work_end, call_begin, call_end in hta_edges["SYNC_DEPENDENCY"]
              if call_begin < work_end <= call_end}
    ours = waits_of(simple_add)
    assert theirs and theirs <= set(ours)
    assert {wait for wait, (_, known) in ours.items() if known == "recorded"} >= theirs


def test_launches_and_queues_of_the_path_are_edges_of_hta(simple_add, hta_edges):
    segments = [row for row in table(simple_add, "critical_path_segments")
                if row["kind"] in ("launch", "queued")]
    assert segments
    for kind, edges in (("launch", "KERNEL_LAUNCH_DELAY"), ("queued", "KERNEL_KERNEL_DELAY")):
        reached = {begin for _, _, begin, _ in hta_edges[edges]}
        assert {row["end_ns"] for row in segments if row["kind"] == kind} <= reached


def test_without_records_of_waits_the_work_is_named_all_the_same(simple_add, tmp_path):
    trace = json.loads(gzip.open(simple_add).read())
    trace["traceEvents"] = [event for event in trace["traceEvents"]
                            if event.get("cat") != "cuda_sync"]
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(trace))
    known = waits_of(simple_add)
    derived = waits_of(bare)
    assert {wait: name for wait, (name, how) in derived.items()} == {
        wait: name for wait, (name, how) in known.items()}
    assert "derived" in {how for _, how in derived.values()}


@pytest.mark.parametrize("name", ["kineto-h100-vit-nsfw", "kineto-h100-bert-small",
                                  "kineto-mi300-bert-small"])
def test_memory_is_what_the_events_of_the_file_say(name):
    events = [event for event in events_of(name) if event["name"] == "[memory]"]
    events.sort(key=lambda event: float(event["ts"]))
    assert len(events) > 200
    devices = {}
    for event in events:
        of = event["args"]["Device Type"], event["args"]["Device Id"]
        devices.setdefault(of, []).append(event["args"])
    rows = table(path_of(name), "memory")
    assert len(rows) == len(devices)
    for row, (_, args) in zip(rows, sorted(devices.items())):
        made = [one["Bytes"] for one in args if one["Bytes"] >= 0]
        assert (row["allocations"], row["frees"]) == (len(made), len(args) - len(made))
        assert row["allocated_bytes"] == sum(made)
        assert row["peak_bytes"] == max(one["Total Allocated"] for one in args)
        assert row["end_bytes"] == args[-1]["Total Allocated"]
        of_device = [[r for r in table(path_of(name), other) if r["device"] == row["device"]]
                     for other in ("memory_peak", "memory_operators")]
        assert sum(r["bytes"] for r in of_device[0]) == row["peak_bytes"]
        assert sum(r["self_bytes"] for r in of_device[1]) == sum(one["Bytes"] for one in args)
        assert sum(r["allocations"] for r in of_device[1]) == len(made)
