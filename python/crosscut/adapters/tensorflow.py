"""Brings a TensorFlow program into the run without an edit of it.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these operations are recorded:

    compile     the first call of a tf.function that updates or evaluates a model, and each tracing
    train_step  an execution of a graph of a tf.function that applies gradients; a call of Keras's
                train function
    evaluate    a call of Keras's test function; predict: of its predict function
    data        tf.data's iterators, called from Python
    backward    GradientTape.gradient outside tf.function; optimizer: apply_gradients outside it

A step of the process ends where a train_step or an optimizer outside tf.function ends. Which graphs
train is read out of them (tensorflow_graphs.py). TensorFlow's own profiler runs beside
(profiles.py). docs/tensorflow.md says what counts as what. uninstall() puts everything back.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import mmap
import os
import shutil
import sys
import tempfile
import uuid
import weakref
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from crosscut import _patches, _plugins, _record, _source_state
from crosscut.adapters import operations, own_profiles, profiles, tensorflow_graphs

_WARNING = 1  # absl::LogSeverityAtLeast


class _Operations(operations.Operations):
    """The patches behind the automatic operations. All of them under the GIL."""

    def __init__(self) -> None:
        super().__init__()
        self._address = ctypes.addressof(self.on)
        self._graphs = tensorflow_graphs.Graphs()

    def calls(self) -> SimpleNamespace:
        """What is told of tf.functions, graphs and updates. Without TensorFlow, as when Keras runs
        on another backend, all updates are eager."""
        told = _record.compiled_functions(
            *map(_record.found_operation, ("compile", "train_step", "optimizer")),
            sys.modules.get("tensorflow.python.eager.context"), self._address,
            functools.partial(_record.ours, self._graphs.updated_by), self._graphs.keep)
        return SimpleNamespace(**{one.__name__: one for one in told})

    def patch_optimizer(self, owner: type, name: str) -> None:
        calls = self.calls()
        self.replace(owner, name, self.told(getattr(owner, name), calls.update_begins,
                                             calls.update_ends, inside=self.inside))

    def name_function(self, owner: type, there: list[Any], name: str, kind: str) -> None:
        named: list[weakref.ref[Any]] = []

        def name_it(trainer: Any, compiled: bool) -> None:
            function = vars(trainer).get(name)
            if function is not None and type(function) is not _record.around:
                setattr(trainer, name, self.told(function, *_record.compiled_function(
                    *map(_record.found_operation, ("compile", kind)),
                    trainer if kind == "train_step" else None, compiled)))
                named.append(weakref.ref(trainer))

        def made(trainer: Any, _: Any, failed: bool) -> None:
            if not failed:
                name_it(trainer, compiled=False)

        def put_back() -> None:
            for reference in named:
                trainer = reference()
                ours = vars(trainer).get(name) if trainer is not None else None
                if type(ours) is _record.around:
                    _record.around.retire(ours)
                    setattr(trainer, name, _record.around.function.__get__(ours))

        for trainer in there:
            name_it(trainer, compiled=True)
        self.replace(owner, f"make_{name}", _record.around(
            getattr(owner, f"make_{name}"), after=made))
        self.on_undo(put_back)

    def tracing(self, function: Callable[..., Any]) -> Any:
        """What is traced again, after the first call, is an operation inside that call's."""
        return self.around(function, "compile", nests=True)

    def eager(self, operation: str, function: Callable[..., Any]) -> Any:
        """An operation that calls in it belong to, unless it becomes a part of a graph."""
        return self.around(function, operation, before=self.calls().eager, inside=self.inside,
                           nests=True)

    def told(self, function: Callable[..., Any], before: Callable[..., Any],
              after: Callable[..., Any], **how: Any) -> Any:
        """A call that is told of in control steps, too."""
        return self.around(function, before=before, after=after, always=True, **how)


class _QuietLog:
    """TensorFlow tells of each profile in five lines on stderr: here only of what is a warning."""

    def __init__(self) -> None:
        self._set = self._get = None

    def find(self) -> None:
        folder = os.path.dirname(os.path.abspath(sys.modules["tensorflow"].__file__ or ""))
        path = os.path.join(folder, "libtensorflow_framework.so.2")
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as map_:
            setter = self._symbol(map_, b"14SetMinLogLevelENS0_18LogSeverityAtLeastE")
            getter = setter.replace(b"14SetMinLogLevelENS0_18LogSeverityAtLeastE",
                                    b"11MinLogLevelEv")
        library = ctypes.CDLL(path)
        self._set, self._get = library[setter.decode()], library[getter.decode()]

    @staticmethod
    def _symbol(map_: mmap.mmap, tail: bytes) -> bytes:
        """The whole name, whichever version of Abseil is in it."""
        end = map_.find(b"15" + tail)
        end = map_.find(tail) if end < 0 else end + 2
        if end < 0:
            raise OSError("no such symbol")
        start = map_.rfind(b"\0", 0, end) + 1
        return bytes(map_[start:end + len(tail)])

    def __enter__(self) -> None:
        if self._set is not None and self._get is not None:
            self._before = self._get()
            self._set(max(self._before, _WARNING))

    def __exit__(self, *error: Any) -> None:
        if self._set is not None:
            self._set(self._before)


class _Profiler:
    """TensorFlow's ProfilerSession. It gives its XSpace only as a file: in a folder that it makes,
    in memory where that can be, and that is gone again when end() returns."""

    def __init__(self, module: ModuleType) -> None:
        self._class = module.ProfilerSession
        self._start, self._export = self._class.start, self._class.export_to_tb
        self._session: Any = None
        self._folder = ""
        self._log = _QuietLog()
        try:
            self._log.find()
        except (OSError, AttributeError, ValueError):
            pass  # then it talks

    def begin(self) -> None:
        home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
        self._folder = os.path.join(home, f"crosscut-tensorflow-{uuid.uuid4().hex}")
        session = self._class()
        with self._log:
            try:
                # No options: this version warns of each and ignores it.
                self._start(session, self._folder, {})
            except Exception as error:
                if type(error).__name__ != "AlreadyExistsError":
                    raise
                raise profiles.Busy(str(error)) from None
        self._session = session

    def end(self) -> bytes:
        session, self._session = self._session, None
        try:
            os.mkdir(self._folder, 0o700)
            with self._log:
                self._export(session)
                del session
            files = glob.glob(os.path.join(glob.escape(self._folder), "plugins", "profile", "*",
                                           "*.xplane.pb"))
            if not files:
                return b""
            with open(files[0], "rb") as file:
                return file.read()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


_shared = operations.Shared(_Operations)
_theirs = own_profiles.Theirs("tf.profiler")
_ours = _patches.Patches()  # beside those of the operations


def _version() -> str:
    return operations.version_of("tensorflow")


def _group(patch: Callable[[_Operations, ModuleType], None]) -> Callable[[ModuleType], None]:
    """A function of ADAPTERS that makes one group of patches; where it fails the others stay."""
    @functools.wraps(patch)
    def install(module: ModuleType) -> None:
        try:
            patch(_shared.of(_version()), module)
        except Exception as error:
            _record.source_state("operations", _version(), "failed", f"{module.__name__}: {error}")

    return install


@_group
def install_functions(ops: _Operations, module: ModuleType) -> None:
    cls, calls = module.Function, ops.calls()
    ops.replace(cls, "__call__", ops.around(  # in control steps the graph tells of updates
        cls.__call__, before=calls.call_begins, after=calls.call_ends))
    ops.replace(cls, "_initialize", ops.tracing(cls._initialize))


@_group
def install_graphs(ops: _Operations, module: ModuleType) -> None:
    cls, calls = module.ConcreteFunction, ops.calls()
    ops.replace(cls, "_call_flat",
                ops.told(cls._call_flat, calls.graph_begins, calls.graph_ends))


@_group
def install_replicas(ops: _Operations, module: ModuleType) -> None:
    thread, calls = module._MirroredReplicaThread, ops.calls()
    ops.replace(module, "_call_for_each_replica", ops.told(
        module._call_for_each_replica, calls.replicas_begin, calls.replicas_end))
    ops.replace(thread, "run", ops.told(thread.run, calls.replica_begins, calls.replica_ends))


@_group
def install_tracing(ops: _Operations, module: ModuleType) -> None:
    ops.replace(module, "_create_concrete_function",
                ops.tracing(module._create_concrete_function))


@_group
def install_iterators(ops: _Operations, module: ModuleType) -> None:
    ops.replace(module.OwnedIterator, "__next__",
                ops.eager("data", module.OwnedIterator.__next__))


@_group
def install_tape(ops: _Operations, module: ModuleType) -> None:
    ops.replace(module.GradientTape, "gradient",
                ops.eager("backward", module.GradientTape.gradient))


@_group
def install_trainer(ops: _Operations, module: ModuleType) -> None:
    # Keras after 3.15 calls it Trainer.
    owner = getattr(module, "TensorFlowTrainer", None) or module.Trainer
    there = tensorflow_graphs.instances(owner)
    for make, kind in (("train", "train_step"), ("test", "evaluate"), ("predict", "predict")):
        ops.name_function(owner, there, f"{make}_function", kind)


@_group
def install_keras_optimizer(ops: _Operations, module: ModuleType) -> None:
    ops.patch_optimizer(module.BaseOptimizer, "apply")


@_group
def install_optimizer(ops: _Operations, module: ModuleType) -> None:
    """tf.compat.v1's."""
    ops.patch_optimizer(module.Optimizer, "apply_gradients")


def install_context(module: ModuleType) -> None:
    """TensorFlow's profiler begins when TensorFlow does: with its first context, not its import."""
    if not _source_state.wanted("tensorflow"):
        return
    _plugins.tell_tensorflow("on", "TensorFlow has loaded them")
    def begins(context: Any, _: Any, failed: bool) -> None:
        if failed:
            return
        ours.undo()
        try:
            _open_profile()
            if _theirs.ours is not None:
                _theirs.ours.shows(*(one.device_type for one in context.list_physical_devices()))
        except Exception as error:  # ours never stops the program
            _source_state.report_failure("tensorflow", error)

    ours = _patches.Patch(module.Context, "ensure_initialized", _record.around(
        module.Context.ensure_initialized, after=begins))
    _ours.on_undo(ours.undo)


def _open_profile() -> None:
    if _theirs.ours is not None:
        return
    if "TF_DISABLE_PROFILING" in os.environ:
        _record.source_state("tensorflow", _version(), "off", "TF_DISABLE_PROFILING is set")
        return
    from tensorflow.python.profiler.internal import _pywrap_profiler as module

    profiler = _Profiler(module)
    _theirs.ours = profiles.Profile("tensorflow", _version(), profiler.begin, profiler.end)
    _give_way(module)
    _theirs.ours.open()


def _give_way(module: ModuleType) -> None:
    """The program's own profiles go first: TensorFlow knows one at a time."""
    cls = module.ProfilerSession

    _ours.replace(cls, "start", _record.around(
        cls.start, before=_theirs.begins,
        after=lambda session, _, failed: _theirs.begun(session, failed)))
    for name in ("export_to_tb", "stop"):
        _ours.replace(cls, name, _record.around(getattr(cls, name), before=_theirs.ends,
                                                after=_theirs.ended))
    _ours.replace(module, "start_server", _record.around(
        module.start_server, before=_theirs.serves))


def uninstall() -> None:
    """Puts back everything that was changed."""
    _theirs.close_ours()
    _ours.undo()
    _shared.undo()


withdraw = uninstall  # its sources stay registered all the same
