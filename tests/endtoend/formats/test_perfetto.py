"""`export --to=perfetto`, read back by Perfetto's own messages."""

import json

import pytest
from runs import ROOT, crosscut, record, record_script, table

perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
Event = perfetto.TrackEvent

KINETO = {
    "schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    "deviceProperties": [{"id": 0, "name": "CHIP 9"}],
    "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 9, "tid": 9,
         "ts": 1, "dur": 40},
        {"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 9, "tid": 9, "ts": 2,
         "dur": 20.001},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 3, "dur": 10,
         "args": {"External id": 1, "Input Dims": [[2, 2], []]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5,
         "dur": 2, "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20.5, "dur": 4,
         "args": {"stream": 7, "correlation": 5}},
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 4,
         "args": {"Bytes": -512}},
        {"ph": "C", "name": "power", "pid": 9, "ts": 6, "args": {"W": 70}},
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python3"}},
    ]}


class Read:
    """A file as Perfetto reads it: slices with their tracks, instants, counters, flows."""

    def __init__(self, path):
        trace = perfetto.Trace()
        trace.ParseFromString(path.read_bytes())
        self.tracks, self.slices, self.instants, self.counters = {}, [], [], []
        self.leaving, self.arriving = {}, {}
        names, categories, keys, texts, open_slices = {}, {}, {}, {}, {}
        for packet in trace.packet:
            for kind, known in (("event_names", names), ("event_categories", categories),
                                ("debug_annotation_names", keys)):
                known.update((entry.iid, entry.name)
                             for entry in getattr(packet.interned_data, kind))
            texts.update((entry.iid, entry.str.decode())
                         for entry in packet.interned_data.debug_annotation_string_values)
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("clock_snapshot"):
                self.clocks = {clock.clock_id: clock.timestamp
                               for clock in packet.clock_snapshot.clocks}
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            stack = open_slices.setdefault(event.track_uuid, [])
            args = {keys[a.name_iid]: texts.get(a.string_value_iid, a.int_value)
                    for a in event.debug_annotations}
            if event.type == Event.TYPE_SLICE_BEGIN:
                slice_ = {"name": names[event.name_iid], "begin": packet.timestamp, "args": args,
                          "category": categories[event.category_iids[0]], "depth": len(stack),
                          "track": event.track_uuid}
                for flow in event.flow_ids:
                    self.leaving[flow] = slice_["name"]
                for flow in event.terminating_flow_ids:
                    self.arriving[flow] = slice_["name"]
                stack.append(slice_)
                self.slices.append(slice_)
            elif event.type == Event.TYPE_SLICE_END:
                stack.pop()["end"] = packet.timestamp
            elif event.type == Event.TYPE_INSTANT:
                self.instants.append((names[event.name_iid], packet.timestamp, args))
            else:
                self.counters.append((self.tracks[event.track_uuid].name, packet.timestamp,
                                      event.counter_value))
        assert not any(open_slices.values())

    def path(self, uuid):
        """Names of a track and those it lies in, outermost first."""
        descriptor = self.tracks[uuid]
        name = (descriptor.name or descriptor.thread.thread_name or
                descriptor.process.process_name)
        if descriptor.parent_uuid:
            return [*self.path(descriptor.parent_uuid), name]
        return [name]


def test_an_imported_trace_goes_out_with_every_nanosecond_name_and_arrow(tmp_path):
    source, out = tmp_path / "trace.json", tmp_path / "trace.pftrace"
    source.write_text(json.dumps(KINETO))
    crosscut("export", source, "--to=perfetto", "-o", out)
    read = Read(out)
    seen = {s["name"]: s for s in read.slices}
    assert {name: (s["begin"], s["end"], s["depth"], s["category"])
            for name, s in seen.items()} == {
        "step": (1000, 41000, 0, "step"), "forward": (2000, 22001, 0, "operation"),
        "aten::mm": (3000, 13000, 1, "framework"), "cudaLaunchKernel": (5000, 7000, 2, "runtime"),
        "gemm": (20500, 24500, 0, "device")}
    assert seen["aten::mm"]["args"] == {"External id": 1, "Input Dims": "[[2, 2], []]"}
    assert read.path(seen["gemm"]["track"]) == ["python3", "device 0 (CHIP 9)", "stream 7"]
    assert read.tracks[seen["aten::mm"]["track"]].thread.tid == 9
    assert read.leaving == {1: "cudaLaunchKernel"} and read.arriving == {1: "gemm"}
    assert read.instants == [("[memory]", 4000, {"Bytes": -512})]
    assert read.counters == [("power", 6000, 70)]
    assert read.clocks[1] - read.clocks[6] == KINETO["baseTimeNanoseconds"]


def innermost(events, place, at):
    """The event of a row that is open at a time, the one that began last; as its name."""
    open_then = [(ts, -dur, name) for row, ts, dur, name in events
                 if row == place and ts <= at < ts + max(dur, 1)]
    return max(open_then)[2] if open_then else None


def arrows_of_json(path):
    """(from, to) of the arrows that Perfetto's reader of JSON shows: both ends lie inside an event,
    and the second is no earlier than the first."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = [((e["pid"], e["tid"]), round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"])
             for e in events if e["ph"] == "X"]
    begun = {}
    shown = []
    flows = [e for e in events if e["ph"] in ("s", "f")]
    for event in sorted(flows, key=lambda e: round(e["ts"] * 1000)):  # stable: a begin comes first
        name = innermost(spans, (event["pid"], event["tid"]), round(event["ts"] * 1000))
        if event["ph"] == "s":
            begun[event["cat"], event["id"]] = name
        elif begun.get((event["cat"], event["id"])) and name:
            shown.append((begun[event["cat"], event["id"]], name))
    return sorted(shown)


def arrows_of_proto(path):
    read = Read(path)
    return sorted((read.leaving[flow], read.arriving[flow])
                  for flow in read.leaving.keys() & read.arriving.keys())


def test_both_exports_show_the_same_arrows(tmp_path):
    saxpy = ROOT / "build" / "release" / "examples" / "opencl_saxpy"
    if not saxpy.exists():
        pytest.skip("the OpenCL example is not built")
    run = tmp_path / "run"
    assert record(run, [saxpy]).returncode == 0
    crosscut("export", run, "--to=chrome", "-o", tmp_path / "trace.json")
    crosscut("export", run, "--to=perfetto", "-o", tmp_path / "trace.pftrace")
    arrows = arrows_of_proto(tmp_path / "trace.pftrace")
    assert len(arrows) > 20
    assert arrows_of_json(tmp_path / "trace.json") == arrows


PROGRAM = """
import crosscut
for i in range(30):
    crosscut.step()
    with crosscut.operation("work"):
        with crosscut.operation("part"):
            sum(range(1000))
"""


def test_a_recorded_run_goes_out_whole(tmp_path):
    run, out = tmp_path / "run", tmp_path / "run.pftrace"
    record_script(run, PROGRAM, "--python=calls", "--control-steps=0")
    crosscut("export", run, "--to=perfetto", "-o", out)
    read = Read(out)
    # The table counts an instant once per name and thread, however deep a function calls itself.
    totals, until = {}, {}
    for slice_ in sorted(read.slices, key=lambda s: (s["begin"], -s["end"])):
        if slice_["category"] not in ("operation", "step", "control"):
            key = (slice_["name"], slice_["category"])
            place = (read.path(slice_["track"])[0], key)  # its thread, whichever row
            begin = max(slice_["begin"], until.get(place, 0))
            totals[key] = totals.get(key, 0) + max(0, slice_["end"] - begin)
            until[place] = max(begin, slice_["end"])
    functions = {(row["name"], row["layer"] or "span"): row["total_ns"]
                 for row in table(run, "functions")}
    assert totals == functions
    assert sum(s["name"] == "part" for s in read.slices) == 30
    assert sum(s["category"] == "step" for s in read.slices) == len(table(run, "steps"))


CROSSING = """
import crosscut
def enter(scope):
    scope.__enter__()
def leave(scope):
    scope.__exit__(None, None, None)
whole = crosscut.operation("whole")
enter(whole)
for i in range(40):
    crosscut.step()
    scope = crosscut.operation("scope")
    enter(scope)
    sum(range(1000))
    leave(scope)
leave(whole)
"""


def test_scopes_that_cross_functions_and_changes_of_level_are_one_slice_each(tmp_path):
    run, out = tmp_path / "run", tmp_path / "run.pftrace"
    record_script(run, CROSSING, "--python=calls", "--plan=balanced")
    crosscut("export", run, "--to=perfetto", "-o", out)
    crosscut("export", run, "--to=chrome", "-o", tmp_path / "run.json")
    counts = {row["operation"]: row["count"] for row in table(run, "operations")}
    assert counts["whole"] == 1 and counts["scope"] > 20  # control steps have none
    read = Read(out)
    slices = sorted((s["name"], s["end"] - s["begin"]) for s in read.slices
                    if s["category"] == "operation")
    assert [name for name, _ in slices] == ["scope"] * counts["scope"] + ["whole"]
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert slices == sorted((e["name"], round(e["dur"] * 1000)) for e in events
                            if e["ph"] == "X" and e["name"] in counts)
    assert sum(len(read.path(s["track"])) > 1 for s in read.slices if s["name"] == "scope") > 0
