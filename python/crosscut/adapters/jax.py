"""Brings a JAX program into the run without an edit of it.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these operations are recorded:

    compile     the first call of a jitted function, and every compilation inside a later one
    train_step  a call of the jitted function that the program has called most often so far
    <name>      a call of any other jitted function of the program

A step of the process ends where a train_step ends; a program that uses StepTraceAnnotation has its
steps there and nowhere else. JAX's own profiler runs beside (profiles.py). docs/tensorflow.md says
what counts as what. uninstall() puts everything back.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut import _record, _source_state
from crosscut.adapters import operations, profiles


class _Steps(operations.Steps):
    """Steps of a program that may say where they are: by annotations, once it uses any."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def begin(self, kind: str) -> None:
        self.declared()
        self._depth += 1
        if self._depth == 1:
            _record.step(kind)

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            _record.step_end()


class _ProfilerModule:
    """Stands where jax._src.profiler looks for jaxlib's module: the same, but for the making of
    sessions and servers."""

    def __init__(self, module: ModuleType, profile: Callable[[], profiles.Profile | None]) -> None:
        self._module = module
        self._profile = profile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def ProfilerSession(self, *args: Any, **kwargs: Any) -> Any:  # noqa: N802
        """The program's: ours makes room. A second session would silently stay empty."""
        profile = self._profile()
        if profile is None:
            return self._module.ProfilerSession(*args, **kwargs)
        profile.theirs_begins()
        try:
            session = self._module.ProfilerSession(*args, **kwargs)
        except BaseException:
            profile.theirs_ended()
            raise
        return _Session(session, profile)

    def start_server(self, *args: Any, **kwargs: Any) -> Any:
        profile = self._profile()
        if profile is not None:
            profile.never_again("off: the program runs a profiler server")
        return self._module.start_server(*args, **kwargs)


class _Session:
    """A profile of the program's. Ours goes on when it is stopped or dropped."""

    def __init__(self, session: Any, profile: profiles.Profile) -> None:
        self._session = session
        self._over = weakref.finalize(self, profile.theirs_ended)
        self._over.atexit = False

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._session, name)
        if not name.startswith("stop"):
            return value

        def stop(*args: Any, **kwargs: Any) -> Any:
            try:
                return value(*args, **kwargs)
            finally:
                self._over()

        return stop


class _Profiler:
    """jaxlib's ProfilerSession."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._session: Any = None

    def begin(self) -> None:
        options = self._module.ProfileOptions()
        options.host_tracer_level = 2
        options.python_tracer_level = 0
        self._session = self._module.ProfilerSession(options)

    def end(self) -> bytes:
        session, self._session = self._session, None
        return bytes(session.stop())


_operations: operations.Operations | None = None
_steps = _Steps()
_profile: profiles.Profile | None = None
_undo: list[Callable[[], None]] = []


def _version() -> str:
    module = sys.modules.get("jax.version") or sys.modules.get("jax")
    return str(getattr(module, "__version__", "") or "")


def _shared() -> operations.Operations:
    global _operations
    if _operations is None:
        _operations = operations.Operations()
        _operations.add_source(_version())
        _record.source_state("operations", _version(), "on", "")
    return _operations


def install_backends(module: ModuleType) -> None:
    """JAX's profiler begins with its first backend: a program that only imports JAX has none."""
    if not _source_state.wanted("jax"):
        return
    init = module._init_backend

    @functools.wraps(init)
    def init_backend(*args: Any, **kwargs: Any) -> Any:
        backend = init(*args, **kwargs)
        try:
            _open_profile()
        except Exception as error:  # ours never stops the program
            _source_state.report_failure("jax", error)
        return backend

    module._init_backend = init_backend
    _undo.append(lambda: setattr(module, "_init_backend", init))


def _open_profile() -> None:
    global _profile
    if _profile is None:
        from jaxlib import _profiler

        profiler = _Profiler(_profiler)
        _profile = profiles.Profile("jax", _version(), profiler.begin, profiler.end)
        _profile.open()


def install_profiler(module: ModuleType) -> None:
    """Sessions of the program's own, and its step annotations."""
    real = module._profiler
    module._profiler = _ProfilerModule(real, lambda: _profile)
    _undo.append(lambda: setattr(module, "_profiler", real))
    cls = module.StepTraceAnnotation
    enter, leave = cls.__enter__, cls.__exit__
    init = cls.__init__

    def remember(annotation: Any, name: str, **kwargs: Any) -> None:
        init(annotation, name, **kwargs)
        annotation._crosscut_kind = name

    def begin(annotation: Any) -> Any:
        _steps.begin(str(getattr(annotation, "_crosscut_kind", "step")))
        return enter(annotation)

    def end(annotation: Any, *error: Any) -> Any:
        try:
            return leave(annotation, *error)
        finally:
            _steps.end()

    cls.__init__ = functools.wraps(init)(remember)
    cls.__enter__, cls.__exit__ = begin, end

    def undo() -> None:
        cls.__init__ = init
        del cls.__enter__, cls.__exit__

    _undo.append(undo)


def install_compiler(module: ModuleType) -> None:
    ops = _shared()
    scope, on, compile_ = _record.found_operation("compile"), ops.on, module.compile_or_get_cached

    @functools.wraps(compile_)
    def compile_or_get_cached(*args: Any, **kwargs: Any) -> Any:
        if not on.value:
            return compile_(*args, **kwargs)
        with scope:
            return compile_(*args, **kwargs)

    ops.replace(module, "compile_or_get_cached", compile_or_get_cached)


def install_jit(module: ModuleType) -> None:
    """Jitted functions are called from C: their calls are met there."""
    _shared()
    if not _source_state.records_boundary():
        _record.source_state("operations", _version(), "on",
                             "jitted functions only where the boundary is recorded")
        return
    from crosscut import _pycalls

    if not _pycalls.patch_jit(module._jax.PjitFunction, _steps.edge):
        _record.source_state("operations", _version(), "failed",
                             "jitted functions: this jaxlib calls them in another way")
    _undo.append(_pycalls.unpatch_jit)


def uninstall() -> None:
    """Puts back everything that was changed."""
    global _operations, _profile
    if _profile is not None:
        _profile.close()
        _profile = None
    for undo in reversed(_undo):
        undo()
    _undo.clear()
    if _operations is not None:
        _operations.undo()
        _operations = None
    _steps.declared()


withdraw = uninstall  # its sources stay registered all the same
