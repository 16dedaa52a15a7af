"""Tells the recorder what Python calls its threads: at their start, and when they are renamed."""

from __future__ import annotations

import sys

import crosscut
from crosscut import _source_state

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_record = crosscut._record
_before: tuple[Any, Any, Any] | None = None  # the class, and its own two attributes


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
    tasks = sys.modules.get("crosscut._tasks")
    if tasks is not None:
        tasks.follow_greenlets()


def adapt(threading: ModuleType) -> None:
    """Called with the module `threading` after its import."""
    global _before
    cls = threading.Thread
    start, name = vars(cls).get("_set_native_id"), vars(cls).get("name")
    if start is None or not isinstance(name, property) or name.fset is None:
        return  # another implementation of threads: they stay without names

    if _before is None:
        _before = (cls, start, name)
    cls._set_native_id = _record.around(start, after=_started)  # on the thread, before its function
    cls.name = property(name.fget, _record.around(name.fset, after=_tell), name.fdel, name.__doc__)
    for thread in threading.enumerate():
        _tell(thread)


def withdraw() -> None:
    """Puts back what `adapt` changed."""
    global _before
    if _before is not None:
        cls, cls._set_native_id, cls.name = _before[0], _before[1], _before[2]
        _before = None
