"""Which tensor is which, for torch.profiler's memory profile.

Crosscut records what operators are called with, but not which tensors these are. A memory profile
is made of that alone, so PyTorch's own collector runs beside the recording where a profile is asked
for all that a memory profile needs. It gets no Python functions: those whose parameters it would
look at, modules and optimizers, are told here.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
import time
import warnings
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import autograd
from torch._C import _profiler
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from crosscut import _record
from crosscut.adapters import torch_modules
from crosscut.torch_kineto import Fields, nodes_of

_open: Identities | None = None  # for which PyTorch's collector runs
_left_on: set[int] = set()  # threads on which it still runs, for nobody


class _Seen:
    """A tensor at the time when Python had it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.at_ns = time.time_ns()
        self.impl_ptr = tensor._cdata
        self.storage_data_ptr = tensor.untyped_storage().data_ptr()
        self.sizes, self.strides = list(tensor.shape), list(tensor.stride())
        self.dtype, self.device, self.layout = tensor.dtype, tensor.device, tensor.layout


def _seen(value: Any) -> _Seen | None:
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return _Seen(value)
    except (RuntimeError, NotImplementedError):  # a tensor without a storage
        return None


class Identities:
    """Of one cycle. `collects`: those of operators and blocks, too, not only of modules and
    optimizers. `begin` where it begins to record; `end_open` ends it."""

    def __init__(self, collects: bool) -> None:
        self._collects = collects
        self._modules: dict[str, SimpleNamespace] = {}  # by the names of their calls
        self._optimizers: list[SimpleNamespace] = []
        self._known = weakref.WeakKeyDictionary[Optimizer, int]()  # their places there
        self._steps: list[int] = []  # whose each was
        self._hook: Any = None
        self._thread = 0
        self._result: Any = None

    def begin(self) -> None:
        """On the thread that profiles."""
        global _open
        _open = self
        torch_modules.on_named = self._take_module
        self._hook = register_optimizer_step_post_hook(_record.unseen(self._take_optimizer))
        if self._collects:
            self._collect()

    def _collect(self) -> None:
        self._thread = threading.get_ident()
        if self._thread in _left_on:
            _left_on.remove(self._thread)
            autograd._disable_profiler()
        if autograd._profiler_enabled():
            _tell("another profiler of PyTorch's is on")
            self._collects = False
            return
        collector = autograd.profiler.profile(record_shapes=True, profile_memory=True,
                                              use_kineto=True)
        config, activities = collector.config(), collector.kineto_activities
        autograd._prepare_profiler(config, activities)
        autograd._enable_profiler(config, activities)

    def _end(self) -> None:
        torch_modules.on_named = None
        self._hook.remove()
        if not self._collects:
            return
        if threading.get_ident() != self._thread:
            _left_on.add(self._thread)  # only there it can be ended
            _tell("the profile ended on another thread than it began on")
        elif autograd._profiler_enabled():
            self._result = autograd._disable_profiler()
        else:
            _tell("another profiler of PyTorch's took its place")

    def _take_module(self, name: str, module: Any) -> None:
        self._modules[name] = SimpleNamespace(
            self_ptr=id(module), cls_ptr=id(type(module)), cls_name=type(module).__name__,
            parameters=[(key, _seen(parameter), _seen(getattr(parameter, "grad", None)))
                        for key, parameter in module._parameters.items() if parameter is not None])

    def _take_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        known = self._known.setdefault(optimizer, len(self._optimizers))
        self._steps.append(known)
        if known < len(self._optimizers):
            return
        state = optimizer.state
        self._optimizers.append(SimpleNamespace(self_ptr=id(optimizer), parameters=[
            (_seen(parameter), _seen(parameter.grad),
             [(str(key), _seen(value)) for key, value in state.get(parameter, {}).items()
              if isinstance(value, torch.Tensor)])
            for group in optimizer.param_groups for parameter in group["params"]]))

    @functools.cached_property
    def _told(self) -> _Told:
        roots = [] if self._result is None else self._result.experimental_event_tree()
        tensors = _Tensors(roots)
        modules = {name: _with(module, parameters=[
            (key, tensors.of(parameter), tensors.of(gradient))
            for key, parameter, gradient in module.parameters])
            for name, module in self._modules.items()}
        optimizers = [_with(optimizer, parameters=[
            (tensors.of(parameter), tensors.of(gradient),
             [(key, tensors.of(value)) for key, value in state])
            for parameter, gradient, state in optimizer.parameters])
            for optimizer in self._optimizers]
        return _Told(roots, modules, optimizers)

    def add_to(self, nodes: Iterable[tuple[str, Any]]) -> None:
        """Adds to nodes of a recording what they lack: the tensors of operators and blocks, of
        modules and optimizers. Each comes with the name of its call in the recording. Those of
        which PyTorch's collector saw more, or fewer, stay as they are."""
        told = self._told
        ours, theirs = defaultdict(list), defaultdict(list)
        for name, node in nodes:
            ours[_kind(node)].append(node)
            if name in told.modules:
                node.extra_fields.module = told.modules[name]
        for node in nodes_of(told.roots):
            theirs[_kind(node)].append(node)
        unsure = 0
        for kind, found in ours.items():
            if len(found) != len(theirs[kind]):
                counts = self._result is not None and kind[0] in _WITH_TENSORS
                unsure += len(found) if counts else 0
                continue
            for node, other in zip(sorted(found, key=_begin), sorted(theirs[kind], key=_begin)):
                _take(node.extra_fields, other.extra_fields)
        if unsure > 0:
            _tell(f"{unsure} of its operators and blocks are not those of PyTorch's collector")
        steps = sorted((node for found in ours.values() for node in found
                        if node.name.endswith(": _optimizer_step_code")), key=_begin)
        if len(steps) == len(self._steps):
            for node, which in zip(steps, self._steps):
                node.extra_fields.optimizer = told.optimizers[which]


_WITH_TENSORS = {_profiler._EventType.TorchOp, _profiler._EventType.Allocation}


class _Told(NamedTuple):
    """All that there is to tell of a cycle; modules by the names of their calls."""

    roots: list[Any]
    modules: dict[str, SimpleNamespace]
    optimizers: list[SimpleNamespace]


def _with(fields: SimpleNamespace, **others: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(fields), **others})


def _begin(node: Any) -> int:
    return int(node.start_time_ns)


def _kind(node: Any) -> tuple[Any, ...]:
    """Nodes of one kind, in their order, are the same in both recordings."""
    if node.tag == _profiler._EventType.Allocation:
        return node.tag, node.extra_fields.ptr, node.extra_fields.alloc_size
    return node.tag, node.name


def _take(fields: Any, others: Any) -> None:
    if isinstance(others, _profiler._ExtraFields_TorchOp):
        fields.inputs = others.inputs
    elif isinstance(others, _profiler._ExtraFields_Allocation):
        fields.id, fields.allocation_id = others.id, others.allocation_id


def _tell(why: str) -> None:
    warnings.warn(f"blocks of this profile have no category in its memory profile: {why}",
                  stacklevel=9)


def end_open() -> None:
    """Ends the collection that is open, if one is."""
    global _open
    if _open is not None:
        ended, _open = _open, None
        ended._end()


class _Tensors:
    """Knows tensors by where they lie, and when."""

    def __init__(self, roots: list[Any]) -> None:
        # By address, in order of time: whether it is free from then on, and what was there.
        self._uses: dict[int, list[tuple[int, bool, int, int]]] = defaultdict(list)
        for node in nodes_of(roots):
            kind, fields = node.typed
            if kind == _profiler._EventType.Allocation:
                self._note(node, fields.ptr, fields, fields.alloc_size < 0)
            elif kind == _profiler._EventType.TorchOp:
                for tensor in _tensors_of(fields.inputs):
                    self._note(node, tensor.storage_data_ptr, tensor, False)
        for uses in self._uses.values():
            uses.sort()
        self._others: dict[int, int] = {}  # ids of those that nothing used, by address
        self._next = itertools.count(1 + max(
            (max(use[2:]) for uses in self._uses.values() for use in uses), default=0))

    def _note(self, node: Any, address: int | None, what: Any, freed: bool) -> None:
        if address and what.id is not None and what.allocation_id is not None:
            self._uses[address].append((node.start_time_ns, freed, what.id, what.allocation_id))

    def of(self, seen: _Seen | None) -> Any:
        """As PyTorch tells of a tensor."""
        if seen is None:
            return None
        number, allocation = self._ids(seen)
        return Fields(kind=_profiler._TensorMetadata, id=number, allocation_id=allocation,
                      **vars(seen))

    def _ids(self, seen: _Seen) -> tuple[int, int]:
        uses = self._uses.get(seen.storage_data_ptr, [])
        at = bisect.bisect(uses, seen.at_ns, key=lambda use: use[0])
        for use in [*uses[at - 1:at], *uses[at:at + 1]]:
            is_before = use[0] <= seen.at_ns
            if not (is_before and use[1]):
                return use[2], use[3]
        other = self._others.get(seen.storage_data_ptr)
        if other is None:
            other = self._others[seen.storage_data_ptr] = next(self._next)
        return other, other


def _tensors_of(inputs: Iterable[Any]) -> Iterator[Any]:
    for one in inputs:
        for tensor in one if isinstance(one, list) else (one,):
            if isinstance(tensor, _profiler._TensorMetadata):
                yield tensor
