"""crosscut.request(): a request that the program marks itself."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType, TracebackType

from crosscut import _record
from crosscut.adapters import requests


class request:  # noqa: N801: read as the verbs beside it
    """One request of that name, from the begin of a `with` block to its end, on whatever threads;
    others may go on meanwhile. For servers that Crosscut does not know: the report then tells how
    many there were, how long they took and how many went on at once. Takes three to four
    microseconds.

    name    Of the route or handler: requests of one name are told together.
    """

    __slots__ = ("_around", "_frame", "_knows", "_name", "_number", "_since", "_who")

    def __init__(self, name: str) -> None:
        self._name = requests.name(str(name))

    def __enter__(self) -> request:
        self._number = _record.request_begin(self._name)
        if self._number:
            self._who, self._since = _running()
            if self._who is not None:
                frame = sys._getframe(1)
                self._frame, self._knows = id(frame), True  # no reference: it keeps values
                around = self._around = _open.setdefault(self._who, [])
                if around:
                    self._begin_within(frame)
                around.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._number:
            who, now = _running()
            known = self._who is not None and self._end() and who == self._who
            _record.request_end(self._name, self._number, now - self._since if known else -1)

    # What runs meanwhile counts for a request, too. Where it is another one's, as where generators
    # take turns, it is not known for either how long it ran.

    def _begin_within(self, frame: FrameType) -> None:
        self._knows = not frame.f_code.co_flags & _GENERATOR
        frames = set()
        at: FrameType | None = frame
        while at is not None:
            frames.add(id(at))
            at = at.f_back
        for other in self._around:
            if other._frame not in frames:
                self._knows = other._knows = False

    def _end(self) -> bool:
        around = self._around
        if not around or around[-1] is not self:
            if self not in around:  # it ended before
                return False
            for other in around[around.index(self) + 1:]:
                self._knows = other._knows = False
        around.remove(self)
        if not around:
            _open.pop(self._who, None)
        return self._knows


_GENERATOR = 0x20 | 0x200  # inspect.CO_GENERATOR, CO_ASYNC_GENERATOR
_open: dict[object, list[request]] = {}  # by who runs, the one that began last at the end


def _running() -> tuple[object, int]:
    """Who runs, and for how many ns so far: the task, else the thread; None where that is not
    known."""
    ran = _record.task_ran()
    if ran is not None:
        return ran
    events = sys.modules.get("asyncio.events")
    in_loop = events is not None and events._get_running_loop() is not None
    if in_loop or requests.have_greenlets():
        return None, 0
    # Not by get_ident(): the next thread may have that of one that ended.
    return threading.get_native_id(), time.thread_time_ns()
