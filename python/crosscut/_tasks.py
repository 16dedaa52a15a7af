"""Tells the recorder which task a thread runs: of asyncio's loops, and greenlets. What a task has
open counts only while it runs."""

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
_greenlet: Any = None


def adapt_asyncio(events: ModuleType) -> None:
    """Called with the module `asyncio.events` after its import. A loop runs each slice of a task as
    a callback whose function is bound to the task. Loops that are not written in Python (uvloop)
    have callbacks of their own: there an operation counts while it is the innermost one open."""
    code = getattr(vars(events.Handle).get("_run"), "__code__", None)
    run = vars(events.contextvars.Context).get("run")
    follow = getattr(_record, "follow_slices", None)
    if code is not None and follow is not None and follow(run, code):
        _ours.on_undo(lambda: follow(run, None))
        _enter_running_task(events)


def adapt_eager_tasks(base_events: ModuleType) -> None:
    """Called with the module `asyncio.base_events` after its import. An eager task runs while it is
    made, up to where it first waits."""
    make = vars(base_events.BaseEventLoop).get("create_task")
    if make is not None and sys.version_info >= (3, 12) and hasattr(_record, "around"):
        _ours.replace(base_events.BaseEventLoop, "create_task", _record.around(make, makes=True))


def _enter_running_task(events: ModuleType) -> None:
    """The slice that this thread runs began before us: the next one of its loop ends it, or the one
    that is added here, before the loop waits."""
    loop, tasks = events._get_running_loop(), sys.modules.get("asyncio.tasks")
    task = None if loop is None or tasks is None else tasks.current_task(loop)
    if task is not None and isinstance(loop.call_soon(task.done), events.Handle):
        _record.starts_in(task)


def adapt_greenlet(greenlet: ModuleType) -> None:
    """Called with the module `greenlet` after its import."""
    global _greenlet
    if hasattr(greenlet, "settrace") and hasattr(_record, "follow_greenlets"):
        _greenlet = greenlet
        follow_greenlets()


def follow_greenlets() -> None:
    """Follows those of this thread, where there can be any. A trace function of the program's goes
    on being called."""
    if _greenlet is None or _record.follow_greenlets(_greenlet.settrace, _greenlet.gettrace):
        return
    _source_state.report_missing("greenlets", "this greenlet's functions are not its own: what is "
                                 "open in one counts while others run, too")


def withdraw() -> None:
    """Puts back what this module changed; greenlets are followed until their threads end, at no
    more than the cost of a call."""
    global _greenlet
    if _greenlet is not None:
        _record.follow_greenlets(None, None)
    _greenlet = None
    _ours.undo()
