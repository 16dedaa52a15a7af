"""Tells the recorder what Python calls its threads: at their start, and when they are renamed."""

from __future__ import annotations

import sys

import crosscut
from crosscut import _patches, _source_state

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_record = crosscut._record
_ours = _patches.Patches()


def _tell(thread: Any, *_: Any) -> None:
    try:
        number, name = thread.native_id, thread._name
        if number is not None and name != "MainThread":
            _record.meta(f"thread:{number}", str(name))
    except Exception:  # a name is never worth a program's thread
        pass


def _started(thread: Any, *_: Any) -> None:
    if _source_state.FREE_THREADED:  # else its first call of native code shows it
        _record.runs_python()
        _record.ours(_tell, thread)
    else:
        _tell(thread)
    # Another thread may be in the middle of its import.
    follow = getattr(sys.modules.get("crosscut._tasks"), "follow_greenlets", None)
    if follow is not None:
        follow()


def adapt(threading: ModuleType) -> None:
    """Called with the module `threading` after its import."""
    cls = threading.Thread
    start, name = vars(cls).get("_set_native_id"), vars(cls).get("name")
    if start is None or not isinstance(name, property) or name.fset is None:
        return  # another implementation of threads: they stay without names

    # On the thread, before its function.
    _ours.replace(cls, "_set_native_id", _record.around(start, after=_started))
    _ours.replace(cls, "name", property(name.fget, _record.around(name.fset, after=_tell),
                                        name.fdel, name.__doc__))
    for thread in threading.enumerate():
        _tell(thread)


withdraw = _ours.undo
