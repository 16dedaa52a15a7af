"""What programs read of `profile.profiler.kineto_results`, which is none of torch.profiler's
promises: its list and its tree of events, from a recording of Crosscut's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch._C import _profiler
from torch.autograd import DeviceType

from crosscut.torch_events import Event

_MEMORY = "[memory]"


class Results:
    """`events`: of one recording, in order of begin. `origin_ns`: when it began. `save`: writes
    its trace. `add`: adds to nodes what else is known of them, each with the name of its call."""

    def __init__(self, events: list[Event], origin_ns: int, save: Callable[[str], None],
                 add: Callable[[Iterable[tuple[str, Node]]], None] | None = None) -> None:
        self._events, self._origin, self.save, self._add = events, origin_ns, save, add
        self._roots: list[Node] | None = None

    def trace_start_ns(self) -> int:
        """When the recording began."""
        return self._origin

    def events(self) -> list[KinetoEvent]:
        """Those with a length; Python functions among them where they are recorded."""
        return [KinetoEvent(event, self._origin) for event in self._events]

    def experimental_event_tree(self) -> list[Node]:
        """The events that lie in no other, each with those in it."""
        if self._roots is None:
            self._roots = self._tree()
        return self._roots

    def _tree(self) -> list[Node]:
        host = [event for event in self._events if event.device_type == DeviceType.CPU]
        nodes = {id(event): _node(event, self._origin) for event in host if event.name != _MEMORY}
        roots: list[Node] = []
        for event in host:
            node = nodes.get(id(event))
            if node is None:
                roots += _allocations(event, None)
                continue
            node.parent = nodes.get(id(event._around))
            (roots if node.parent is None else node.parent.children).append(node)
            node.children += _allocations(event, node)
        for node in nodes.values():
            node.children.sort(key=lambda child: child.start_time_ns)
        if self._add is not None:
            names = {id(nodes[id(event)]): event._module for event in host if id(event) in nodes}
            self._add((names.get(id(node), ""), node) for node in nodes_of(roots))
        return roots


def nodes_of(roots: list[Any]) -> Iterator[Any]:
    """Those and all that lie in them."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        waiting += node.children
        yield node


class KinetoEvent:
    """An event whose attributes are functions."""

    _CALLED = {"name": "trace_name", "correlation_id": "id", "start_thread_id": "thread",
               "end_thread_id": "thread", "fwd_thread_id": "fwd_thread", "shapes": "input_shapes",
               "dtypes": "input_dtypes", "metadata_json": "_metadata_json"}

    def __init__(self, event: Event, origin_ns: int) -> None:
        self._event, self._origin = event, origin_ns

    def start_ns(self) -> int:
        """On the clock of `Results.trace_start_ns`."""
        return self._origin + round(self._event.time_range.start * 1e3)

    def end_ns(self) -> int:
        """Likewise."""
        return self._origin + round(self._event.time_range.end * 1e3)

    def duration_ns(self) -> int:
        """From begin to end."""
        return self.end_ns() - self.start_ns()

    def nbytes(self) -> int:
        """Of an allocation or free."""
        return self._event.cpu_memory_usage + self._event.device_memory_usage

    def __getattr__(self, name: str) -> Callable[[], Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._event, self._CALLED.get(name, name))
        return lambda: value


class Fields(SimpleNamespace):
    """What only events of one kind have; passes for PyTorch's class of that kind."""

    kind: type

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return self.kind


class Node:
    """An event of the tree. `typed`: its kind, and what only that kind has."""

    def __init__(self, name: str, times: tuple[int, int], thread: int,
                 typed: tuple[Any, Any]) -> None:
        self.name = name
        self.id = self.correlation_id = 0
        self.start_time_ns, self.end_time_ns = times
        self.duration_time_ns = times[1] - times[0]
        self.start_tid = thread
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.finished = True
        self.typed = typed
        self.tag, self.extra_fields = typed


def _node(event: Event, origin_ns: int) -> Node:
    timed = KinetoEvent(event, origin_ns)
    node = Node(event.trace_name or event.name, (timed.start_ns(), timed.end_ns()),
                event.device_resource_id, _typed(event))
    node.id = node.correlation_id = event.id
    return node


def _allocations(event: Event, parent: Node | None) -> list[Node]:
    """What was allocated and freed while the event was the innermost."""
    nodes = []
    for row in event.allocations:
        fields = Fields(
            kind=_profiler._ExtraFields_Allocation, ptr=row["address"], alloc_size=row["bytes"],
            device=torch.device(row["device"]), id=None, allocation_id=None,
            total_allocated=row["total_bytes"] or 0, total_reserved=0)
        node = Node(_MEMORY, (row["at_ns"], row["at_ns"]), event.device_resource_id,
                    (_profiler._EventType.Allocation, fields))
        node.parent = parent
        nodes.append(node)
    return nodes


# What Kineto calls types of elements.
_TYPES = {"float": torch.float32, "double": torch.float64, "c10::Half": torch.float16,
          "c10::BFloat16": torch.bfloat16, "long int": torch.int64, "int": torch.int32,
          "short int": torch.int16, "signed char": torch.int8, "unsigned char": torch.uint8,
          "bool": torch.bool}


def _inputs(event: Event) -> list[Any]:
    """Tensors with their sizes, strides and type, but not which they are; the values of others."""
    told = zip(event.structured_input_shapes, event.structured_input_strides, event.input_dtypes,
               event.concrete_inputs)
    return [Fields(kind=_profiler._TensorMetadata, sizes=sizes, strides=strides,
                    dtype=_TYPES[kind], layout=torch.strided, id=None, storage_data_ptr=None,
                    allocation_id=None, device=torch.device("cpu"))
            if kind in _TYPES else tuple(value) if isinstance(value, list) else value
            for sizes, strides, kind, value in told]


def _typed(event: Event) -> tuple[Any, Any]:
    kinds = _profiler._EventType
    if not event.is_python_function:
        return kinds.TorchOp, Fields(
            kind=_profiler._ExtraFields_TorchOp, name=event.name, inputs=_inputs(event),
            scope=_profiler.RecordScope(event.scope), sequence_number=event.sequence_nr,
            allow_tf32_cublas=False)
    caller = _frame(event.cpu_parent)
    if event.name.startswith("<built-in"):
        return kinds.PyCCall, Fields(kind=_profiler._ExtraFields_PyCCall, caller=caller)
    return kinds.PyCall, Fields(kind=_profiler._ExtraFields_PyCall, callsite=_frame(event),
                                 caller=caller, module=None, optimizer=None)


def _frame(event: Event | None) -> SimpleNamespace:
    """Where the innermost Python function is defined that the event is or lies in."""
    while event is not None:
        place, _, function = event.name.rpartition(": ")
        file, _, line = place.rpartition("(")
        if event.is_python_function and line.endswith(")"):
            return SimpleNamespace(file_name=file, line_number=int(line[:-1]),
                                   function_name=function)
        event = event.cpu_parent
    return SimpleNamespace(file_name="", line_number=0, function_name="")
