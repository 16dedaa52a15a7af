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

import weakref
from types import ModuleType
from typing import Any

from crosscut import _patches, _record, _source_state, _wrap
from crosscut.adapters import operations, own_profiles, profiles

_PYTHON = _wrap.LAYERS.index("python") + 1


def _for_the_program(module: ModuleType) -> ModuleType:
    """What stands where jax._src.profiler looks for jaxlib's module: the same, but for the making
    of sessions and servers. A second session would silently stay empty: ours makes room."""
    def begun(_: Any, session: Any, failed: bool) -> Any:
        ours = None if failed else _Session(session)
        _theirs.begun(ours, failed)
        return ours

    theirs = type(module)(module.__name__)
    vars(theirs).update(vars(module))
    _ours.replace(theirs, "ProfilerSession",
                  _record.around(module.ProfilerSession, before=_theirs.begins, after=begun))
    _ours.replace(theirs, "start_server", _record.around(
        module.start_server, before=_theirs.serves))
    return theirs


class _Session:
    """A profile of the program's. Ours goes on when it is stopped or dropped."""

    def __init__(self, session: Any) -> None:
        ours = weakref.ref(self)

        def ends(*_: Any, **__: Any) -> bool | None:
            return _theirs.ends(ours())

        def ended(*_: Any) -> None:
            _theirs.ended(ours())

        for name in dir(session):
            if not name.startswith("_"):
                value = getattr(session, name)
                setattr(self, name, _record.around(value, before=ends, after=ended)
                        if name.startswith("stop") else value)


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


_shared = operations.Shared(operations.Operations)
_theirs = own_profiles.Theirs("jax.profiler")
_ours = _patches.Patches()  # beside those of the operations


def _version() -> str:
    return operations.version_of("jax.version", "jax")


def install_backends(module: ModuleType) -> None:
    """JAX's profiler begins with its first backend: a program that only imports JAX has none."""
    if not _source_state.wanted("jax"):
        return
    def made(platform: str, _: Any, failed: bool) -> None:
        try:
            if not failed:
                _open_profile().shows(platform)
        except Exception as error:  # ours never stops the program
            _source_state.report_failure("jax", error)

    _ours.replace(module, "_init_backend", _record.around(module._init_backend, after=made))


def _open_profile() -> profiles.Profile:
    if _theirs.ours is None:
        from jaxlib import _profiler

        profiler = _Profiler(_profiler)
        _theirs.ours = profiles.Profile("jax", _version(), profiler.begin, profiler.end)
        _theirs.ours.open()
    return _theirs.ours


def install_profiler(module: ModuleType) -> None:
    """Sessions of the program's own, and its step annotations."""
    _ours.replace(module, "_profiler", _for_the_program(module._profiler))
    cls = module.StepTraceAnnotation
    made, begins, ends = _record.annotated_steps(_record.step, _record.step_end)
    for name, how in (("__init__", {"before": made}), ("__enter__", {"before": begins}),
                      ("__exit__", {"after": ends})):
        _ours.replace(cls, name, _record.around(getattr(cls, name), **how))


def install_compiler(module: ModuleType) -> None:
    ops = _shared.of(_version())
    ops.replace(module, "compile_or_get_cached",
                ops.around(module.compile_or_get_cached, "compile", nests=True))


def install_jit(module: ModuleType) -> None:
    """Jitted functions are called from C: their calls are met there."""
    ops = _shared.of(_version())
    if not _source_state.records_boundary():
        _record.source_state("operations", _version(), "on",
                             "jitted functions only where the boundary is recorded")
        return
    from crosscut import _pycalls

    if not _pycalls.patch_jit(module._jax.PjitFunction, _record.unseen(_record.update_guessed),
                              ops.inside):
        _record.source_state("operations", _version(), "failed",
                             "jitted functions: this jaxlib calls them in another way")
    _ours.on_undo(_pycalls.unpatch_jit)


def install_callbacks(module: ModuleType) -> None:
    """The program's Python that a compiled function calls is Python, wherever it runs: on the
    thread that called the function, or on one of XLA's."""
    ops, span = _shared.of(_version()), _record.span("callback", _PYTHON)
    for name in ("pure_callback_impl", "io_callback_impl", "debug_callback_impl"):
        if function := vars(module).get(name):
            ops.replace(module, name, ops.around(function, span=span))


def uninstall() -> None:
    """Puts back everything that was changed."""
    _theirs.close_ours()
    _ours.undo()
    _shared.undo()


withdraw = uninstall  # its sources stay registered all the same
