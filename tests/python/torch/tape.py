"""Runs the operator shim on the stub recorder and reads what it wrote. Runs in a child process
whose package is the tests' own (conftest.py)."""

import collections
import ctypes
import dataclasses
import os

import crosscut
import torch
from crosscut.adapters import torch_build

_FOLDER = os.path.dirname(os.path.abspath(crosscut.__file__))
recorder = ctypes.CDLL(os.path.join(_FOLDER, "lib", "libcrosscut.so.1"), ctypes.RTLD_GLOBAL)
recorder.stub_chunk.restype = ctypes.POINTER(ctypes.c_uint64)
recorder.stub_calibrate.restype = ctypes.POINTER(ctypes.c_int64)
recorder.stub_name.restype = ctypes.c_char_p
shim = ctypes.CDLL(str(torch_build.build()))
assert shim.crosscut_pytorch_add(torch.__version__.encode()) == 0

CHUNK_WORDS = 8192
END, END_NAMED, INSTANT, ARG, ARG_NAME, FLOW_OUT, FLOW_IN = 1, 3, 4, 6, 7, 8, 9
PAYLOAD = {END: 0, END_NAMED: 1, INSTANT: 1, ARG: 2, ARG_NAME: 2, FLOW_OUT: 1, FLOW_IN: 1}
OPERATORS, BOUNDARY, CONTROL = 2, 1, 0
OVERLOADED = 8  # CROSSCUT_OVERLOADED


@dataclasses.dataclass
class Span:
    name: str
    kind: int
    layer: int
    flags: int
    parent: "Span | None"
    sequence: int = -1
    forward_thread: int = 0
    args: dict = dataclasses.field(default_factory=dict)
    ended: bool = False

    def path(self):
        return (self.parent.path() if self.parent else ()) + (self.name,)


def events(thread):
    for chunk in range(recorder.stub_chunks(thread)):
        words, at = recorder.stub_chunk(thread, chunk), 0
        while at < CHUNK_WORDS and words[at]:
            code = words[at] & 0xFFFF
            count = PAYLOAD.get(code, 0)
            yield code, [words[at + 1 + i] for i in range(count)]
            at += 1 + count


def name_of(number):
    kind, layer, flags, text = recorder.stub_name(number).decode().split("|", 3)
    if int(flags) & OVERLOADED:
        text = text.partition(".")[0]
    return text, int(kind), int(layer), int(flags) & ~OVERLOADED


def spans():
    """All spans of all threads; raises where begins and ends do not balance."""
    found = []
    for thread in range(recorder.stub_threads()):
        stack = []
        for code, payload in events(thread):
            if code >= 0x100:
                text, kind, layer, flags = name_of(code)
                span = Span(text, kind, layer, flags, stack[-1] if stack else None)
                stack.append(span)
                found.append(span)
            elif code == END:
                stack.pop().ended = True
            elif code == END_NAMED:
                assert stack[-1].name == name_of(payload[0])[0]
                stack.pop().ended = True
            elif code in (FLOW_OUT, FLOW_IN):
                stack[-1].sequence = payload[0] & ((1 << 40) - 1)
                if code == FLOW_IN:
                    stack[-1].forward_thread = payload[0] >> 40 & ((1 << 22) - 1)
            elif code == ARG:
                stack[-1].args[name_of(payload[0])[0]] = payload[1]
        assert not stack, f"never ended: {[span.name for span in stack]}"
    return found


def record(body, level=OPERATORS):
    recorder.stub_reset()
    recorder.stub_enable(1)
    recorder.stub_level(level)
    try:
        body()
    finally:
        recorder.stub_level(CONTROL)
    return spans()


EVALUATE = "autograd::engine::evaluate_function: "


def beside_torch_profiler(body):
    """(ours, theirs) of one run of `body`: how often each (path of names, sequence number, forward
    thread) happened. torch.profiler copies the numbers of a backward node to the engine's frame
    around it after the fact: there they are left out."""
    body()  # caches are warm and lazy initialisations done
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                experimental_config=config) as profile:
        ours = record(body)
    theirs = [e for e in profile.profiler.kineto_results.events()]
    return (collections.Counter((s.path(), s.sequence, s.forward_thread) for s in ours),
            collections.Counter((path, *numbers) for path, numbers in _paths(theirs)))


def _paths(kineto):
    """Paths of names by nesting in time, per thread."""
    threads = collections.defaultdict(list)
    for event in kineto:
        threads[event.start_thread_id()].append(event)
    for found in threads.values():
        found.sort(key=lambda e: (e.start_ns(), -e.end_ns()))
        stack = []
        for event in found:
            while stack and stack[-1][0] <= event.start_ns():
                stack.pop()
            path = (stack[-1][1] if stack else ()) + (event.name(),)
            stack.append((event.end_ns(), path))
            derived = event.name().startswith(EVALUATE)
            yield path, ((-1, 0) if derived else (event.sequence_nr(), event.fwd_thread_id()))
