"""Tells the recorder which task a thread runs: of asyncio's loops, and greenlets. What a task has
open counts only while it runs."""

from __future__ import annotations

import crosscut

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_record = crosscut._record
_before: tuple[Any, Any] | None = None  # asyncio's class of callbacks, and its own method
_greenlet: Any = None


def adapt_asyncio(events: ModuleType) -> None:
    """Called with the module `asyncio.events` after its import. A loop runs each slice of a task as
    a callback whose function is bound to the task. Loops that are not written in Python (uvloop)
    have callbacks of their own: there an operation counts while it is the innermost one open."""
    global _before
    cls = events.Handle
    run = vars(cls).get("_run")
    if run is None or not hasattr(_record, "around"):
        return
    if _before is None:
        _before = (cls, run)
    cls._run = _record.around(run, slice=True)


def adapt_greenlet(greenlet: ModuleType) -> None:
    """Called with the module `greenlet` after its import."""
    global _greenlet
    if hasattr(greenlet, "settrace") and hasattr(_record, "switched"):
        _greenlet = greenlet
        follow_greenlets()


def follow_greenlets() -> None:
    """Follows those of this thread, where there can be any. A trace function of the program's goes
    on being called."""
    if _greenlet is None or getattr(_greenlet.gettrace(), "__module__", None) == __name__:
        return
    switched, theirs = _record.switched, _greenlet.gettrace()
    _record.runs_tasks()

    def trace(event: str, args: Any) -> None:
        switched(event, args)
        if theirs is not None:
            theirs(event, args)

    _greenlet.settrace(trace)


def withdraw() -> None:
    """Puts back what this module changed; greenlets are followed until their threads end, at no
    more than the cost of a call."""
    global _before, _greenlet
    _greenlet = None
    if _before is not None:
        _before[0]._run = _before[1]
        _before = None
