"""Profiles that the program keeps itself: whoever of ours uses the same means makes room.

A device's profiling interface (CUPTI) perhaps serves one tool at a time, and a framework's profiler
knows one session. Ours lets go of both before the program's begins, and has them again behind it.
"""

from __future__ import annotations

import _thread
import time
import weakref
from typing import TYPE_CHECKING, Any

from crosscut import _record

if TYPE_CHECKING:
    from crosscut.adapters import profiles

# enum crosscut_profiler_moment
_STARTS, _STARTED, _ENDS, _ENDED = range(4)
_DROPPED_SECONDS = 0.5  # until a session that nobody ended is gone


class Theirs:
    """The program's sessions of one profiler, by the objects that stand for them. All under the
    GIL, which is free while devices are handed over. `ours`: the profile that is kept by the same
    profiler, if there is one."""

    def __init__(self, who: str) -> None:
        self._who = who
        self.ours: profiles.Profile | None = None
        self._open: dict[int, weakref.ref[Any]] = {}  # by the id of what is alive

    def begins(self, *_: Any, **__: Any) -> bool:
        """A session is about to begin."""
        if self.ours is not None:
            self.ours.theirs_begins()
        _record.other_profiler(self._who, _STARTS)
        return True

    def begun(self, session: Any, failed: bool) -> None:
        """What begins() announced has begun, as `session`."""
        if failed:
            return self._over()
        key = id(session)

        def dropped(_: Any) -> None:
            if self._open.pop(key, None) is None:
                return
            _record.other_profiler(self._who, _ENDS)
            try:
                _thread.start_new_thread(_record.unseen(later), ())
            except RuntimeError:  # the interpreter ends
                self._over()

        def later() -> None:
            time.sleep(_DROPPED_SECONDS)
            self._over()

        self._open[key] = weakref.ref(session, _record.unseen(dropped))
        _record.other_profiler(self._who, _STARTED)

    def ends(self, session: Any, *_: Any, **__: Any) -> bool | None:
        """`session` is about to end, or to change; None: it is none of begun()."""
        if not self.knows(session):
            return None
        _record.other_profiler(self._who, _ENDS)
        return True

    def ended(self, session: Any, *_: Any) -> None:
        """What ends() announced is over."""
        if self._open.pop(id(session), None) is not None:
            self._over()

    def knows(self, session: Any) -> bool:
        return id(session) in self._open

    def serves(self, *_: Any, **__: Any) -> None:
        """A server of theirs is about to begin, which may hold a session at any time."""
        if self.ours is not None:
            self.ours.never_again("off: the program runs a profiler server")

    def close_ours(self) -> None:
        ours, self.ours = self.ours, None
        if ours is not None:
            ours.close()

    def goes_on(self) -> None:
        """What ends() announced was a change."""
        _record.other_profiler(self._who, _STARTED)

    def _over(self) -> None:
        _record.other_profiler(self._who, _ENDED)
        if self.ours is not None:
            self.ours.theirs_ended()
