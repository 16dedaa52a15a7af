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
calibrate = _LIB.stub_calibrate
words = _LIB.stub_words
_END, _END_NAMED = 1, 3


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
    return [(e.thread, e.code, e.name, e.tick) for e in buffer]


class Span:
    def __init__(self, number):
        self.number = number
        self.name, _, line = name(number).partition("@")
        self.line = int(line or 0)  # of the caller that called it
        self.children = []
        self.closed = False

    def __repr__(self):
        inner = ", ".join(map(repr, self.children))
        return self.name + (f"[{inner}]" if inner else "") + ("" if self.closed else " (open)")


def trees():
    """{thread: top-level spans}; an end without a begin fails."""
    roots, stacks = {}, {}
    for thread, code, number, _ in events():
        top = roots.setdefault(thread, [])
        stack = stacks.setdefault(thread, [])
        if code == _END:
            assert stack, "an end with nothing open"
            stack.pop().closed = True
        elif code == _END_NAMED:
            assert any(s.number == number for s in stack), f"{name(number)} ended, not open"
            while True:
                span = stack.pop()
                span.closed = True
                if span.number == number:
                    break
        else:
            span = Span(number)
            (stack[-1].children if stack else top).append(span)
            stack.append(span)
    return roots


def tree(thread=0):
    """What ran since the hook came: without the functions around it, which run still."""
    spans = trees().get(thread, [])
    while len(spans) == 1 and not spans[0].closed and spans[0].children:
        spans = spans[0].children
    return spans


def flat(spans):
    """Every span, parents first."""
    waiting = list(reversed(spans))
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(reversed(span.children))


def count(prefix, thread=None):
    """How many spans have a name that starts so."""
    chosen = trees()
    return sum(
        s.name.startswith(prefix)
        for t, spans in chosen.items()
        if thread is None or t == thread
        for s in flat(spans)
    )
