"""What happens in a Python that `crosscut record` started, before its first line.

Called by inject/sitecustomize.py, or by the preloaded library where Python was told to ignore its
environment. Opens the session, states who this process is, brings in the sources.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

import crosscut
from crosscut import _forks, _plugins, _sources
from crosscut._command_line import code_of, script_of

_record = crosscut._record
_installed = False


def install(begun_ns: int = 0) -> None:
    """Begins to record this process, once. Never raises, never prints. `begun_ns`: when Crosscut's
    first line ran in this process, on CLOCK_MONOTONIC; 0: not known."""
    global _installed
    if _installed or not os.environ.get("CROSSCUT_RUN"):
        return
    _installed = True
    kind = _ray_kind()
    if kind == "worker" and os.environ.get("CROSSCUT_DORMANT") != "1":
        from crosscut import _ray_processes

        _ray_processes.at_first_task(lambda: _install(time.monotonic_ns()))
    elif kind != "daemon":
        _install(begun_ns)


def _ray_kind() -> str:
    """What this process is to Ray, "" for all that is none of its own."""
    script = script_of(list(getattr(sys, "orig_argv", ())))
    if "/ray/" not in script and not script.startswith("ray."):
        return ""
    from crosscut import _ray_processes

    return _ray_processes.kind_of(script)


def _install(begun_ns: int) -> None:
    try:
        if _record.__name__ != "crosscut._record":
            reason = crosscut.error() or "crosscut._record is missing"
            if "subinterpreter" in reason:
                _forks.leave_note("its sub-interpreters are not recorded", recorded=True)
            else:
                _forks.leave_note(reason)
            return
        if not _open():
            _forks.leave_note(_record.error() or "the session did not open")
            return
        # While the devices' own libraries are still there: they end with the process's handlers.
        atexit.register(_record.finish_plugins)
        if begun_ns and _record.active():
            _record.meta("brought_in_ns", str(begun_ns))
        _state_identity()
    except Exception as error:
        _forks.leave_note(f"{type(error).__name__}: {error}", recorded=_record.active())


def _open() -> bool:
    """Begins to record, or is ready for those who ask for it later."""
    if os.environ.get("CROSSCUT_DORMANT"):
        from crosscut import _ondemand

        dormant = os.environ["CROSSCUT_DORMANT"] != "0" or _too_late()
        return _ondemand.arm() and (dormant or _record.start() == 0)
    _plugins.find()
    if _record.start() != 0 and not _record.active():
        return False
    if "KINETO_USE_DAEMON" in os.environ:
        from crosscut import _daemon

        _daemon.register()
    _forks.watch()
    _sources.activate(None)
    return True


def _too_late() -> bool:
    """Whether `record --stop-after-seconds` has ended the recording already."""
    end = os.environ.get("CROSSCUT_STOP_AT", "")
    return end.isdecimal() and time.monotonic_ns() >= int(end)


def start_method(argv: list[str], parent: str, pid: int) -> str:
    """How a process came to be, told from its arguments and its parent's key."""
    if "--multiprocessing-fork" in argv:
        return "spawn"
    if not parent:
        return "record"
    return "exec" if parent.startswith(f"p{pid}-") else "subprocess"


def helper_name(argv: list[str]) -> str:
    """The name of one of multiprocessing's own processes, "" for the program's."""
    code = argv[argv.index("-c") + 1] if "-c" in argv[:-1] else ""
    code = code.removeprefix("import sys; ")  # a forkserver's begins so from 3.14 on
    for helper in ("forkserver", "resource_tracker", "semaphore_tracker"):
        if code.startswith(f"from multiprocessing.{helper} import main"):
            return helper
    return ""


def _state_identity() -> None:
    argv = list(getattr(sys, "orig_argv", ()))
    parent = os.environ.get("CROSSCUT_PARENT", "")
    method = start_method(argv, parent, os.getpid())
    _record.meta("start_method", method)
    script = script_of(argv)
    if script:
        _record.meta("script", script)
    elif method == "subprocess":
        _record.meta("code", code_of(argv))
    _record.meta("python", ".".join(map(str, sys.version_info[:3])))
    helper = helper_name(argv)
    if helper:
        _record.process_name(f"multiprocessing {helper}")
    _forks.state_method("forkserver" if helper == "forkserver" else "fork")
    _forks.tell_children()
