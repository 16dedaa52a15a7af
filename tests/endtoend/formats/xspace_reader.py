"""Another reader of XSpaces: protobuf's wire format and docs/xspace.md, slowly and plainly. It
shares nothing with the reader under test. It writes spaces, too, for those that were mutated."""

import collections
import itertools
import re
import struct

FARTHEST = 2**61
VARINT, FIXED, BYTES = 0, 1, 2

# name: (number, kind); a kind in a list is repeated, a text is the message's.
SPACE = {"planes": (1, ["plane"]), "errors": (2, [str]), "warnings": (3, [str]),
         "hostnames": (4, [str])}
PLANE = {"id": (1, int), "name": (2, str), "lines": (3, ["line"]), "events": (4, ["event_entry"]),
         "names": (5, ["stat_entry"]), "stats": (6, ["stat"])}
LINE = {"id": (1, int), "name": (2, str), "timestamp_ns": (3, int), "events": (4, ["event"]),
        "duration_ps": (9, int), "display_id": (10, int), "display_name": (11, str)}
EVENT = {"metadata_id": (1, int), "offset_ps": (2, int), "duration_ps": (3, int),
         "stats": (4, ["stat"]), "occurrences": (5, int)}
STAT = {"metadata_id": (1, int), "double": (2, float), "uint64": (3, int), "int64": (4, int),
        "text": (5, str), "bytes": (6, bytes), "ref": (7, int)}
EVENT_ENTRY = {"key": (1, int), "value": (2, "event_metadata")}
STAT_ENTRY = {"key": (1, int), "value": (2, "stat_metadata")}
EVENT_METADATA = {"id": (1, int), "name": (2, str), "metadata": (3, bytes),
                  "display_name": (4, str), "stats": (5, ["stat"])}
STAT_METADATA = {"id": (1, int), "name": (2, str)}
SCHEMA = {"plane": PLANE, "line": LINE, "event": EVENT, "stat": STAT, "event_entry": EVENT_ENTRY,
          "stat_entry": STAT_ENTRY, "event_metadata": EVENT_METADATA,
          "stat_metadata": STAT_METADATA, "space": SPACE}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (2**64 - 1), at


def decode(data, kind="space"):
    fields = {number: (name, of) for name, (number, of) in SCHEMA[kind].items()}
    message, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == FIXED:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        else:
            assert wire == BYTES, wire
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        if tag >> 3 not in fields:
            continue
        name, of = fields[tag >> 3]
        inner = of[0] if isinstance(of, list) else of
        if isinstance(inner, str):
            value = decode(value, inner)
        elif inner is str:
            value = value.decode()
        elif inner is int and name not in ("uint64", "ref") and value >= 2**63:
            value -= 2**64
        if isinstance(of, list):
            message.setdefault(name, []).append(value)
        else:
            message.pop(name, None)  # fields stand in the order in which they came last
            message[name] = value
    return message


def put_varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(message, kind="space"):
    out = []
    for name, value in message.items():
        number, of = SCHEMA[kind][name]
        inner = of[0] if isinstance(of, list) else of
        for one in value if isinstance(of, list) else [value]:
            if inner is int:
                out.append(put_varint(number << 3 | VARINT) + put_varint(one))
            elif inner is float:
                out.append(put_varint(number << 3 | FIXED) + struct.pack("<d", one))
            else:
                data = (encode(one, inner) if isinstance(inner, str) else
                        one.encode() if inner is str else one)
                out.append(put_varint(number << 3 | BYTES) + put_varint(len(data)) + data)
    return b"".join(out)


# ---- what docs/xspace.md says of it ------------------------------------------------------------

DERIVED = {"Steps", "XLA Modules", "XLA TraceMe", "Framework Ops", "Framework Name Scope",
           "Source code", "Launch Stats", "Host Offload Ops"}
DATA = ("Iterator", "MakeIterator", "PrefetchProduce", "PrefetchConsume", "tf_data",
        "PrefetchedH2D", "InfeedEnqueue")
COMM = ("AllReduce", "AllGather", "ReduceScatter", "Collective", "Nccl", "nccl")
XLA = r"(all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|send|recv)"


def layer_of(name):
    if name.startswith("$"):
        return "python"
    before, colon, kind = name.rpartition(":")  # "model/dense/Relu:MatMul"
    if colon and before and kind and before[-1] != ":" and kind[0] != " ":
        name = kind
    if re.match(r"(cu|ze|cl)[A-Z]", name):
        return "runtime"
    for prefixes, layer in ((DATA, "data"), (("cuda", "hip", "hsa_"), "runtime"), (COMM, "comm")):
        if name.startswith(prefixes):
            return layer
    return "comm" if re.match(XLA + r"($|\.|-start|-done)", name) else "framework"


def to_ns(timestamp_ns, ps):
    return timestamp_ns + (2 * ps + 1000) // 2000


class Span:
    def __init__(self, begin, end, name, layer, stats):
        self.begin, self.end, self.name, self.layer, self.stats = begin, end, name, layer, stats
        self.inner = 0  # time of what lies in it

    def number(self, key):
        value = self.stats.get(key)
        return value if isinstance(value, int) else None


class Space:
    """Rows of spans, steps, and how much of it is no good."""

    def __init__(self, data):
        space = decode(data)
        self.told = collections.Counter()
        self.lanes = []  # (device or None, stream, spans)
        self.changes = []  # of memory: (time, allocator or None, bytes or None, held or None)
        self.start = self.stop = self.pid = 0
        self.steps = []
        self.devices = numbers_of([plane.get("name", "") for plane in space.get("planes", [])])
        for plane in space.get("planes", []):
            self.take_plane(plane)
        self.end_steps()

    def take_plane(self, plane):
        self.names = {entry.get("key", 0): entry.get("value", {}).get("name", "")
                      for entry in plane.get("names", [])}
        self.events = {entry.get("key", 0): entry.get("value", {})
                       for entry in plane.get("events", [])}
        for stat in plane.get("stats", []):
            name, number = self.names.get(stat.get("metadata_id", 0), ""), number_of(stat)
            for key, field in (("profile_start_time", "start"), ("profile_stop_time", "stop"),
                               ("process_id", "pid")):
                if name == key:
                    setattr(self, field, number or 0)
        name = plane.get("name", "")
        device = name in self.devices
        lines = plane.get("lines", [])
        streams = any(line.get("name", "").startswith("Stream #") for line in lines)
        for line in lines:
            title = line.get("name", "")
            derived = (0xdeadbeef <= line.get("id", 0) <= 0xdeadbeef + 388 or title in DERIVED
                       or streams and ("XLA " in title or title.startswith("_")))
            if not (device and derived):
                self.take_line(line, self.devices[name] if device else None)

    def take_line(self, line, device):
        at = line.get("timestamp_ns", 0)
        if abs(at) >= FARTHEST:
            self.told["far lines"] += 1
            return
        spans = []
        for event in line.get("events", []):
            offset, length = event.get("offset_ps", 0), event.get("duration_ps", 0)
            when = [key for key in event if key in ("offset_ps", "occurrences")]
            if when and when[-1] == "occurrences":  # one of the two: the last counts
                self.told["sums"] += 1
                continue
            if not (0 <= length < FARTHEST and abs(offset) < FARTHEST):
                self.told["far events"] += 1
                continue
            known = self.events.get(event.get("metadata_id", 0), {})
            name = known.get("name", "")
            if device is None and name.startswith(("ThreadpoolListener::", "end: ")):
                continue
            if device is not None:
                name = known.get("display_name", "") or name
            stats, texts = {}, {}
            for stat in known.get("stats", []) + event.get("stats", []):
                key = self.names.get(stat.get("metadata_id", 0), "")
                stats[key] = number_of(stat)
                if "text" in stat or "ref" in stat:
                    texts[key] = stat.get("text", self.names.get(stat.get("ref"), ""))
            if device is None and name in ("MemoryAllocation", "MemoryDeallocation"):
                self.change(to_ns(at, offset), name, stats, texts)
                continue
            spans.append(Span(to_ns(at, offset), to_ns(at, offset + length), name,
                              "device" if device is not None else layer_of(name), stats))
        spans.sort(key=lambda span: (span.begin, -span.end))
        lanes, apart = [], device is not None and crosses(spans)
        for span in spans:
            self.place(span, lanes, apart)
            number = span.number("step_num")
            if (span.number("_r") or 0) >= 1 and number is not None and number >= 0:
                self.steps.append([span.begin, span.end, number, span.name])
        stream = line.get("display_id", 0) or line.get("id", 0)
        self.lanes += [(device, stream, lane) for lane, _ in lanes]

    def change(self, at, name, stats, texts):
        amounts = {key: number for key, number in stats.items()
                   if number is not None and number >= 0}
        size, frees = amounts.get("allocation_bytes"), name == "MemoryDeallocation"
        if size is None or frees and size == 0:
            self.told["no bytes"] += 1
            size = None
        held = amounts.get("bytes_allocated")
        if held is not None:
            held += amounts.get("bytes_reserved", 0)
        self.changes.append((at, texts.get("allocator_name") or "(no name)",
                             size if size is None or not frees else -size, held))

    @staticmethod
    def place(span, lanes, apart):
        """On the first lane in which it nests; `apart`: on which nothing else runs."""
        for spans, open_ in lanes:
            while open_ and open_[-1].end <= span.begin:
                open_.pop()
            if not open_ or not apart and span.end <= open_[-1].end:
                break
        else:
            spans, open_ = [], []
            lanes.append((spans, open_))
        if open_:
            open_[-1].inner += span.end - span.begin
        spans.append(span)
        open_.append(span)

    def end_steps(self):
        self.steps.sort(key=lambda step: step[0])
        for step, after in zip(self.steps, self.steps[1:]):
            if step[1] > after[0]:
                step[1] = after[0]
                self.told["cut steps"] += 1


def crosses(spans):
    """Whether two overlap and neither lies in the other; they come by begin, the longest first."""
    running = []
    for span in spans:
        running = [other for other in running if other.end > span.begin]
        if any(other.end < span.end for other in running):
            return True
        running.append(span)
    return False


def numbers_of(planes):
    """Of devices, by plane: what the planes say, and free ones."""
    planes = list(dict.fromkeys(name for name in planes if name.startswith(("/device:", "#Chip"))))
    said = {name: re.search(r"^(.*):(-?\d+)[^:]*$", name, re.DOTALL) for name in planes}
    said = {name: (match[1], int(match[2])) if match and abs(int(match[2])) < 2**63 else None
            for name, match in said.items()}
    numbers, kinds = {}, {}
    for name in sorted(planes, key=lambda name: said[name] is None):
        kind, number = said[name] or (name, 0)
        after = itertools.count(1_000_000 if said[name] else 1)
        while number in kinds and not (said[name] and kinds[number] == kind):
            number = next(after)
        numbers[name], kinds[number] = number, kind
    return numbers


def number_of(stat):
    """What it says as an integer of 64 bits with a sign; None: it is none."""
    number = stat.get("int64", stat.get("uint64"))
    return number if number is not None and number < 2**63 else None
