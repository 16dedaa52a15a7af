"""crosscut.request(): a request that the program marks itself."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from crosscut import _record
from crosscut.adapters import requests


class request:  # noqa: N801: read as the verbs beside it
    """One request of that name, from the begin of a `with` block to its end, on whatever threads;
    others may go on meanwhile. For servers that Crosscut does not know: the report then tells how
    many there were, how long they took and how many went on at once. Takes two to three
    microseconds.

    name    Of the route or handler: requests of one name are told together.
    """

    __slots__ = ("_name", "_number", "_thread", "_since")

    def __init__(self, name: str) -> None:
        self._name = requests.name(str(name))

    def __enter__(self) -> request:
        self._number = _record.request_begin(self._name)
        if self._number:
            self._thread, self._since = _running()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._number:
            thread, now = _running()
            known = thread is not None and thread == self._thread
            _record.request_end(self._name, self._number, now - self._since if known else -1)


def _running() -> tuple[object, int]:
    """Who runs, and for how many ns so far: the task, else the thread; None where that is not
    known."""
    ran = _record.task_ran()
    if ran is not None:
        return ran
    events = sys.modules.get("asyncio.events")
    if events is not None and events._get_running_loop() is not None:
        return None, 0
    # Not by get_ident(): the next thread may have that of one that ended.
    return threading.get_native_id(), time.thread_time_ns()
