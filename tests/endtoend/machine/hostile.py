"""Hostile traces, drawn by seed: names of any bytes, ids of any size, ties, empty and crossing
spans, times below 0 and beyond 2^53, parts in any order, two of everything.

A scene is what happened; `text` writes it as the trace that Crosscut reads (src/trace/text.h).
"""

import dataclasses
import random

HOST = ("python", "framework", "runtime", "simulator", "data", "comm", "native", "overhead")
LAYERS = (*HOST, "idle", "device", "none")
FARTHEST = 2**61  # what a time may be
NAMES = [b"a", b"b", b"plain", b"caf\xc3\xa9", b"\xff\xfe", b"\xff", b"a;b c",
         b"=cmd|' /C calc'!A0", b"\x1b[2J", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"</script>&'",
         b"\xe2\x80\xae", b"\t", b"x\x00y", b"\xc0\x80", b"a.py:1: f", b"aten::add",
         b"cudaLaunchKernel", b"Memcpy HtoD", b"ncclKernel_AllReduce", b"[memory]",
         b"ProfilerStep#3", b"a (2)", b"(none)", b"-1", b"+", b"a+b", b"\\", b"%s%n", b"nan",
         b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"long " * 60]


@dataclasses.dataclass
class Span:
    name: bytes
    begin: int
    end: int
    layer: str = "none"
    operation: bool = False
    waits: bool = False
    args: list = dataclasses.field(default_factory=list)  # (key, value)


@dataclasses.dataclass
class Step:
    begin: int
    end: int
    number: int
    level: int = 3
    switch: bool = False


@dataclasses.dataclass
class Track:
    kind: str  # thread, device, async
    name: bytes
    os_id: int
    life: tuple
    device: int = 0
    main: bool = False
    lead: bool = False
    ours: bool = False
    base: list = dataclasses.field(default_factory=list)  # (at, layer), by time
    spans: list = dataclasses.field(default_factory=list)  # in any order
    steps: list = dataclasses.field(default_factory=list)
    instants: list = dataclasses.field(default_factory=list)  # (name, at, args)
    losses: list = dataclasses.field(default_factory=list)    # (reason, count, begin, end)
    arrows: list = dataclasses.field(default_factory=list)    # (out or in, number, at)
    phases: list = dataclasses.field(default_factory=list)    # (name, begin, end)


@dataclasses.dataclass
class Process:
    key: bytes
    pid: int
    window: tuple
    pauses: list = dataclasses.field(default_factory=list)
    tracks: list = dataclasses.field(default_factory=list)
    counters: list = dataclasses.field(default_factory=list)  # (name, at, value)
    facts: list = dataclasses.field(default_factory=list)     # (name, value)
    probes: list = dataclasses.field(default_factory=list)    # their names


def cleaned(name):
    """The text that bytes become where they enter."""
    return name.decode("utf-8", "replace")


class Drawer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.chance = lambda share: self.random.random() < share
        self.start = self.random.choice([0, 0, 5, -40, 2**53 - 7, 2**53 + 1, 1_700_000_000 * 10**9,
                                         -2**60, 2**60])
        self.unit = self.random.choice([1, 1, 1, 1000, 997, 10**9])
        self.wide = self.random.choice([20, 60, 60, 300])

    def name(self):
        draw = self.random
        if self.chance(0.5):
            return draw.choice(NAMES[:4])
        name = b"".join(draw.choice(NAMES) for _ in range(draw.choice([1, 1, 2])))
        if self.chance(0.1):
            name += bytes(byte for byte in draw.randbytes(3) if byte not in b'"\n')
        return name

    def at(self):
        return self.start + self.unit * self.random.randrange(-3, self.wide + 4)

    def range(self):
        begin, end = sorted((self.at(), self.at()))
        return (begin, begin if self.chance(0.1) else end)

    def id(self):
        return self.random.choice([0, 1, 7, 7, -1, 2**31, 2**32 + 7, 2**53 + 1, 2**63 - 1, -2**63])

    def args(self):
        draw = self.random
        return [(self.name(), draw.choice([0, -1, 7, 2**53 + 1, -2**63, 2**63 - 1, self.name()]))
                for _ in range(draw.choice([0, 0, 0, 1, 3]))]

    def span(self, layers):
        draw = self.random
        begin, end = self.range()
        operation = layers is not None and self.chance(0.25)
        layer = "none" if operation else draw.choice(layers or ["device"] * 6 + ["idle", "none"])
        return Span(self.name(), begin, end, layer, operation,
                    layers is not None and self.chance(0.15), self.args())

    def steps(self):
        """One after the other; numbers and levels as they come."""
        draw, out = self.random, []
        at = self.at()
        number = draw.choice([0, 0, -3, 2**31 - 2, 2**40, 2**62])
        for _ in range(draw.randrange(9)):
            end = at + self.unit * draw.randrange(self.wide // 4)
            out.append(Step(at, end, number, draw.choice([0, 1, 2, 3, 3, 3, 4]),
                            self.chance(0.1)))
            number += draw.choice([1, 1, 1, 0, 5])
            at = end + self.unit * draw.choice([0, 0, 1, 4])
        return out

    def thread(self, window):
        draw = self.random
        life = self.range() if self.chance(0.4) else window
        track = Track("thread", self.name(), self.id(), life, ours=self.chance(0.1))
        at = life[0]
        track.base.append((at, draw.choice(["none", "python", "python", "idle", "native"])))
        while self.chance(0.3):
            at += self.unit * draw.randrange(20)
            track.base.append((at, draw.choice(LAYERS)))
        track.spans = [self.span(LAYERS) for _ in range(draw.choice([0, 2, 8, 20]))]
        track.instants = [(self.name(), self.at(), self.args()) for _ in range(draw.choice([0, 2]))]
        if self.chance(0.1):
            track.losses.append((draw.choice(["full", "disk"]), draw.choice([1, 2**40]),
                                 *self.range()))
        return track

    def device(self, window):
        draw = self.random
        track = Track("device", self.name(), self.id(), window, draw.choice([0, 0, 1, 2**33, 77]))
        track.spans = [self.span(None) for _ in range(draw.choice([0, 3, 10]))]
        return track

    def process(self, number):
        draw = self.random
        window = self.range() if self.chance(0.3) else (self.start,
                                                        self.start + self.unit * self.wide)
        key = self.name() + str(number).encode()
        process = Process(key, draw.choice([self.id(), 4711]), window)
        process.pauses = [self.range() for _ in range(draw.choice([0, 0, 1, 3]))]
        process.tracks = [self.thread(window) for _ in range(draw.choice([0, 1, 2, 4]))]
        process.tracks += [self.device(window) for _ in range(draw.choice([0, 0, 1, 3]))]
        threads = [track for track in process.tracks if track.kind == "thread"]
        if threads and self.chance(0.8):
            lead = draw.choice(threads)
            lead.lead, lead.ours = True, False
            lead.steps = self.steps() if self.chance(0.6) else []
        process.counters = [(draw.choice([b"queue", self.name()]), self.at(),
                             draw.choice([0, -1, 3, 2**53 + 1, -2**63, 2**63 - 1]))
                            for _ in range(draw.choice([0, 0, 4]))]
        process.facts = [(self.name().replace(b"\t", b"") or b"k", b"v" + str(i).encode())
                         for i in range(draw.choice([0, 2]))]
        draw.shuffle(process.tracks)
        self.arrows(process)
        return process

    def arrows(self, process):
        """From thread to device and back, some of them without the other end, or with two."""
        spans = [(track, span) for track in process.tracks for span in track.spans]
        if len(spans) < 2:
            return
        for number in range(self.random.choice([0, 3, 6])):
            self.arrow(spans, number + self.random.choice([0, 0, 2**40, 2**61]))

    def arrow(self, spans, number):
        for side in ("out", "in", self.random.choice(["out", "in", None, None, None])):
            if side and self.chance(0.95):
                track, span = self.random.choice(spans)
                track.arrows.append((side, number, span.begin))

    def more(self, scene):
        """What stands beside spans: arrows from anywhere in them, between processes, phases."""
        draw = self.random
        spans = [(track, span) for process in scene for track in process.tracks
                 for span in track.spans]
        for number in range(draw.choice([0, 0, 4]) if spans else 0):
            self.arrow(spans, -1 - number)  # the top bit: from one process to another, too
        for track in [track for process in scene for track in process.tracks]:
            track.arrows = [(side, number, at if self.chance(0.5) else self.inside(track, at))
                            for side, number, at in track.arrows]
            track.arrows.sort(key=lambda arrow: arrow[2])
            if track.lead and self.chance(0.3):
                track.phases = [(self.name(), *self.range())]
        for process in scene:
            process.probes = [b"op", b"call"][:draw.choice([0, 0, 0, 1, 2])]

    def inside(self, track, at):
        """A time in one of the spans that begin then, or a little later than any of them."""
        end = self.random.choice([span.end for span in track.spans if span.begin == at])
        return self.random.choice([at, end, self.random.randint(at, end), end + self.unit])


def draw(seed):
    """The scene of that seed: its processes."""
    drawer = Drawer(seed)
    scene = [drawer.process(number) for number in range(drawer.random.choice([1, 1, 2, 3]))]
    drawer.more(scene)
    return scene


def draw_plain(seed):
    """One that files of other tools can hold: no host thread does a device's work."""
    scene = draw(seed)
    for track in [track for process in scene for track in process.tracks]:
        for span in track.spans:
            if track.kind == "thread" and span.layer == "device":
                span.layer = "native"
    return scene


def quoted(name):
    return b'"' + name.replace(b'"', b"'") + b'"'


def track_text(track):
    what = b"device" if track.kind == "device" else b"thread"
    line = what + b" " + quoted(track.name)
    if track.kind == "device":
        line += b" device=%d stream=%d" % (track.device, track.os_id)
    else:
        line += b" tid=%d life=%d..%d" % (track.os_id, *track.life)
        line += b" lead" * track.lead + b" ours" * track.ours
    yield line
    for at, layer in track.base:
        yield b"base %d %s" % (at, layer.encode())
    for step in track.steps:
        yield b"step step %d %d number=%d level=%d" % (
            step.begin, step.end, step.number, step.level) + b" switch" * step.switch
    for span in track.spans:
        yield (b"op " if span.operation else b"span ") + quoted(span.name) + b" %d %d" % (
            span.begin, span.end) + (b"" if span.operation else b" " + span.layer.encode()
                                     ) + b" waits" * span.waits
        yield from args_text(span.args)
    for name, at, args in track.instants:
        yield b"instant " + quoted(name) + b" %d" % at
        yield from args_text(args)
    for side, number, at in sorted(track.arrows, key=lambda arrow: arrow[2]):
        yield b"%s %d %d" % (side.encode(), number, at)
    for name, begin, end in track.phases:
        yield b"phase " + quoted(name) + b" %d %d" % (begin, end)
    for reason, count, begin, end in track.losses:
        yield b"lose %s %d %d %d" % (reason.encode(), count, begin, end)


def args_text(args):
    for key, value in args:
        yield b"arg " + quoted(key) + b" " + (
            str(value).encode() if isinstance(value, int) else quoted(value))


def text(scene):
    lines = [b"# crosscut trace"]
    for process in scene:
        lines.append(b"process " + quoted(process.key) + b" pid=%d window=%d..%d" % (
            process.pid, *process.window))
        lines += [b"pause %d %d" % pause for pause in process.pauses]
        lines += [b"meta " + quoted(name) + b" " + value for name, value in process.facts]
        lines += [b"probe %s 10 5 12 18 100" % name for name in process.probes]
        for track in process.tracks:
            lines += track_text(track)
        lines += [b"count " + quoted(name) + b" %d %d" % (at, value)
                  for name, at, value in process.counters]
    return b"\n".join(lines) + b"\n"
