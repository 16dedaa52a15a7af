"""Brings a PyTorch program into the run without an edit of it.

install() is called right after `torch` was imported in a recorded process. It loads the operator
shim (torch_build), and from then on these operations are recorded:

    data       DataLoader: making an iterator, and its __next__
    fetch      in DataLoader workers: loading one batch
    forward    the outermost call of an nn.Module on a thread
    backward   a run of autograd's engine
    optimizer  Optimizer.step

A step of the process ends where the step() of its primary optimizer ends. docs/pytorch.md says
what counts as what. uninstall() puts everything back.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut import _record, _source_state
from crosscut.adapters import operations, torch_build, torch_modules

_CALL_SLOT = 128  # offset of tp_call in CPython's PyTypeObject, 3.10 to 3.13
_BUILD_HINT = "run: crosscut doctor --build"


class _Operations(operations.Operations):
    """The patches behind the automatic operations. All of them under the GIL."""

    def __init__(self, torch: ModuleType) -> None:
        super().__init__()
        self.torch = torch
        self._thunk = self.library.crosscut_operations_thunk()
        self._slot = ctypes.c_void_p.from_address(id(torch.nn.Module) + _CALL_SLOT)
        self._loader = 0  # the process that was last seen to be a DataLoader worker

    def install(self) -> None:
        self._patch_modules()
        names = torch_modules.Names(self.library)
        self._undo.append(names.remove)
        self._patch_engine()
        self._patch_optimizers()
        self._patch_loading()
        self.add_source(str(self.torch.__version__))

    def uninstall(self) -> None:
        self.library.crosscut_operations_remove()
        self.undo()

    def _bracket(self, operation: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.bracket(operation, function, after=self._check_modules)

    # ---- forward ----

    def _patch_modules(self) -> None:
        module = self.torch.nn.Module
        if not self._slots_are_where_we_think(module):
            raise RuntimeError("this interpreter keeps tp_call elsewhere: no operation 'forward'")
        self._patch_classes(module)
        self._undo.append(lambda: self._unpatch_classes(module))
        patch = self.library.crosscut_operations_patch

        def init_subclass(cls: type, **kwargs: Any) -> None:
            super(module, cls).__init_subclass__(**kwargs)
            patch(id(cls) + _CALL_SLOT)

        self.replace(module, "__init_subclass__", classmethod(init_subclass))
        patcher = self.torch.fx._symbolic_trace._Patcher
        revert, check = patcher.revert_all_patches, self._check_modules

        @functools.wraps(revert)
        def revert_and_check(*args: Any) -> Any:
            try:
                return revert(*args)
            finally:
                check()

        self.replace(patcher, "revert_all_patches", revert_and_check)

    @staticmethod
    def _slots_are_where_we_think(module: type) -> bool:
        class Callable_:
            def __call__(self) -> None: ...

        class Silent: ...

        def slot(cls: type) -> int | None:
            return ctypes.c_void_p.from_address(id(cls) + _CALL_SLOT).value

        return slot(Silent) is None and slot(Callable_) == slot(module) is not None

    def _patch_classes(self, module: type) -> None:
        patch = self.library.crosscut_operations_patch
        for cls in operations.with_subclasses(module):
            patch(id(cls) + _CALL_SLOT)

    def _unpatch_classes(self, module: type) -> None:
        for cls in operations.with_subclasses(module):
            self.library.crosscut_operations_unpatch(id(cls) + _CALL_SLOT)

    def _check_modules(self) -> None:
        """CPython fills the slots anew when somebody assigns nn.Module.__call__. While it traces,
        torch.fx does, and with it torch.compile."""
        # Without _undo: a call that was under way when everything was put back.
        if self._slot.value != self._thunk and self._undo:
            self._patch_classes(self.torch.nn.Module)

    # ---- backward ----

    def _patch_engine(self) -> None:
        variable = self.torch.autograd.variable.Variable
        before = variable._execution_engine
        bracket = self._bracket

        class Engine(type(before)):  # type: ignore[misc]
            run_backward = bracket("backward", type(before).run_backward)

        Engine.__name__ = Engine.__qualname__ = type(before).__name__
        Engine.__module__ = type(before).__module__
        self.replace(variable, "_execution_engine", Engine())

    # ---- optimizer and steps ----

    def _patch_optimizers(self) -> None:
        optimizer = self.torch.optim.Optimizer
        hook = optimizer.profile_hook_step

        @functools.wraps(hook)
        def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
            return self._optimizer_step(hook(function))

        self.replace(optimizer, "profile_hook_step", staticmethod(profile_hook_step))
        for cls in operations.with_subclasses(optimizer):
            step = vars(cls).get("step")
            if getattr(step, "hooked", False):
                self._wrap_step(cls, step)
        self._undo.append(lambda: self._unwrap_steps(optimizer))

    def _wrap_step(self, cls: type, step: Callable[..., Any]) -> None:
        cls.step = self._optimizer_step(step)  # type: ignore[attr-defined]

    def _unwrap_steps(self, optimizer: type) -> None:
        for cls in operations.with_subclasses(optimizer):
            step = vars(cls).get("step")
            before = getattr(step, "_crosscut_before", None)
            if before is not None:
                cls.step = before  # type: ignore[attr-defined]
                cls.step.hooked = True  # type: ignore[attr-defined]

    def _optimizer_step(self, function: Callable[..., Any]) -> Callable[..., Any]:
        scope = _record.found_operation("optimizer")
        on, passed, check = self.on, self.steps.passed, self._check_modules
        is_compiling = self.torch.compiler.is_compiling

        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return function(*args, **kwargs)
            if on.value:
                with scope:
                    result = function(*args, **kwargs)
            else:
                result = function(*args, **kwargs)
            check()
            passed(args[0])
            return result

        step._crosscut_before = function  # type: ignore[attr-defined]
        return step

    # ---- data ----

    def _patch_loading(self) -> None:
        loading = self.torch.utils.data.dataloader
        for owner, name in ((loading._BaseDataLoaderIter, "__next__"),
                            (loading.DataLoader, "__iter__")):
            self.replace(owner, name, self._bracket("data", vars(owner)[name]))
        fetching = self.torch.utils.data._utils.fetch
        for owner in (fetching._MapDatasetFetcher, fetching._IterableDatasetFetcher):
            self.replace(owner, "fetch", self._fetch(owner.fetch))

    def _fetch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Loading a batch: an operation of its own in the worker processes only."""
        worker_info = self.torch.utils.data.get_worker_info
        scope = _record.found_operation("fetch")
        on, this_thread = self.on, self.this_thread

        @functools.wraps(function)
        def fetch(*args: Any, **kwargs: Any) -> Any:
            if not on.value or worker_info() is None:
                return function(*args, **kwargs)
            inside = this_thread.inside
            inside.value = 1  # a forked worker inherits what its parent was in
            try:
                with scope:
                    if self._loader != os.getpid():
                        self._loader = os.getpid()
                        self.library.crosscut_operations_loads_data()
                    return function(*args, **kwargs)
            finally:
                inside.value = 0

        return fetch


_operations: _Operations | None = None
_shim: ctypes.CDLL | None = None


def _add_operators(version: str) -> None:
    global _shim
    library = torch_build.find()
    if library is None:
        _record.source_state("pytorch", version, "missing", _BUILD_HINT)
        return
    try:
        shim = ctypes.CDLL(str(library))
    except OSError as error:
        _record.source_state("pytorch", version, "failed", f"{error}; {_BUILD_HINT}")
        return
    extras = _source_state.extras()
    shim.crosscut_pytorch_inputs(int(extras["shapes"]))
    if shim.crosscut_pytorch_add(version.encode()) != 0:
        _record.source_state("pytorch", version, "failed", _record.error())
        return
    _shim = shim
    _lead_fast_scopes(shim)
    _record.source_state("pytorch", version, "on", "")
    set_extra("allocations", extras["allocations"])


_METHOD = 40  # offset of d_method in CPython's PyMethodDescrObject, 3.10 to 3.13


def _lead_fast_scopes(shim: ctypes.CDLL) -> None:
    """Scopes of torch._C._profiler._RecordFunctionFast are recorded like others."""
    scope = getattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast", None)
    methods = [vars(scope).get(name) if scope else None for name in ("__enter__", "__exit__")]
    if all(type(method).__name__ == "method_descriptor" for method in methods):
        shim.crosscut_pytorch_fast_scopes(*(
            ctypes.c_void_p(ctypes.c_void_p.from_address(id(method) + _METHOD).value)
            for method in methods))


def set_extra(name: str, on: bool) -> None:
    """Whether "shapes" or "allocations" are recorded, from the next session on."""
    if _shim is None or "torch" not in sys.modules:
        return
    if name == "shapes":
        _shim.crosscut_pytorch_inputs(int(on))
        return
    version = str(sys.modules["torch"].__version__)
    if on:
        _record.source_state("allocations", version, "on", "")
    if _shim.crosscut_pytorch_allocations(int(on), version.encode()) != 0:
        _record.source_state("allocations", version, "failed", _record.error())


def install(torch: ModuleType | None = None) -> None:
    """Begins to record PyTorch in this process. Idempotent; a failure of one part leaves the
    others working and is stated in the table `sources`."""
    global _operations
    if torch is None:
        import torch  # type: ignore[no-redef]
    assert torch is not None
    version = str(torch.__version__)
    if _source_state.wanted("operations") and _operations is None:
        ours = None
        try:
            ours = _Operations(torch)
            ours.install()
            _operations = ours
            _record.source_state("operations", version, "on", "")
        except Exception as error:
            if ours is not None:
                ours.uninstall()
            _record.source_state("operations", version, "failed", f"{error}")
    if _source_state.wanted("pytorch") and _shim is None:
        _add_operators(version)


def steps_declared() -> None:
    """From now on the program says itself where its steps are."""
    if _operations is not None:
        _operations.steps.declared()


def withdraw() -> None:
    """Puts back the operations' patches; install() brings them again. What hooks the sources have
    is the recorder's to switch."""
    global _operations
    if _operations is not None:
        _operations.undo()
        _operations = None


def uninstall() -> None:
    """Puts back everything that install() changed."""
    global _operations, _shim
    if _shim is not None:
        set_extra("allocations", False)
        _shim.crosscut_pytorch_fast_scopes(None, None)
        _shim.crosscut_pytorch_remove()
        _shim = None
    if _operations is not None:
        _operations.uninstall()
        _operations = None
