"""Reads what the stub recorder kept: runs inside the interpreter under test."""

import ctypes
import os

import crosscut
from crosscut import _pycalls as pc  # noqa: F401  (tests use it from here)

_LIB = ctypes.CDLL(os.path.join(os.path.dirname(crosscut.__file__), "lib", "libcrosscut.so.1"))


class _Event(ctypes.Structure):
    _fields_ = [
        ("thread", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("name", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("tick", ctypes.c_uint64),
    ]


_LIB.stub_name.restype = ctypes.c_char_p
_LIB.stub_log.restype = ctypes.c_char_p
_LIB.stub_name_probe.restype = ctypes.c_char_p
_LIB.stub_words.restype = ctypes.c_uint64
LAYERS = ["", "python", "framework", "runtime", "simulator", "data", "comm", "native", "idle"]
record = _LIB.stub_record
set_level = _LIB.stub_set_level
control_step = _LIB.stub_control_step
calibrate = _LIB.stub_calibrate
words = _LIB.stub_words
next_session = _LIB.stub_next_session
_END, _END_NAMED, _BEGUN, _RUNNING, _FRAMES_OUT, _FRAMES_IN = 1, 3, 0x1e, 0x1f, 0x29, 0x2a
_FRAME = 16  # of a span's name's flags


def log():
    return _LIB.stub_log().decode().splitlines()


def name(number):
    return _LIB.stub_name(number).decode(errors="replace")


def facts(number):
    """(kind, layer, flags, probe) of an interned name."""
    packed = _LIB.stub_name_facts(number)
    probe = _LIB.stub_name_probe(number).decode()
    return packed & 0xFF, LAYERS[packed >> 8 & 0xFF], packed >> 16, probe


def events():
    """Raw events: (thread, code, name id, tick), thread by thread."""
    count, room, buffer = _LIB.stub_events(None, 0), 0, ()
    while count > room:  # a garbage collection may have been recorded meanwhile
        room = count
        buffer = (_Event * room)()
        count = _LIB.stub_events(buffer, room)
    return [(e.thread, e.code, e.name, e.reserved, e.tick) for e in buffer]


class Span:
    def __init__(self, number):
        self.number = number
        self.name, _, line = name(number).partition("@")
        self.line = int(line or 0)  # of the caller that called it
        self.children = []
        self.closed = False
        self.cut = self.goes_on = False  # ended where the hook went out; began where it came back

    def __repr__(self):
        inner = ", ".join(map(repr, self.children))
        return self.name + (f"[{inner}]" if inner else "") + ("" if self.closed else " (open)")


class _Stack:
    """Of one thread, as a reader keeps it: src/trace/track_frames.cc, but for operations."""

    def __init__(self):
        self.roots, self.open, self.cut, self.running = [], [], [], []

    def begin(self, number, goes_on=False):
        span = Span(number)
        span.goes_on = goes_on
        (self.open[-1].children if self.open else self.roots).append(span)
        self.open.append(span)

    def end(self):
        assert self.open, "an end with nothing open"
        self.open.pop().closed = True

    def end_named(self, number):
        assert any(s.number == number for s in self.open), f"{name(number)} ended, not open"
        while self.open[-1].number != number:
            self.end()
        self.end()

    def frames_out(self):
        self._become([(span.number, True) for span in self.open
                      if not facts(span.number)[2] & _FRAME])

    def runs(self, number, begun, to_come):
        self.running.append((number, begun))
        if to_come:
            return
        self.frames_out()
        begun = {span.number for span in self.open}
        cut = iter(self.cut)
        self._become([(n, n in begun if native else any(c == n for c in cut))
                      for n, native in self.running])
        self.cut, self.running = [], []

    def _become(self, stack):
        self.cut += [s.number for s in self.open if facts(s.number)[2] & _FRAME]
        same = 0
        while (same < min(len(stack), len(self.open))
               and stack[same] == (self.open[same].number, True)
               and not facts(stack[same][0])[2] & _FRAME):
            same += 1
        for span in self.open[same:]:
            span.cut = True
        while len(self.open) > same:
            self.end()
        for number, goes_on in stack[same:]:
            self.begin(number, goes_on)


def trees():
    """{thread: top-level spans}; an end without a begin fails."""
    stacks = {}
    for thread, code, number, to_come, _ in events():
        stack = stacks.setdefault(thread, _Stack())
        if code == _END:
            stack.end()
        elif code == _END_NAMED:
            stack.end_named(number)
        elif code in (_BEGUN, _RUNNING):
            stack.runs(number, code == _BEGUN, to_come)
        elif code == _FRAMES_OUT:
            stack.frames_out()
        elif code != _FRAMES_IN:
            stack.begin(number)
    return {thread: stack.roots for thread, stack in stacks.items()}


def tree(thread=0):
    """What ran since the hook came: without the functions around it, which ran still, and the one
    that brought it."""
    spans = trees().get(thread, [])
    while len(spans) == 1 and (spans[0].cut or not spans[0].closed) and spans[0].children:
        spans = spans[0].children
        spans = [span for span in spans if not span.name.startswith("_start ")] or spans
    return [span for span in spans if not span.name.startswith("_start ")]


def flat(spans):
    """Every span, parents first."""
    waiting = list(reversed(spans))
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(reversed(span.children))


def all_closed(spans=None):
    """Whether there are spans, of the main thread if none are given, and all of them ended."""
    every = list(flat(tree() if spans is None else spans))
    return bool(every) and all(span.closed for span in every)


def count(prefix, thread=None):
    """How many spans have a name that starts so; what goes on counts once."""
    chosen = trees()
    return sum(
        s.name.startswith(prefix) and not s.goes_on
        for t, spans in chosen.items()
        if thread is None or t == thread
        for s in flat(spans)
    )
