"""The calls of a recording as torch.profiler's own events: `profile.events()`."""

from __future__ import annotations

import ast
import functools
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent, Interval, Kernel

from crosscut.adapters import torch_modules
from crosscut.reading import Run

_NODE = "autograd::engine::evaluate_function: "
_SCOPE_BACKWARD, _SCOPE_USER = 1, 7  # at::RecordScope's numbers
_ids = itertools.count(1)  # of this process: no two events of any profile have the same


class Event(FunctionEvent):
    """One call, one `record_function` scope or one piece of a device's work, with all that
    torch.profiler's events have. Times in microseconds since the recording began. Inputs are ()
    unless `record_shapes` is set, `stack` is () without `with_stack`."""

    def __init__(self, name: str, thread: int, start: float, end: float) -> None:
        self.id = self.external_id = next(_ids)
        self.name = self.trace_name = name
        self.thread = thread
        self.time_range = Interval(start, end)
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []

    dims = concrete = ""  # JSON as in Kineto's traces

    @property
    def input_shapes(self) -> list[Any]:
        """A list of sizes per input; [] for what is no tensor, lists of tensors among it."""
        return [[] if any(isinstance(size, list) for size in shape) else shape
                for shape in self.structured_input_shapes]

    @property
    def structured_input_shapes(self) -> list[Any]:
        """The same, where a list of tensors has a list of their sizes."""
        return _parsed(self.dims)

    @property
    def concrete_inputs(self) -> list[Any]:
        """The values of inputs that are no tensors; None for those that are."""
        return [_value(text) for text in _parsed(self.concrete)]

    @property
    def kwinputs(self) -> dict[str, Any]:
        """What the call got by name."""
        return {}

    stack: Any = ()
    cpu_parent: FunctionEvent | None = None
    overload_name = ""
    input_dtypes: Any = ()
    structured_input_strides: Any = ()


def _take_defaults() -> None:
    """What else an event has in this version of PyTorch, as it is where nothing is known of it."""
    for name, value in vars(FunctionEvent(0, "", 0, 0.0, 0.0, flops=0)).items():
        if name not in vars(Event):
            setattr(Event, name, value)
    Event.fwd_thread = Event.device_resource_id = 0
    Event.activity_type = "cpu_op"


_take_defaults()


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> list[Any]:
    return json.loads(text) if text else []


def _value(text: str) -> Any:
    if text == "":
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def event_list(run: Run, process: int, use_device: str | None = None,
               deadline: float | None = None) -> EventList:
    """The events of one process of the run, in order of begin, in a list of torch.profiler's with
    its methods. `process`: its number. `use_device`: what work on devices is called; None leaves it
    out. `deadline`: of time.monotonic(); what is not made by then is left out."""
    found = _Reader(run, process, use_device).read(deadline)
    found.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    events = EventList(found, use_device=use_device)
    events._remove_dup_nodes()
    events._tree_built = True  # from the recording's own: no event is looked for by its time
    return events


_SPAN = ("process", "thread", "span", "parent", "kind", "layer", "name", "overload", "begin_ns",
         "end_ns", "sequence_number", "forward_thread", "input_dims")


class _Reader:
    """Makes the events of one process."""

    def __init__(self, run: Run, process: int, use_device: str | None) -> None:
        self._run, self._use_device = run, use_device
        self._process, self._origin = next(
            (row["process"], row["start_ns"]) for row in run.table("processes").rows()
            if row["pid"] == process)
        self._threads = {"main": 1}
        self._device = [] if use_device is None else [
            row for row in run.table("device_events").rows() if row["process"] == self._process]
        # Calls that gave work to a device: by thread and begin, the event that they were made in.
        self._launches: dict[tuple[str, int], Event | None] = {
            (row["launch_thread"], row["launch_begin_ns"]): None for row in self._device}

    def read(self, deadline: float | None) -> list[Event]:
        """All of them; of threads that come after the deadline none."""
        table = self._run.table("spans")
        rows = zip(*(table[name] for name in _SPAN))
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
        for span in spans:
            _, _, index, above, kind, layer, name, _, begin, *_ = span
            parent = None if above is None else shown[above]
            shown[index] = parent
            if kind == "operation" or (layer in ("framework", "comm", "")
                                       and not name.startswith(torch_modules.PREFIX)):
                event = shown[index] = self._event(span)
                _nest(event, parent)
                yield event
            if (thread, begin) in self._launches:
                self._launches[thread, begin] = shown[index]

    def _event(self, span: tuple[Any, ...]) -> Event:
        (_, thread, _, _, kind, layer, name, overload, begin, end, number, forward, dims) = span
        event = Event(name, self._threads.setdefault(thread, len(self._threads) + 1),
                      self._us(begin), self._us(end))
        event.use_device, event.dims = self._use_device, dims
        if overload:
            event.overload_name = overload
        if number is not None:
            event.sequence_nr, event.fwd_thread = number, forward or 0
        if kind == "operation":
            event.is_user_annotation = True
        if kind == "operation" or layer == "":
            event.activity_type, event.scope = "user_annotation", _SCOPE_USER
        return event

    def _of_devices(self) -> Iterator[Event]:
        kind = getattr(DeviceType, (self._use_device or "").upper(), DeviceType.PrivateUse1)
        for row in self._device:
            event = Event(row["name"], 0, self._us(row["begin_ns"]), self._us(row["end_ns"]))
            event.use_device, event.device_type = self._use_device, kind
            event.activity_type = "kernel"
            launch = self._launches[row["launch_thread"], row["launch_begin_ns"]]
            if launch is not None:
                launch.append_kernel(event.name, 0, event.time_range.elapsed_us())
            yield event

    def _us(self, at_ns: int) -> float:
        return (at_ns - self._origin) / 1e3


def _nest(event: Event, parent: Event | None) -> None:
    if parent is None:
        return
    event.cpu_parent = parent
    parent.cpu_children.append(event)
    if parent.name == _NODE + event.name:
        event.scope = _SCOPE_BACKWARD
