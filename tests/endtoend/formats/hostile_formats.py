"""Writes a scene (hostile_scenes.py) in each format that is read. Each function takes the scene and
a path without extension and gives the path of what it wrote, and how many bytes of input that is:
where it is compressed, what it unpacks to."""

import gzip
import json
import pathlib
import re
import struct
import subprocess

import xspace_reader

ROOT = pathlib.Path(__file__).resolve().parents[3]
WRITE_LOG = ROOT / "build" / "release" / "tests" / "endtoend" / "formats" / "write_log"

CATEGORIES = {"span": "cpu_op", "operation": "user_annotation", "step": "user_annotation",
              "launch": "cuda_runtime", "kernel": "kernel"}


def step_name(span):
    return span.name.replace("step#", "ProfilerStep#")


def micro(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def chrome_events(scene):
    for process in scene:
        for track in process.tracks:
            for span in track.spans:
                event = {"ph": "X", "cat": CATEGORIES[span.kind], "name": step_name(span),
                         "pid": track.device if track.device >= 0 else process.pid,
                         "tid": track.number}
                if span.args:
                    event["args"] = dict(span.args)
                if span.kind == "kernel":
                    event["args"] |= {"device": track.device, "stream": track.number}
                text = json.dumps(event)
                yield (f'{text[:-1]}, "ts": {micro(span.begin)}, '
                       f'"dur": {micro(span.end - span.begin)}}}')
            for name, at, args in track.instants:
                yield json.dumps({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": name,
                                  "pid": process.pid, "tid": track.number, "args": args,
                                  "ts": at / 1000})
        for name, at, value in process.counters:
            yield json.dumps({"ph": "C", "name": name, "pid": process.pid, "ts": at / 1000,
                              "args": {"value": value}})
        for number, out, left, into, arrived in process.flows:
            for ph, thread, at in (("s", out, left), ("f", into, arrived)):
                yield json.dumps({"ph": ph, "id": number, "pid": process.pid, "tid": thread,
                                  "ts": at / 1000, "cat": "flow", "name": "flow"})


def chrome(scene, path):
    path = path.with_suffix(".json")
    with path.open("w") as out:
        out.write('{"traceEvents": [\n')
        out.write(",\n".join(chrome_events(scene)))
        out.write("\n]}\n")
    return path, path.stat().st_size


def chrome_gz(scene, path):
    plain, size = chrome(scene, path)
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    plain.unlink()
    return packed, size


def edges(track):
    """Begins and ends in the order in which a stack takes them."""
    open_spans = []
    for span in sorted(track.spans, key=lambda span: (span.begin, -span.end)):
        while open_spans and open_spans[-1].end <= span.begin:
            ended = open_spans.pop()
            yield "E", ended.end, ended
        yield "B", span.begin, span
        open_spans.append(span)
    for ended in reversed(open_spans):
        yield "E", ended.end, ended


def chrome_edges(scene, path):
    """Begins and ends, as VizTracer and others write them."""
    path = path.with_suffix(".edges.json")
    with path.open("w") as out:
        out.write("[")
        comma = ""
        for process in scene:
            for track in process.tracks:
                for ph, at, span in edges(track):
                    out.write(f'{comma}{{"ph": "{ph}", "cat": "FEE", "pid": {process.pid}, "tid": '
                              f'{track.number}, "ts": {micro(at)}, "name": '
                              f'{json.dumps(span.name)}}}\n')
                    comma = ","
        out.write("]")
    return path, path.stat().st_size


def quoted(text):
    return f'"{text}"'


def text(scene, path):
    path = path.with_suffix(".txt")
    with path.open("w") as out:
        out.write("# crosscut trace\n")
        for process in scene:
            spans = [span for track in process.tracks for span in track.spans]
            window = f"{min(s.begin for s in spans)}..{max(s.end for s in spans)}"
            out.write(f"process p{process.pid} pid={process.pid} window={window}\n")
            for track in process.tracks:
                text_track(process, track, out)
            for name, at, value in process.counters:
                out.write(f"count {name} {at} {value}\n")
    return path, path.stat().st_size


def text_track(process, track, out):
    if track.device >= 0:
        out.write(f"device s{track.number} device={track.device} stream={track.number}\n")
    else:
        out.write(f"thread t{track.number} tid={track.number} base=python\n")
    for span in track.spans:
        what = {"operation": "op", "step": "step"}.get(span.kind, "span")
        layer = "" if what != "span" else " device" if track.device >= 0 else " framework"
        out.write(f"{what} {quoted(span.name)} {span.begin} {span.end}{layer}\n")
        for key, value in span.args.items():
            out.write(f"arg {key} {value}\n")
    for name, at, args in track.instants:
        out.write(f"instant {quoted(name)} {at}\n")
        for key, value in args.items():
            out.write(f"arg {quoted(key)} {quoted(value) if isinstance(value, str) else value}\n")
    for number, source, left, into, arrived in process.flows:
        if source == track.number:
            out.write(f"out {number} {left}\n")
        if into == track.number:
            out.write(f"in {number} {arrived}\n")


# ---- XSpace ------------------------------------------------------------------------------------

class Ids:
    def __init__(self):
        self.of = {}

    def __call__(self, name):
        return self.of.setdefault(name, len(self.of) + 1)

    def entries(self):
        return [{"key": number, "value": {"id": number, "name": name}}
                for name, number in self.of.items()]


def xspace_line(track, names, keys):
    start = min((span.begin for span in track.spans), default=0)
    events = []
    for span in track.spans:
        stats = [{"metadata_id": keys(key), ("text" if isinstance(value, str) else "int64"): value}
                 for key, value in span.args.items()]
        if span.kind == "step":
            stats += [{"metadata_id": keys("_r"), "int64": 1},
                      {"metadata_id": keys("step_num"),
                       "int64": int(re.search(r"\d+", span.name)[0])}]
        events.append({"metadata_id": names("train" if span.kind == "step" else span.name),
                       "offset_ps": min((span.begin - start) * 1000, 2**62),
                       "duration_ps": min((span.end - span.begin) * 1000, 2**62), "stats": stats})
    name = f"Stream #{track.number}(Kernel)" if track.device >= 0 else f"thread {track.number}"
    return {"id": track.number, "name": name, "timestamp_ns": start, "events": events}


def xspace(scene, path):
    path = path.with_suffix(".xplane.pb")
    planes = []
    for process in scene:
        of_device = {}
        for track in process.tracks:
            of_device.setdefault(track.device, []).append(track)
        for device, tracks in of_device.items():
            names, keys = Ids(), Ids()
            lines = [xspace_line(track, names, keys) for track in tracks]
            planes.append({"name": "/host:CPU" if device < 0 else f"/device:GPU:{device}",
                           "lines": lines, "events": names.entries(), "names": keys.entries()})
    path.write_bytes(xspace_reader.encode({"planes": planes}))
    return path, path.stat().st_size


# ---- a recorded run ----------------------------------------------------------------------------

(END, BEGIN_WIDE, END_NAMED, COUNTER, ARG, ARG_NAME, FLOW_OUT, FLOW_IN, SPAN_AT, STEP_LEVEL, THREAD,
 NAME, ANCHOR, START, TRACK, SPAN_ON, ARG_ON) = (
    1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 16, 0x20, 0x21, 0x27, 0x28, 0x18, 0x1b)
KINDS = {"span": 0x200, "launch": 0x300, "kernel": 0xa00, "operation": 1, "step": 2}
MOST_TICKS = 2**63
MOST_NAME = 2**20  # bytes: kMaxTextBytes


def padded(data):
    return data + b"\0" * (-len(data) % 8)


class Log:
    """The words of one process; a tick is a nanosecond."""

    def __init__(self):
        self.ids, self.session, self.streams = {}, [], {}

    def name(self, text, kind):
        number = self.ids.setdefault((text, kind), len(self.ids) + 0x100)
        if number == len(self.ids) + 0xff and (text, kind) in self.ids:
            data = text.encode()[:MOST_NAME]
            self.session.append(self.words(0, NAME, number, KINDS.get(kind, 4), len(data))
                                + padded(data))
        return number

    @staticmethod
    def words(tick, code, *payload):
        tick = max(0, min(tick, MOST_TICKS - 1))
        return struct.pack(f"<{1 + len(payload)}Q", (tick << 16 | code) & (2**64 - 1),
                           *(word & (2**64 - 1) for word in payload))

    def add(self, stream, tick, code, *payload):
        self.streams.setdefault(stream, []).append(self.words(tick, code, *payload))


def native(scene, path):
    path.mkdir()
    (path / "run.json").write_text('{"format": 1, "started_realtime_ns": 7}')
    size = 0
    for process in scene:
        log = Log()
        log.session += [log.words(0, START, 0), log.words(0, ANCHOR, 0, 0, 0, 10),
                        log.words(10**9, ANCHOR, 0, 10**9, 10**9, 10)]
        host = [track for track in process.tracks if track.device < 0]
        for number, track in enumerate(host, 1):
            native_thread(log, process, number, track)
        for number, track in enumerate(process.tracks, 1):
            if track.device >= 0:
                native_device(log, number, track)
        size += write_log(path / f"p{process.pid}.crosscut", process.pid, log)
    return path, size


def native_thread(log, process, number, track):
    log.add(number, 0, THREAD, number, track.number, 1 | 256 * (number == 1), 0)
    for what, at, span in edges(track):
        name = log.name(span.name.split("#")[0] if span.kind == "step" else span.name, span.kind)
        if what == "E":
            log.add(number, at, END_NAMED if span.kind in ("operation", "step") else END,
                    *([name] if span.kind in ("operation", "step") else []))
            continue
        log.add(number, at, BEGIN_WIDE, name)
        for key, value in span.args.items():
            key = log.name(key, "text")
            text = isinstance(value, str)
            log.add(number, at, ARG_NAME if text else ARG, key,
                    log.name(value, "text") if text else value)
    if number == 1:
        for name, at, value in process.counters:
            log.add(number, at, COUNTER, log.name(name, "span"), value)
    for arrow, source, left, into, arrived in process.flows:
        if source == track.number:
            log.add(number, left, FLOW_OUT, arrow)
        if into == track.number:
            log.add(number, arrived, FLOW_IN, arrow)


def native_device(log, number, track):
    log.session.append(log.words(0, TRACK, number, track.device, track.number, 0,
                                 log.name(f"s{track.number}", "text"), 0))
    for span in track.spans:
        log.add(1, span.begin, SPAN_ON, number, log.name(span.name, span.kind), span.begin,
                span.end)
        for key, value in span.args.items():
            log.add(1, span.begin, ARG_ON, number, log.name(key, "text"), value)


def write_log(path, pid, log):
    streams = {0: log.session, **log.streams}
    data = b"".join(struct.pack("<IIQ", stream, 0, sum(map(len, events)) // 8) + b"".join(events)
                    for stream, events in streams.items())
    subprocess.run([WRITE_LOG, path, str(5_000_000 + pid)], input=data, check=True)
    return max(len(data), path.stat().st_size)


FORMATS = {"chrome": chrome, "chrome_gz": chrome_gz, "chrome_edges": chrome_edges, "text": text,
           "xspace": xspace, "native": native}
