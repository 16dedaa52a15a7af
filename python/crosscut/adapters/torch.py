"""Brings a PyTorch program into the run without an edit of it.

install() is called right after `torch` was imported in a recorded process. It loads the operator
shim (torch_build), and builds one where none fits. From then on these operations are recorded:

    data       DataLoader: making an iterator, and its __next__
    fetch      in DataLoader workers: loading one batch
    forward    the outermost call of an nn.Module on a thread
    backward   a run of autograd's engine, with what prepares it
    optimizer  Optimizer.step

A step of the process ends where the step() of its primary optimizer ends, or in a program without
one where what it repeats does: backward, else forward, else data. docs/pytorch.md says
what counts as what. uninstall() puts everything back.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pathlib
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut import _patches, _record, _source_state
from crosscut.adapters import operations, torch_build, torch_modules

_HEAD = object.__basicsize__  # bytes; without a GIL there are more
_CALL_SLOT = _HEAD + 112  # offset of tp_call in CPython's PyTypeObject, 3.10 to 3.15
_BUILD_HINT = "run: crosscut doctor --build"


def no_optimizer() -> bool:
    """Whether the program has made none: PyTorch marks step() of a class with its first object."""
    optimizer = sys.modules["torch"].optim.Optimizer
    return not any(_is_hooked(vars(cls).get("step"))
                   for cls in operations.with_subclasses(optimizer))


def _is_hooked(step: Any) -> bool:
    return getattr(step, "hooked", False) is True


class _Operations(operations.Operations):
    """The patches behind the automatic operations. All of them under the GIL."""

    def __init__(self, torch: ModuleType) -> None:
        super().__init__()
        self.torch = torch
        self._backward = _patches.Patches()
        self._check_modules = _record.slot_guard(
            id(torch.nn.Module) + _CALL_SLOT, self.library.crosscut_operations_thunk(),
            self._repair())

    def install(self) -> None:
        if code := _record.code_of_functions():  # torch.compile's guards ask in C
            self.library.crosscut_operations_import(b"PyFunction_GetCode", ctypes.c_void_p(code))
        self._patch_modules()
        self._follow_forwards()
        self._name_modules()
        self._patch_engine()
        self._patch_optimizers()
        self._patch_loading()
        self.tell_callbacks()
        self.on_undo(lambda: self.library.crosscut_operations_callbacks(0))
        self.add_source(str(self.torch.__version__))

    def tell_callbacks(self) -> None:
        """Python that PyTorch's C++ calls is told apart where its functions are no spans."""
        apart = not _source_state.extras()["calls"] and _source_state.records_boundary()
        if not self.library.crosscut_operations_callbacks(int(apart)) and apart:
            _source_state.report_missing("callbacks", "hooks and other Python that this PyTorch "
                                         "calls count as its operators")

    def _name_modules(self) -> None:
        global _names
        _names = _names or torch_modules.Names(self.library)
        _names.install()
        self.on_undo(_names.remove)

    def uninstall(self) -> None:
        self.library.crosscut_operations_remove()
        self.undo()

    def _bracket(self, operation: str, function: Callable[..., Any]) -> Any:
        return self.bracket(operation, function, after=self._check_modules)

    # ---- forward ----

    def _patch_modules(self) -> None:
        module = self.torch.nn.Module
        if not self._slots_are_where_we_think(module):
            raise RuntimeError("this interpreter keeps tp_call elsewhere: no operation 'forward'")
        self._patch_classes(module)
        self.on_undo(lambda: self._unpatch_classes(module))
        self._follow_classes(module)
        patcher = self.torch.fx._symbolic_trace._Patcher
        self.replace(patcher, "revert_all_patches", _record.around(
            patcher.revert_all_patches, after=self._check_modules))

    def _follow_forwards(self) -> None:
        """A program that only infers has a step for each."""
        def follow(unled: Callable[[], bool] | None) -> None:
            ended = ctypes.c_void_p(_record.follow_forwards(unled))
            self.library.crosscut_operations_ended(ended if unled else None)

        follow(no_optimizer)
        self.on_undo(lambda: follow(None))

    def _follow_classes(self, module: type) -> None:
        def made(cls: type) -> None:
            self.library.crosscut_operations_patch(id(cls) + _CALL_SLOT)

        _record.follow_classes(module, "made", made)
        self.on_undo(lambda: _record.follow_classes(module, "made", None))

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

    def _repair(self) -> Callable[[], None]:
        """CPython fills the slots anew when somebody assigns nn.Module.__call__. While it traces,
        torch.fx does, and with it torch.compile."""
        ours = weakref.ref(self)

        def repair() -> None:
            operations = ours()
            # Without patches: a call that was under way when everything was put back.
            if operations:
                operations._patch_classes(operations.torch.nn.Module)

        return repair

    # ---- backward ----

    def _patch_engine(self) -> None:
        self.name_backward("backward")
        self.on_undo(self._backward.undo)
        self.on_undo(lambda: _record.divert(self._run_backward(), None))

    def _run_backward(self) -> Any:
        return type(self.torch.autograd.variable.Variable._execution_engine).run_backward

    def name_backward(self, operation: str) -> None:
        """What a run of the engine is called from now on, with what prepares it."""
        self._backward.undo()
        function = self._run_backward()
        theirs = os.path.join(os.path.dirname(str(self.torch.__file__)), "")
        ends = _record.backwards(self._check_modules, no_optimizer,
                                 getattr(self.torch._C, "_current_graph_task_id", int),
                                 (theirs, "<frozen "),
                                 (os.path.join(theirs, "_dynamo", ""),))
        if not _record.divert(function, self.bracket(operation, function, ends, always=True)):
            raise RuntimeError("autograd's engine is called in another way: no operation "
                               f"{operation!r}")
        autograd = self.torch.autograd
        for owner, name in ((self.torch.Tensor, "backward"), (autograd, "backward"),
                            (autograd, "grad")):
            self._backward.replace(owner, name, self.bracket(operation, vars(owner)[name], ends,
                                                             always=True))

    # ---- optimizer and steps ----

    def _patch_optimizers(self) -> None:
        """PyTorch puts a function around the step() of a class when it makes its first object."""
        optimizer, name = self.torch.optim.Optimizer, "_patch_step_function"
        patch = self.patcher(optimizer, ("step",), self._update)
        for cls in operations.with_subclasses(optimizer):
            patch(cls)
        self.replace(optimizer, name, _record.around(
            vars(optimizer)[name], after=lambda made, *_: patch(type(made))))

    def _update(self, _cls: type, _name: str, step: Callable[..., Any]) -> Any:
        """A step() that calls another one, of the class above or of a second optimizer, makes one
        update with it."""
        return self.around(step, "optimizer", inside=self._word("updating"), nests=True,
                           always=True, after=_record.update_passed) if _is_hooked(step) else None

    # ---- data ----

    def _patch_loading(self) -> None:
        loading = self.torch.utils.data.dataloader
        for owner, name, ends in ((loading._BaseDataLoaderIter, "__next__",
                                   _record.batches(self._check_modules)),
                                  (loading.DataLoader, "__iter__", self._check_modules)):
            self.replace(owner, name, self.bracket("data", vars(owner)[name], ends, always=True))
        fetching = self.torch.utils.data._utils.fetch
        for owner in (fetching._MapDatasetFetcher, fetching._IterableDatasetFetcher):
            self.replace(owner, "fetch", self._fetch(owner.fetch))

    def _fetch(self, function: Callable[..., Any]) -> Any:
        """Loading a batch: an operation of its own in the worker processes only."""
        worker_info = self.torch.utils.data.get_worker_info
        loads_data = self.library.crosscut_operations_loads_data

        def loads() -> bool:
            works = worker_info() is not None
            if works:
                loads_data()
            return works

        return self.around(function, "fetch", inside=self.inside, nests=True,
                           before=_record.once_per_process(loads))


_operations: _Operations | None = None
_names: torch_modules.Names | None = None
_shim: ctypes.CDLL | None = None
_loads = _patches.Patches()


def _add_operators(version: str) -> None:
    """Loads the first shim that passes its test: the one that came with the package, the one that
    was built here, or one that is built now."""
    global _shim
    problems: list[str] = []
    for find in (torch_build.carried, torch_build.built, _build):
        try:
            library = find()
            shim = _load(library) if library is not None else None
        except (OSError, ValueError, torch_build.BuildError) as error:
            problems.append(str(error))
            continue
        if shim is not None:
            break
    else:
        _tell_no_operators(version, problems)
        return
    _set_inputs(shim)
    if shim.crosscut_pytorch_add(version.encode()) != 0:
        _record.source_state("pytorch", version, "failed", _record.error())
        return
    _shim = shim
    _lead_fast_scopes(shim)
    _record.source_state("pytorch", version, "on", "")
    set_extra("allocations")


def _load(library: pathlib.Path) -> ctypes.CDLL:
    """Raises OSError where it cannot be loaded or fails its test."""
    shim = ctypes.CDLL(str(library))
    shim.crosscut_pytorch_test.restype = ctypes.c_char_p
    if problem := shim.crosscut_pytorch_test().decode():
        raise OSError(f"{library} does not fit this PyTorch: {problem}")
    return shim


def _build() -> pathlib.Path:
    if words := torch_build.refusal():
        raise torch_build.BuildError(words)
    return torch_build.build(tell=_say)


def _say(words: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a program may close it
        print(f"crosscut: {words}", file=sys.stderr, flush=True)


def _tell_no_operators(version: str, problems: list[str]) -> None:
    """In the report, and on stderr once for a program and those that it starts."""
    why = "; ".join(dict.fromkeys(problem.splitlines()[0] for problem in problems))
    words = f"no operators of PyTorch are recorded: {why}; {_BUILD_HINT}"
    _record.source_state("pytorch", version, "missing", words)
    if not os.environ.get("CROSSCUT_TOLD"):
        os.putenv("CROSSCUT_TOLD", "operators")  # for children; the program's os.environ stays
        _say(words)


_METHOD = _HEAD + 24  # offset of d_method in CPython's PyMethodDescrObject, 3.10 to 3.15


def _lead_fast_scopes(shim: ctypes.CDLL) -> None:
    """Scopes of torch._C._profiler._RecordFunctionFast are recorded like others."""
    scope = getattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast", None)
    methods = [vars(scope).get(name) if scope else None for name in ("__enter__", "__exit__")]
    if all(type(method).__name__ == "method_descriptor" for method in methods):
        shim.crosscut_pytorch_fast_scopes(*(
            ctypes.c_void_p(ctypes.c_void_p.from_address(id(method) + _METHOD).value)
            for method in methods))


def _follow_loads() -> None:
    """What is built on PyTorch and loaded later is led like its own libraries: native modules, and
    what ctypes loads, as torch.ops.load_library() does."""
    _record.follow_loads(_loaded)
    _loads.on_undo(lambda: _record.follow_loads(None))
    _loads.replace(ctypes.CDLL, "__init__", _record.around(vars(ctypes.CDLL)["__init__"],
                                                           after=_loaded))


def _loaded(*_: object) -> None:
    if _operations is not None:
        _operations.library.crosscut_operations_loaded()
    if _shim is not None:
        _shim.crosscut_pytorch_loaded()


def follow_collectives(before_groups: bool) -> None:
    """Collectives tell their process group and their ordinal in it from now on. `before_groups`:
    no group was made yet."""
    if _shim is not None and _shim.crosscut_pytorch_collectives(int(before_groups)) != 0:
        _record.source_state("collectives", "", "missing",
                             "this PyTorch does not tell the groups of collectives")


def _set_inputs(shim: ctypes.CDLL) -> None:
    extras = _source_state.extras()
    shim.crosscut_pytorch_inputs(2 if extras["scalars"] else int(extras["shapes"]))


def set_extra(name: str) -> None:
    """Has one of _source_state.extras() be recorded as it says, from the next session on."""
    if name == "calls":
        if _operations is not None:
            _operations.tell_callbacks()
    elif _shim is None or "torch" not in sys.modules:
        return
    elif name == "allocations":
        _set_allocations(_source_state.extras()[name])
    else:
        _set_inputs(_shim)


def _set_allocations(on: bool) -> None:
    """Until the interpreter ends at the latest: what it frees then is not the program's doing."""
    assert _shim is not None
    version = str(sys.modules["torch"].__version__)
    atexit.unregister(_set_allocations)
    if on:
        _record.source_state("allocations", version, "on", "")
        atexit.register(_set_allocations, False)
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
    if not _loads:
        _follow_loads()


def steps_declared() -> None:
    """From now on the program says itself where its steps are."""
    if _operations is not None:
        _record.steps_declared()


def withdraw() -> None:
    """Puts back the operations' patches; install() brings them again. What hooks the sources have
    is the recorder's to switch."""
    global _operations
    _loads.undo()
    if _operations is not None:
        _operations.undo()
        _operations = None


def uninstall() -> None:
    """Puts back everything that install() changed."""
    global _operations, _shim
    _loads.undo()
    if _shim is not None:
        _set_allocations(False)
        _shim.crosscut_pytorch_fast_scopes(None, None)
        _shim.crosscut_pytorch_remove()
        _shim = None
    if _operations is not None:
        _operations.uninstall()
        _operations = None
