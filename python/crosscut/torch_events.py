"""The calls of a recording as torch.profiler's own events: `profile.events()`."""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import json
import re
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch.nn
from torch.autograd import DeviceType
from torch.autograd.profiler_util import (EventList, FunctionEvent, Interval, Kernel,
                                          _filter_name, _filter_stack_entry)
from torch.profiler import python_tracer

from crosscut import _sources
from crosscut.adapters import torch_modules
from crosscut.reading import Run, Table

_NODE = "autograd::engine::evaluate_function: "
_STEP = "ProfilerStep#"
_COLLECTION = "garbage collection, "
_SCOPE_BACKWARD, _SCOPE_USER = 1, 7  # at::RecordScope's numbers
_ids = itertools.count(1)  # of this process: no two events of any profile have the same


class Shapes(list[Any]):
    """Sizes of inputs. In a tuple or list they print as one text, in quotes."""

    def __repr__(self) -> str:
        return repr(str(self))

    def __str__(self) -> str:
        return list.__repr__(self)


class Event(FunctionEvent):
    """One call, one `record_function` scope or one piece of a device's work, with all that
    torch.profiler's events have. Times in microseconds since the recording began. What is told of
    inputs is empty unless `record_shapes` is set, `stack` is without `with_stack`."""

    def __init__(self, name: str, thread: int, start: float, end: float) -> None:
        self.id = self.external_id = next(_ids)
        self.name = self.trace_name = name
        self.thread = thread
        self.time_range = Interval(start, end)
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []

    cpu_parent: Any = None
    _around: Event | None = None    # the same before namesakes are made one
    _function: Event | None = None  # the innermost Python function around it
    overload_name = ""
    _module = ""  # the name of a module's call in the recording
    allocations: list[dict[str, Any]] = []    # rows of `memory_events` with it as the innermost
    _dims = _types = _strides = _values = _named = ""  # of inputs, JSON as in Kineto's traces
    _forwards: dict[int, list[Event]] = {}    # of backward nodes: forward calls by their number

    def __getattr__(self, name: str) -> Any:
        made = _MADE_LATER.get(name)
        if made is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = made(self)
        setattr(self, name, value)
        return value


def _shapes(event: Event) -> list[Any]:
    """A list of sizes per input; [] for what is no tensor, lists of tensors among it."""
    return [[] if any(isinstance(size, list) for size in shape) else shape
            for shape in _parsed(event._dims)]


def _stack(event: Event) -> list[str]:
    """The Python functions around it, innermost first, less those that torch.profiler leaves out;
    in the backward pass those around the forward operator that caused it."""
    above: Event | None = event
    while above is not None:
        if above.scope == _SCOPE_BACKWARD:
            calls = above._forwards.get(above.sequence_nr, [])
            own = [call for call in calls if call.thread == above.fwd_thread]
            return next((call.stack for call in own + calls), [])
        above = above._around
    function, stack = event._function, []
    while function is not None:
        if _filter_stack_entry(function.name):
            stack.append(function.name)
        function = function._function
    return stack


def _metadata(event: Event) -> str:
    told = {"Ev Idx": event.id, "Input Dims": _parsed(event._dims),
            "Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
    return json.dumps({key: value for key, value in told.items() if value or value == 0})[1:-1]


_MADE_LATER: dict[str, Callable[[Event], Any]] = {
    "input_shapes": _shapes,
    "structured_input_shapes": lambda event: list(_parsed(event._dims)),
    "structured_input_strides": lambda event: list(_parsed(event._strides)),
    "input_dtypes": lambda event: list(_parsed(event._types)),
    "concrete_inputs": lambda event: [_value(text) for text in _parsed(event._values)],
    "kwinputs": lambda event: json.loads(event._named or "{}"),
    "stack": _stack,
    "_metadata_json": _metadata,
}


def _take_defaults() -> None:
    """What else an event has in this version of PyTorch, as it is where nothing is known of it."""
    for name, value in vars(FunctionEvent(0, "", 0, 0.0, 0.0, flops=0)).items():
        if name not in vars(Event) and name not in _MADE_LATER:
            setattr(Event, name, value)
    Event.fwd_thread = Event.device_resource_id = 0
    Event.activity_type = "cpu_op"


_take_defaults()


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> list[Any]:
    return json.loads(text) if text else []


def _value(text: Any) -> Any:
    """What an input was, from the text of Kineto's traces; None for tensors."""
    if text == "" or not isinstance(text, str):
        return text or None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What events are made of. `process`, `thread`: whose recording it is, by the system's numbers.
    `threads`: those whose Python functions are told, None: all, with the operators of all.
    `begun`: those of them that Python began, whose operators are the program's and no profile's.
    `device`: what work on devices is called; None leaves it out. `shapes`: whether inputs are told,
    as far as they were recorded, `memory`: what was allocated, `flops`: how many there were,
    `functions`: whether Python functions are, `collections`: runs of its garbage collector.
    `running`: what ran on the thread when recording began, and where. `since_ns`: when that was;
    what ended before is left out. `deadline`: of time.monotonic(); what is not made by then is left
    out."""

    process: int
    thread: int = 0
    threads: frozenset[int] | None = None
    device: str | None = None
    begun: frozenset[int] = frozenset()
    shapes: bool = False
    memory: bool = False
    flops: bool = False
    functions: bool = False
    collections: bool = False
    running: tuple[tuple[str, int], ...] = ()
    since_ns: int = 0
    deadline: float | None = None


def event_list(run: Run, wanted: Wanted) -> EventList:
    """The events of one process of the run, in order of begin, in a list of torch.profiler's with
    its methods. There a call is one with the only call in it where that has its name; both are in
    `with_namesakes`."""
    found = _Reader(run, wanted).read()
    found.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    events = EventList(found, use_device=wanted.device)
    events.with_namesakes = found
    events._remove_dup_nodes()
    events._tree_built = True  # from the recording's own: no event is looked for by its time
    return events


@dataclasses.dataclass(slots=True)
class _Span:
    """A row of the table `spans`."""

    process: str
    thread: str
    span: int
    parent: int | None
    kind: str
    layer: str
    name: str
    overload: str
    begin_ns: int
    end_ns: int
    sequence_number: int | None
    forward_thread: int | None
    flops: int | None
    probe: str
    step: int | None
    thread_id: int | None
    found: int
    input_dims: str
    input_types: str
    input_strides: str
    concrete_inputs: str
    first: int
    named_inputs: str

    @property
    def is_function(self) -> bool:
        """Whether it is a call that Python made, of its own functions, of modules or of native
        functions; operators of the language (`x[i]`, `x * y`) are no calls of Python's."""
        if self.probe == "boundary":
            return not self.name.endswith("__")
        return self.layer == "python" or self.name.startswith(torch_modules.PREFIX)

    @property
    def is_call(self) -> bool:
        """Whether PyTorch's profiler sees it: an operator or a scope."""
        if self.found or self.kind == "operation":
            return not self.found  # Crosscut's own: in the run's tables
        return self.probe in ("op", "scope") or (
            self.layer in ("framework", "comm", "") and self.probe != "boundary"
            and not self.name.startswith(torch_modules.PREFIX))


_FIELDS = [field.name for field in dataclasses.fields(_Span)]
_FUNCTION = re.compile(r"(?:.*\.)?([^.]*) \((.*):(\d+)\)")


_MODULE = re.compile(re.escape(torch_modules.PREFIX) + r"(?:.* \()?([^()#]+)(?:#\d+)?\)?")


class _ModuleNumbers:
    """Calls modules as torch.profiler does: by class, and which of it was called first."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._next: dict[str, Iterator[int]] = {}

    def name(self, module: str) -> str:
        """Of a span's name."""
        parts = _MODULE.fullmatch(module)
        if module not in self._known and parts:
            number = next(self._next.setdefault(parts[1], itertools.count()))
            self._known[module] = f"{torch_modules.PREFIX}{parts[1]}_{number}"
        return self._known.get(module, module)


def _name_of(code: types.CodeType) -> str:
    """What a Python function is called in a recording."""
    name = getattr(code, "co_qualname", code.co_name)
    return f"{name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


def running() -> list[tuple[str, int]]:
    """The functions that run on this thread, outermost first, and the lines where they are."""
    frame, found = sys._getframe(), []
    while frame is not None:
        found.append((_name_of(frame.f_code), frame.f_lineno or 0))
        frame = frame.f_back
    return found[::-1]


_CALLS_MODULE = _name_of(torch.nn.Module.__call__.__code__)


def _is_call_of_module(span: _Span, parent: Event | None) -> bool:
    """Whether it is the Python function that a module's call begins with."""
    return (span.name == _CALLS_MODULE and parent is not None
            and parent.name.startswith(torch_modules.PREFIX))


class _FunctionNames:
    """Calls functions as torch.profiler does: with the part of their path that modules have."""

    def __init__(self) -> None:
        self._files, self._prefixes = _sources.files(), python_tracer._prefix_regex()
        self._modules = _ModuleNumbers()

    def name(self, span: _Span, line: int | None) -> str:
        """Of a function, a native one or a module. `line`: where it ran when recording began."""
        if span.name.startswith(torch_modules.PREFIX):
            return self._modules.name(span.name)
        if span.name.startswith(_COLLECTION):
            return "Python GC"
        parts = _FUNCTION.fullmatch(span.name)
        if not parts:
            return f"<built-in function {span.name}>"
        return f"{self._path(span.name) or parts[2]}({line or parts[3]}): {parts[1]}"

    def _path(self, name: str) -> str:
        path = self._files.get(name, "")
        return next((path[len(prefix):] for prefix in self._prefixes if path.startswith(prefix)),
                    path)


class _Reader:
    """Makes the events of one process."""

    def __init__(self, run: Run, wanted: Wanted) -> None:
        self._run, self._wanted = run, wanted
        self._process, self._origin = next(
            (row["process"], row["start_ns"]) for row in run.table("processes").rows()
            if row["pid"] == wanted.process)
        self._numbers: dict[int | None, int] = {wanted.thread: 1}
        self._running = list(wanted.running)
        self._texts: dict[str, str] = {}
        self._forwards: dict[int, list[Event]] = {}
        self._functions, self._function_names = itertools.count(1), _FunctionNames()
        self._device = [] if wanted.device is None else self._own("device_events")
        # Calls that gave work to a device: by thread and begin, the event that they were made in.
        self._launches: dict[tuple[str, int], Event | None] = {
            (row["launch_thread"], row["launch_begin_ns"]): None for row in self._device}
        self._ours: set[str] = set()  # labels of threads
        self._memory: dict[tuple[str, int | None], list[dict[str, Any]]] = {}

    def _own(self, table: str) -> list[dict[str, Any]]:
        return [row for row in self._run.table(table).rows() if row["process"] == self._process]

    def read(self) -> list[Event]:
        """All of them; of threads that come after the deadline none."""
        table, deadline = self._run.table("spans"), self._wanted.deadline
        rows = zip(*(table[name] for name in _FIELDS))
        self._ours = self._our_threads(table)
        self._sort_memory()
        found: list[Event] = []
        for (process, thread), spans in itertools.groupby(rows, key=lambda row: row[:2]):
            if deadline is not None and time.monotonic() >= deadline:
                break
            if process == self._process:
                found.extend(self._of_thread(thread, spans))
        found.extend(self._of_devices())
        return found

    def _of_thread(self, thread: str, spans: Iterable[tuple[Any, ...]]) -> Iterator[Event]:
        shown: dict[int, Event | None] = {}  # by span; of others the event around
        told_already: set[int] = set()  # spans whose event is that of another span
        ours: set[int | None] = set()   # what Crosscut does, with all that it calls
        early: set[int] = set()  # spans of which no part was seen since recording began
        functions: dict[int | None, Event | None] = {None: None}  # by span; the innermost
        for row in spans:
            span = _Span(*row)
            event = parent = None if span.parent is None else shown[span.parent]
            if span.layer == "overhead" or span.parent in ours:
                ours.add(span.span)
            elif span.end_ns <= self._wanted.since_ns:
                early.add(span.span)
            elif span.first in told_already or _is_call_of_module(span, parent):
                told_already.add(span.span)
            elif (span.first != span.span and span.first not in early
                  and self._wants(span)):  # goes on with one that was cut
                event = shown[span.first]
                event.time_range.end = self._us(span.end_ns)
            elif self._wants(span):
                event = self._event(span)
                self._nest(event, parent)
                event._function = functions[span.parent]
                yield event
                if span.first in early:
                    early.remove(span.first)
                    shown[span.first] = event
            shown[span.span] = event
            is_innermost = event is not parent and event is not None and event.is_python_function
            functions[span.span] = event if is_innermost else functions[span.parent]
            if (thread, span.begin_ns) in self._launches:
                self._launches[thread, span.begin_ns] = event
            yield from self._take_memory((thread, span.span), event)
        yield from self._take_memory((thread, None), None)

    def _our_threads(self, spans: Table) -> set[str]:
        """The one that profiles, and those that PyTorch made for it."""
        wanted = self._wanted
        return {thread for process, thread, number in zip(spans["process"], spans["thread"],
                                                          spans["thread_id"])
                if process == self._process and (
                    wanted.threads is None or number in (wanted.thread, None)
                    or (thread == f"thread {number}" and number not in wanted.begun))}

    def _sort_memory(self) -> None:
        """What our threads allocated and freed, by where; not what they freed for others."""
        others: set[int] = set()
        for row in self._own("memory_events") if self._wanted.memory else ():
            address = row["address"]
            if row["thread"] not in self._ours:
                others.add(address)
            elif row["bytes"] < 0 and address in others:
                others.discard(address)
            else:
                others.discard(address)
                self._memory.setdefault((row["thread"], row["span"]), []).append(row)

    def _wants(self, span: _Span) -> bool:
        """Operators of our threads; functions of the threads that were there."""
        wanted = self._wanted
        if span.is_call:
            return span.thread in self._ours and not _filter_name(span.name)
        if span.name.startswith(_COLLECTION) and not wanted.collections:
            return False
        return wanted.functions and span.is_function and (
            wanted.threads is None or span.thread_id in wanted.threads)

    def _event(self, span: _Span) -> Event:
        number = self._numbers.setdefault(span.thread_id, len(self._numbers) + 1)
        event = Event(self._kept(span.name), number, self._us(span.begin_ns),
                      self._us(span.end_ns))
        event.use_device = self._wanted.device
        event.device_resource_id = span.thread_id or 0
        if not span.is_call:
            event.name = event.trace_name = self._kept(
                self._function_names.name(span, self._line_at_begin(span)))
            event.id = event.external_id = 0
            if span.name.startswith(torch_modules.PREFIX):
                event._module = span.name
            event.activity_type = "python_function"
            if not span.name.startswith(_COLLECTION):
                event.is_python_function, event.python_id = True, next(self._functions)
            return event
        event.flops = (span.flops or 0) if self._wanted.flops else 0
        event.is_async = span.thread.startswith("asynchronous")
        if span.overload:
            event.overload_name = self._kept(span.overload)
        if span.input_dims and self._wanted.shapes:
            event._dims, event._types = self._kept(span.input_dims), self._kept(span.input_types)
            event._strides = self._kept(span.input_strides)
            event._values = self._kept(span.concrete_inputs)
        if span.named_inputs and self._wanted.shapes:
            event._named = self._kept(span.named_inputs)
        if span.sequence_number is not None:
            event.sequence_nr, event.fwd_thread = span.sequence_number, span.forward_thread or 0
        if span.kind == "operation" or span.layer == "":
            event.activity_type, event.scope = "user_annotation", _SCOPE_USER
            event.is_user_annotation = True
        if span.step is not None and span.name == _STEP:
            event.name, event.trace_name = "ProfilerStep*", f"{_STEP}{span.step}"
        return event

    def _line_at_begin(self, span: _Span) -> int | None:
        """Of the functions that ran on the thread that profiles when it began, which come first."""
        if span.thread_id != self._wanted.thread:
            return None
        at = next((i for i, (name, _) in enumerate(self._running) if name == span.name), None)
        if at is None:
            self._running = []
            return None
        line = self._running[at][1]
        del self._running[:at + 1]
        return line

    def _nest(self, event: Event, parent: Event | None) -> None:
        if parent is not None:
            event.cpu_parent = event._around = parent
            parent.cpu_children.append(event)
            if event.is_python_function:
                event.python_parent_id = parent.python_id
            if parent.name == _NODE + event.name:
                event.scope, event._forwards = _SCOPE_BACKWARD, self._forwards
                parent.sequence_nr, parent.fwd_thread = event.sequence_nr, event.fwd_thread
        if event.sequence_nr >= 0 and not event.fwd_thread:
            self._forwards.setdefault(event.sequence_nr, []).append(event)

    def _take_memory(self, place: tuple[str, int | None], event: Event | None) -> Iterator[Event]:
        """What was allocated and freed there; outside of all calls it stands for itself."""
        for row in self._memory.pop(place, ()):
            holder = event
            if holder is None:
                at = self._us(row["at_ns"])
                holder = Event("[memory]", 1, at, at)
                holder.use_device, holder.trace_name = self._wanted.device, None
                holder.activity_type = "cpu_instant_event"
                yield holder
            holder.allocations = [*holder.allocations, row]
            while holder is not None:
                if row["device"] == "cpu":
                    holder.cpu_memory_usage += row["bytes"]
                else:
                    holder.device_memory_usage += row["bytes"]
                holder = holder.cpu_parent

    def _of_devices(self) -> Iterator[Event]:
        kind = getattr(DeviceType, (self._wanted.device or "").upper(), DeviceType.PrivateUse1)
        for row in self._device:
            event = Event(row["name"], 0, self._us(row["begin_ns"]), self._us(row["end_ns"]))
            event.use_device, event.device_type = self._wanted.device, kind
            event.activity_type = "kernel"
            launch = self._launches[row["launch_thread"], row["launch_begin_ns"]]
            if launch is not None:
                launch.append_kernel(event.name, 0, event.time_range.elapsed_us())
            yield event

    def _kept(self, text: str) -> str:
        """The same text once for all events."""
        return self._texts.setdefault(text, text)

    def _us(self, at_ns: int) -> float:
        return (at_ns - self._origin) / 1e3
