"""KINETO_USE_DAEMON: a process that records, or waits for that, is told to dynolog's daemon.

What talks to the daemon is a process of its own, crosscut.dynolog: this one gets no socket, no
thread and no child. Kineto, which the variable asks for the same, does not see it any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

import crosscut
from crosscut._source_state import report_missing

_VARIABLE = "KINETO_USE_DAEMON"
_CODE = ("import sys; sys.path.insert(0, sys.argv[1]); from crosscut.dynolog import main; "
         "sys.exit(main(sys.argv[2:]))")


def register(run_dir: str | None = None) -> None:
    """Begins to answer the daemon for this process's run, where the variable is set. `run_dir`: as
    the recorder was given it. Nothing where that cannot be done: then no daemon will ask."""
    run = _run_dir(run_dir) if _VARIABLE in os.environ else ""
    if not run:
        return
    if _adopts_orphans():
        return _missing("this process adopts orphans: who answers would be its child", run)
    import signal

    package = os.path.dirname(os.path.dirname(os.path.abspath(crosscut.__file__)))
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("CROSSCUT_") and key not in (_VARIABLE, "LD_PRELOAD")}
    # The shell ends at once: who answers is nobody's child.
    command = ["sh", "-c", 'exec 2>>"$0"; exec "$@" &', os.path.join(run, "dynolog.log"),
               sys.executable, "-I", "-c", _CODE, package, "--beside", run]
    nothing = [(os.POSIX_SPAWN_OPEN, to, os.devnull, os.O_RDWR, 0) for to in range(3)]
    try:
        held = [(os.POSIX_SPAWN_CLOSE, number) for number in map(int, os.listdir("/proc/self/fd"))
                if number > 2 and _is_inherited(number)]
        pid = os.posix_spawn("/bin/sh", command, environment, file_actions=nothing + held,
                             setsid=True, setsigdef=[signal.SIGCHLD])
        with contextlib.suppress(ChildProcessError):  # where nobody waits for children (SIG_IGN)
            os.waitpid(pid, 0)
    except (OSError, NotImplementedError) as problem:
        return _missing(f"who answers could not be started ({problem})", run)
    os.unsetenv(_VARIABLE)  # for Kineto and for children; the program's os.environ stays


def _missing(why: str, run: str) -> None:
    report_missing("dynolog", f"{why}: the daemon's triggers are Kineto's; to have them here, "
                   f"unset {_VARIABLE} and start python -m crosscut.dynolog {run} outside of the "
                   "job")


def _adopts_orphans() -> bool:
    """Whether a process whose parent ends may become a child of this one."""
    get_child_subreaper = 37  # PR_GET_CHILD_SUBREAPER
    answer = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(get_child_subreaper, ctypes.byref(answer), 0, 0, 0)
    return os.getpid() == 1 or answer.value != 0


def _run_dir(asked: str | None) -> str:
    """Where this process's log is, "" where it has none."""
    log = f"{crosscut._record.process_key()}.crosscut"
    folders = (asked, os.environ.get("CROSSCUT_RUN"), f"crosscut-{os.getpid()}")
    return next((os.path.abspath(folder) for folder in folders
                 if folder and os.path.exists(os.path.join(folder, log))), "")


def _is_inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:  # of the listing itself
        return False
