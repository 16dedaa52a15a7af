"""Brings the sources into this process: the Python boundary now, PyTorch when it is imported.

A source that is missing or fails is a line in the table `sources` and nothing else.
"""

from __future__ import annotations

import os
import sys

import crosscut
from crosscut import _forks, _hooks, _record, _source_state, adapters
from crosscut._command_line import program_of
from crosscut._source_state import report_failure, report_missing, wanted

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_pycalls: Any = None
_samples: Any = None
_active = False


def set_extra(name: str, on: bool | None) -> None:
    """Whether one of _source_state.extras() is recorded in the session that starts next; None: as
    the environment says, which has the flags of `crosscut record`."""
    _source_state.set_extra(name, on)
    adapter = sys.modules.get("crosscut.adapters.torch")
    if adapter is not None:
        adapter.set_extra(name)


def activate(python: str | None) -> None:
    """Registers all sources of this process, once. `python`: off, boundary, samples or calls; None:
    as the environment says, else samples, so few that they cost little. Samples are taken, and
    Python functions recorded, in sessions that ask for them. The time that this takes is layer
    `overhead`, as is that of what is done after an import."""
    _record.ours(_activate, python or os.environ.get("CROSSCUT_PYTHON"))


def _activate(asked: str | None) -> None:
    python = asked or "samples"
    with _forks.turn:
        if python == "samples":
            _sample(bool(asked))
        elif _samples is not None:
            _samples.stop()
        _register(python)
    follow_calls(python == "calls")  # the last: what we do is not what the program calls


def _register(python: str) -> None:
    global _active
    if _active:
        for name in ("torch_distributed", "ray"):
            adapter = sys.modules.get(f"crosscut.adapters.{name}")
            if adapter is not None:
                adapter.tell()  # each session's log says it
        return
    _active = True
    try:
        _hooks.on_failure = report_failure
        _hooks.after_import("threading", _name_threads)
        _hooks.after_import("asyncio.events", _follow_tasks)
        _hooks.after_import("asyncio.base_events", _follow_eager_tasks)
        _hooks.after_import("greenlet", _follow_greenlets)
        if python != "off":
            _activate_boundary()
        if wanted("operations"):
            _follow_adapters()
        _wrap_named(os.environ.get("CROSSCUT_WRAP", ""))
    except Exception as error:
        report_failure("python", error)


def withdraw() -> None:
    """Puts back what the sources of this process changed, until `activate` is called again. They
    stay registered; their hooks are out already, since nothing records."""
    with _forks.turn:
        if not _record.in_window():  # else the next one has begun on another thread
            _withdraw()


def _withdraw() -> None:
    global _active
    if not _active:
        return
    _active = False
    _hooks.withdraw()
    ours = [("threads", "crosscut._threads"), ("tasks", "crosscut._tasks")]
    ours += [(name, f"crosscut.adapters.{name}") for name in reversed(adapters.NAMES)]
    for name, module in ours:
        loaded = sys.modules.get(module)
        if loaded is None:
            continue
        try:
            loaded.withdraw()
        except Exception as error:
            report_failure(name, error)


def files() -> dict[str, str]:
    """The file of each Python function that was recorded, by its name in the recording; "" where
    several have the name."""
    return {} if _pycalls is None else _pycalls.files()


def activate_boundary() -> None:
    """The Python boundary and nothing else, once: for a window inside a profile of TensorFlow's."""
    if not _active and _pycalls is None:
        _activate_boundary()


def _activate_boundary() -> None:
    global _pycalls
    try:
        pycalls = _source_state.boundary()
    except ImportError as error:
        report_missing("pycalls", str(error))
        if _source_state.FREE_THREADED:
            _forks.leave_note(str(error), recorded=True)
        return
    _pycalls = pycalls
    _source_state.set_records_boundary()
    try:
        for name in pycalls.known_modules():
            # By the name it is imported by: _io's own is "io" up to 3.11.
            _hooks.after_import(name, lambda _, name=name: pycalls.patch_known(name))
    except Exception as error:
        report_failure("pycalls", error)


def follow_calls(wanted_now: bool, builtins: bool = False) -> None:
    """Whether calls of Python functions are recorded from here on; `builtins`: and of builtin
    ones."""
    set_extra("calls", wanted_now)
    if _pycalls is None and wanted_now:
        _activate_boundary()
    if _pycalls is None:
        return
    try:
        if wanted_now:
            _pycalls.start_calls(builtins=builtins)
        else:
            _pycalls.stop_calls()
    except Exception as error:
        report_failure("pycalls", error)


def _sample(asked: bool) -> None:
    """`asked`: by the user, who gets more of them, and hears of it where there are none."""
    global _samples
    rate = os.environ.get("CROSSCUT_SAMPLE_RATE")
    asked = asked or bool(rate)
    try:
        if _samples is None:
            from crosscut import _samples as samples

            _samples = samples
            os.register_at_fork(after_in_child=samples.after_fork)
        _samples.start(int(rate or (100 if asked else 20)), asked, *_own_code())
    except Exception as error:
        if asked:
            report_failure("samples", error)
        else:
            _record.source_state("samples", "", "off", str(error))


def _own_code() -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    """The folder in which this process was started, those of the program, those of code that is not
    its own, and the program."""
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        here = ""
    # What sysconfig says of the standard library, in a hundredth of the time.
    others = os.path.dirname(os.__file__), os.path.dirname(crosscut.__file__)
    program = program_of(list(getattr(sys, "orig_argv", ())))
    return here, _folders(here), others, program if _is_text(program) else ""


def _folders(here: str) -> tuple[str, ...]:
    """Where the command was started, and this process, and where its script is. The first process
    that runs a script tells them to those that it starts, so that a file has one name in all of
    them; what the command alone says ends with a line break."""
    known = os.environ.get("CROSSCUT_FOLDERS")
    if known and not known.endswith("\n"):
        return tuple(known.split("\n"))
    # The command's: a program may change what it reads as its arguments.
    script = getattr(sys, "argv", None) or [""]
    folders = {here, *(known or "").split("\n")}
    runs_script = os.path.isfile(script[0])
    if runs_script:
        path = os.path.abspath(script[0])
        if os.path.dirname(path) != os.path.dirname(sys.executable):  # a launcher's, as torchrun's
            folders |= {os.path.dirname(path), os.path.dirname(os.path.realpath(path))}
    named = tuple(sorted((f for f in folders if f and _is_text(f)), key=len))
    if known is not None and runs_script:
        os.environ["CROSSCUT_FOLDERS"] = "\n".join(named)
    return named


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in path


def _name_threads(module: ModuleType) -> None:
    from crosscut import _threads

    _threads.adapt(module)


def _follow_tasks(module: ModuleType) -> None:
    from crosscut import _tasks

    _tasks.adapt_asyncio(module)


def _follow_eager_tasks(module: ModuleType) -> None:
    from crosscut import _tasks

    _tasks.adapt_eager_tasks(module)


def _follow_greenlets(module: ModuleType) -> None:
    from crosscut import _tasks

    _tasks.adapt_greenlet(module)


def _follow_adapters() -> None:
    for module, (adapter, function) in adapters.ADAPTERS.items():
        _hooks.after_import(module, lambda it, adapter=adapter, function=function:
                            _install(adapter, function, it))


def _install(name: str, function: str, module: ModuleType) -> None:
    from importlib import import_module

    try:
        adapter = import_module(f"crosscut.adapters.{name}")
    except ImportError as error:
        report_missing(name, str(error))
        return
    getattr(adapter, function)(module)


def _wrap_named(text: str) -> None:
    if text or "crosscut._wrap" in sys.modules:
        from crosscut import _wrap

        _wrap.follow(text)
