"""Forked children of a recorded Python: each opens its own log and knows its parent."""

from __future__ import annotations

import _thread
import os
import sys

import crosscut
from crosscut import _fork_warning, _note

TYPE_CHECKING = False  # this runs at the start of recorded processes: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable

_record = crosscut._record
turn = _thread.RLock()  # one thread at a time brings sources in, or withdraws them
_watching = False
_watched = _thread.allocate_lock()  # held from the first watch() on
_method = "fork"
_recording = False  # when fork() was called
_armed = False  # the same
_arm_child: Callable[[bool], bool] | None = None
_left_out: set[int] = set()  # threads that fork what is none of the program's


def leave_note(message: str, recorded: bool = False) -> None:
    """Leaves word for `crosscut record`, which says it: why this process is not recorded, or not
    whole."""
    version = ".".join(map(str, sys.version_info[:3]))
    what = "" if recorded else " is not recorded"
    try:
        _note.leave(f"process {os.getpid()} (Python {version}){what}: {message}\n")
    except (OSError, KeyError):
        pass


def state_method(method: str) -> None:
    """How the children that this process forks came to be: fork, or forkserver."""
    global _method
    _method = method


def tell_children() -> None:
    """Puts this process's key where the processes it starts will look for their parent's."""
    key = _record.process_key()
    if key:
        os.environ["CROSSCUT_PARENT"] = key


def leave_out_children(on: bool) -> None:
    """Whether what this thread forks is left out of the run from now on: a library's daemons, which
    a forked child becomes."""
    if on:
        _left_out.add(_thread.get_ident())
    else:
        _left_out.discard(_thread.get_ident())
        _record.follow_fork(True)


def watch(arm_child: Callable[[bool], bool] | None = None) -> None:
    """Follows os.fork() and what stands on it, from now on; once. `arm_child`: how an armed
    process arms its child, told whether it recorded itself; whether that was done."""
    global _watching, _arm_child
    _arm_child = arm_child or _arm_child
    _record.follow_fork(True)
    # No call but the first time: calls of native code may be followed by now.
    if not _watching and _watched.acquire(blocking=False):
        _watching = True
        _fork_warning.leave_out()
        unseen = _record.unseen
        os.register_at_fork(before=unseen(_before), after_in_child=unseen(_in_child))


def _before() -> None:
    global _recording, _armed
    followed = _thread.get_ident() not in _left_out
    _recording = followed and _record.active()
    _armed = followed and _record.armed()
    if _left_out:
        _record.follow_fork(followed)


def _in_child() -> None:
    turn._at_fork_reinit()  # the thread that had it may be missing
    _record.after_fork_in_child()
    if not _recording and not _armed:
        return
    try:
        opened = _arm_child(_recording) if _armed and _arm_child else _record.active()
        if not opened:
            leave_note(_record.error() or "no session opened after fork()")
            return
        _record.meta("start_method", _method)
        if "CROSSCUT_RUN" in os.environ:
            tell_children()
    except Exception as error:
        leave_note(f"{type(error).__name__}: {error}")
