"""What an export says, read by its format's own reader: spans as a Counter of (name, begin, end) in
nanoseconds, and the values of counters. Steps are left out where the format draws them as spans."""

import collections
import gzip
import importlib.util
import json
import pathlib
import sys
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "formats"))
import xspace_reader  # noqa: E402


def whole(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def strict(path):
    """JSON as the standard has it: no NaN, no half a character, no key twice."""
    def refuse(word):
        raise AssertionError(f"not JSON: {word}")

    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)
    found = json.loads(whole(path).decode(), parse_constant=refuse, parse_float=Decimal,
                       object_pairs_hook=once)
    json.dumps(found, ensure_ascii=False, default=str).encode()
    return found


def nanoseconds(us):
    ns = Decimal(us) * 1000
    assert ns == int(ns), us
    return int(ns)


def chrome(path):
    spans, counters = collections.Counter(), collections.Counter()
    file = strict(path)
    base = file["baseTimeNanoseconds"]
    for event in file["traceEvents"]:
        if event["ph"] == "X" and event.get("args", {}).get("kind") != "step":
            begin = base + nanoseconds(event["ts"])
            spans[event["name"], begin, begin + nanoseconds(event["dur"])] += 1
        if event["ph"] == "C":
            (value,) = event["args"].values()
            counters[event["name"], base + nanoseconds(event["ts"]), value] += 1
    return spans, counters


# Arguments of Chrome's JSON and of XSpaces that the trace itself does not have.
ADDED = {"External id", "Record function id", "Ev Idx", "Python id", "Python parent id",
         "Python module id", "device", "stream", "correlation", "correlation_id", "layer",
         "_c", "_ct", "kernel_details", "tf_op", "finished"}


def with_args(name, begin, end, args):
    """A span as (name, begin, end, arguments), their values as texts."""
    return name, begin, end, frozenset((key, str(value)) for key, value in args.items()
                                       if key not in ADDED)


def chrome_args(path):
    file = strict(path)
    base = file["baseTimeNanoseconds"]
    out = collections.Counter()
    for event in file["traceEvents"]:
        args = event.get("args", {})
        if event["ph"] == "X" and args.get("kind") != "step":
            begin = base + nanoseconds(event["ts"])
            out[with_args(event["name"], begin, begin + nanoseconds(event["dur"]), args)] += 1
    return out


def chrome_beside(path):
    """Marks with their arguments, and arrows from span to span, as readers of the format bind their
    ends: to the innermost event of the row that is open then, its end excluded."""
    file = strict(path)
    base, events = file["baseTimeNanoseconds"], file["traceEvents"]
    marks, rows, ends = collections.Counter(), collections.defaultdict(list), {}
    for event in events:
        at = base + nanoseconds(event.get("ts", 0))
        row = rows[event["pid"], event["tid"]]
        if event["ph"] == "i" and event["s"] == "t":
            marks[with_args(event["name"], at, at, event.get("args", {}))] += 1
        if event["ph"] == "X" and event.get("args", {}).get("kind") != "step":
            row.append((event["name"], at, at + nanoseconds(event["dur"])))
        if event["ph"] in "sf":
            ends.setdefault((event["cat"], event["id"]), {})[event["ph"]] = (row, at)

    def innermost(end):
        row, at = end
        open_then = [one for one in row if one[1] <= at < one[2]]
        touching = [one for one in row if one[1] <= at <= one[2]]
        return max(open_then or touching, key=lambda one: (one[1], -one[2], row.index(one)))
    return marks, collections.Counter(
        (innermost(arrow["s"]), innermost(arrow["f"])) for arrow in ends.values())


def chrome_gaps(path):
    return strict(path)["crosscutGaps"]


def perfetto_messages(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
    trace = messages.Trace()
    trace.ParseFromString(path.read_bytes())
    return messages, trace


def perfetto_beside(path):
    """Marks with their arguments, arrows from span to span, and sentences."""
    messages, trace = perfetto_messages(path)
    event_of, texts = messages.TrackEvent, collections.defaultdict(dict)
    marks, gaps, tracks, open_ = collections.Counter(), [], {}, collections.defaultdict(list)
    begun, ending = {}, {}  # spans by the numbers of arrows
    for packet in trace.packet:
        for kind, field in (("event_names", "name"), ("debug_annotation_names", "name"),
                            ("debug_annotation_string_values", "str")):
            texts[kind].update((one.iid, getattr(one, field))
                               for one in getattr(packet.interned_data, kind))
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        name = texts["event_names"].get(event.name_iid)
        if event.type == event_of.TYPE_SLICE_BEGIN:
            span = [name, at]
            open_[event.track_uuid].append(span)
            begun.update((number, span) for number in event.flow_ids)
            ending.update((number, span) for number in event.terminating_flow_ids)
        if event.type == event_of.TYPE_SLICE_END:
            open_[event.track_uuid].pop().append(at)
        if event.type == event_of.TYPE_INSTANT:
            if tracks[event.track_uuid].name == "what is missing":
                gaps.append(name)
                continue
            args = {}
            for one in event.debug_annotations:
                value = getattr(one, one.WhichOneof("value"))
                if one.WhichOneof("value") == "string_value_iid":
                    value = texts["debug_annotation_string_values"][value].decode()
                args[texts["debug_annotation_names"][one.name_iid]] = value
            marks[with_args(name, at, at, args)] += 1
    assert set(begun) == set(ending)
    return marks, collections.Counter(
        (tuple(span), tuple(ending[number])) for number, span in begun.items()), gaps


def perfetto(path):
    messages, trace = perfetto_messages(path)
    spans, counters = collections.Counter(), collections.Counter()
    names, tracks, stacks = {}, {}, collections.defaultdict(list)
    event_of = messages.TrackEvent
    for packet in trace.packet:
        names.update((one.iid, one.name) for one in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        descriptor = tracks[event.track_uuid]
        if event.type == event_of.TYPE_SLICE_BEGIN:
            stacks[event.track_uuid].append((names[event.name_iid], packet.timestamp))
        elif event.type == event_of.TYPE_SLICE_END:
            name, begin = stacks[event.track_uuid].pop()
            if descriptor.name != "steps":
                spans[name, begin, packet.timestamp] += 1
        elif event.type == event_of.TYPE_COUNTER:
            counters[descriptor.name, packet.timestamp, event.counter_value] += 1
    assert not any(stacks.values())
    return spans, counters


def xspace(path):
    return collections.Counter(tuple(span) for *span, _ in xspace_spans(path)), None


def xspace_spans(path):
    """Each span that is no step nor a change of memory: name, begin, end, statistics."""
    planes = xspace_reader.decode(path.read_bytes()).get("planes", [])
    names = [plane.get("name") for plane in planes]
    assert len(set(names)) == len(names), f"its readers merge planes of one name: {names}"
    for plane in planes:
        names, keys = ({entry["key"]: entry["value"].get("name", "")
                        for entry in plane.get(part, [])} for part in ("events", "names"))
        for line in plane.get("lines", []):
            if line.get("name") == "Steps":
                continue
            for event in line.get("events", []):  # may be empty: what it counts is compared
                stats = {keys[stat["metadata_id"]]: stat for stat in event.get("stats", [])}
                if "step_num" in stats or "allocation_bytes" in stats:  # an instant [memory]
                    continue
                stats["device"] = plane["name"].startswith("/device:")
                begin = line.get("timestamp_ns", 0) * 1000 + event.get("offset_ps", 0)
                end = begin + event.get("duration_ps", 0)
                assert begin % 1000 == end % 1000 == 0
                yield names[event["metadata_id"]], begin // 1000, end // 1000, stats


def xspace_args(path):
    def value(stat):
        (found,) = (stat[key] for key in stat if key != "metadata_id")
        return found
    return collections.Counter(
        with_args(*span, {key: value(stat) for key, stat in stats.items() if key != "device"})
        for *span, stats in xspace_spans(path))


def xspace_launches(path):
    """From span to span: of a host's plane to one of a device."""
    out, ends = collections.Counter(), collections.defaultdict(lambda: ([], []))
    for name, begin, end, stats in xspace_spans(path):
        if "correlation_id" in stats:
            ends[stats["correlation_id"]["uint64"]][stats["device"]].append((name, begin, end))
    for callers, works in ends.values():  # may be empty: what it counts is compared
        assert len(callers) == 1, f"calls of one number: {callers}"
        (caller,) = callers
        out.update((caller, work) for work in works)
    return out


def xspace_gaps(path):
    return xspace_reader.decode(path.read_bytes()).get("warnings", [])


def speedscope_gaps(path):
    return strict(path)["crosscutGaps"]


def speedscope(path):
    file, spans = strict(path), collections.Counter()
    frames = [frame["name"] for frame in file["shared"]["frames"]]
    for profile in file["profiles"]:  # may be empty: the same
        stack, last = [], profile["startValue"]
        for event in profile["events"]:  # may be empty: what it counts is compared
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], event["at"]))
            else:
                frame, begin = stack.pop()
                assert frame == event["frame"]
                spans[frames[frame], begin, event["at"]] += 1
        assert not stack
    return spans, None


def collapsed(path):
    """ns by stack."""
    out = collections.Counter()
    lines = path.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    for line in lines:
        stack, _, ns = line.rpartition(" ")
        out[stack] += int(ns)
    return out


def profile_messages():
    """Google's own messages of pprof, which TensorFlow carries; None where it is not there."""
    found = sorted((ROOT / ".venv-tensorflow").glob(
        "lib/python*/site-packages/tensorflow/tsl/profiler/protobuf/profile_pb2.py"))
    if not found:
        return None
    spec = importlib.util.spec_from_file_location("profile_pb2", found[-1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pprof(path):
    """ns by stack, the outermost name first."""
    profile = profile_messages().Profile()
    profile.ParseFromString(whole(path))
    texts = profile.string_table
    names = {one.id: texts[one.name] for one in profile.function}
    places = {one.id: names[one.line[0].function_id] for one in profile.location}
    out = collections.Counter()
    for sample in profile.sample:
        out[tuple(places[at] for at in reversed(sample.location_id))] += sample.value[-1]
    return out


def pprof_gaps(path):
    profile = profile_messages().Profile()
    profile.ParseFromString(whole(path))
    return [profile.string_table[number] for number in profile.comment[1:]]


# Those with sentences in them; how many arrows stand where readers may take them for others.
GAPS = {"chrome": chrome_gaps, "perfetto": lambda path: perfetto_beside(path)[2],
        "xspace": xspace_gaps, "speedscope": speedscope_gaps, "pprof-spans": pprof_gaps}
ARGS = {"chrome": chrome_args, "xspace": xspace_args}
SPANS = {"chrome": chrome, "perfetto": perfetto, "xspace": xspace, "speedscope": speedscope}
