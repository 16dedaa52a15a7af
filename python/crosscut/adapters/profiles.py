"""Runs a framework's own profiler beside the recording and hands over what it collected.

It shows operators, and runs in the steps that show these; where it knows of a device, of which
nothing else may tell, in all above control. It is taken in parts: a part ends when another step
begins, when the program starts a profile of its own (theirs goes first: while one is open, ours is
off), when a pause or the end of the session comes, and otherwise as often as keeps the ending of a
part below a tenth of a second. So memory is bounded, and so is the exit: see EXIT_SECONDS. What
parts cost in steps is the step plan's budget's to limit. Before the first step, and where there is
none, the profile rests by itself until its parts cost no more than half of the budget. The table
`sources` says how much of the time the parts cover and what was cut.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from crosscut import _record, _source_state
from crosscut.adapters import xspace

EXIT_SECONDS = 2.0       # the program's exit waits for us no longer
_PART_SECONDS = 0.1      # what the collecting of one part may take
_FIRST_PART = 0.25       # how long the first part lasts: what collecting takes is not known yet
_SHORTEST, _LONGEST = 0.1, 4.0
_PR_SET_NAME = 15
_TICK_US = 50_000
_ERROR_NS = 1_000        # they read CLOCK_REALTIME, as we do: a reading's own time
_DEFAULT_MIB = 512
_CREDIT = 0.25           # seconds that parts may cost before they rest
_COST = 2                # a part costs the program so many times its collecting: its events, too
# enum crosscut_level
_CONTROL, _BOUNDARY, _OPERATORS, _EVERYTHING, _MARKS = range(5)


class Busy(Exception):
    """Another profile is open: try again later."""


class Profile:
    """A framework's profiler under the step plan. All methods from any thread."""

    def __init__(self, name: str, version: str, begin: Callable[[], None],
                 end: Callable[[], bytes]) -> None:
        """`begin` starts the framework's profiler or raises Busy; `end` stops it and returns a
        serialised XSpace. Neither is called concurrently with the other."""
        self.name, self.version = name, version
        self._begin, self._end = begin, end
        self._levels = {_OPERATORS, _EVERYTHING}
        self._lock = threading.RLock()
        self._level = 0
        self._theirs = 0        # profiles that the program has open
        self._running = False
        self._closed = ""       # why for good
        self._began = 0.0       # monotonic seconds: of the part; of all
        self._opened = time.monotonic()
        self._spent = 0.0       # seconds that collecting took
        self._covered = 0.0     # seconds
        self._rate = 0.0        # seconds of collecting per second of profile
        self._took = 0.0        # of the last collecting
        self._parts = self._bytes = self._cut = self._yielded = 0
        self._limit = int(os.environ.get("CROSSCUT_PROFILE_MIB") or _DEFAULT_MIB) << 20
        self._handle = 0
        self._told: set[int] = set()  # threads whose lines the run knows
        self._run = ""

    def open(self) -> None:
        """Registers as a source: from now on the step plan switches us. Once."""
        self._handle = _record.add_source(self.name, self.version, self.set_level)
        if self._handle == 0:
            _record.source_state(self.name, self.version, "failed", _record.error())
            return
        atexit.register(_record.unseen(self.close))
        os.register_at_fork(after_in_child=_record.unseen(self._forked))
        # Not one of the program's threads: threading does not list it.
        import _thread

        _thread.start_new_thread(_record.unseen(self._rounds), ())

    def close(self) -> None:
        """The program ends: keeps the last part if that takes no longer than we may."""
        if self._handle == 0:
            return
        if not self._lock.acquire(timeout=EXIT_SECONDS):  # a part is being collected
            self._state("the last part was cut: it was still being collected at the exit")
            return
        try:
            seconds = (time.monotonic() - self._began) * self._rate
            if self._running and seconds > EXIT_SECONDS:
                self._cut += 1
                self._running = False  # left alone: the process ends with it
            self._closed = self._closed or "exit"
            self._sync()
            self._state()
        finally:
            self._lock.release()
        _record.remove_source(self._handle)
        self._handle = 0

    @property
    def running(self) -> bool:
        """Whether the framework's profiler records now, for us."""
        return self._running

    def set_level(self, level: int) -> None:
        """As the step plan, a pause or the session's begin and end have it."""
        with self._lock:
            self._level = level
            if level != _CONTROL and self._run != _record.run_dir():
                self._new_session()
            self._sync()

    def _new_session(self) -> None:
        self._run = _record.run_dir()
        self._opened = time.monotonic()
        self._spent = self._covered = 0.0
        self._parts = self._bytes = self._cut = self._yielded = 0
        self._told.clear()

    def shows(self, *kinds: str) -> None:
        """The program computes on devices of these kinds: what another than the CPU does is seen by
        this profile, perhaps by nothing else."""
        if any(kind.lower() != "cpu" for kind in kinds):
            with self._lock:
                self._levels |= {_MARKS, _BOUNDARY}
                self._sync()

    def theirs_begins(self) -> None:
        """The program is about to start a profile of its own."""
        with self._lock:
            self._theirs += 1
            self._yielded += 1
            self._sync()
            self._state()

    def theirs_ended(self) -> None:
        """One that theirs_begins() announced is over."""
        with self._lock:
            self._theirs = max(0, self._theirs - 1)
            self._sync()

    def never_again(self, why: str) -> None:
        """Stays off for good, and says why."""
        with self._lock:
            self._closed = self._closed or why
            self._sync()
            self._state()

    def _forked(self) -> None:
        """A child has the state but not the threads of a profiler: nothing more happens here."""
        self._lock = threading.RLock()  # another thread may have held it
        self._running = False
        self._closed = "a forked child is not profiled"

    def _rests(self) -> bool:
        """Whether parts have cost more than there is for them."""
        share = _record.budget_before_steps() / 2
        own = time.monotonic() - self._opened
        return share > 0 and self._spent * _COST > _CREDIT + share * own

    def _sync(self) -> None:
        """Starts or ends the part, as the state asks. With the lock held."""
        wanted = self._level in self._levels and self._theirs == 0 and not self._closed
        if wanted and not self._running and not self._rests():
            self._start()
        elif self._running and not wanted:
            self._collect()

    def _start(self) -> None:
        try:
            self._begin()
        except Busy:
            self._yielded += 1
            return
        except Exception as error:
            self._closed = f"{type(error).__name__}: {error}"
            _record.source_state(self.name, self.version, "failed", self._closed)
            return
        self._began = time.monotonic()
        self._running = True
        if self._parts == 0:
            self._state()

    def _collect(self) -> None:
        now = time.monotonic()
        seconds = now - self._began
        self._running = False
        try:
            data = self._end()
        except Exception as error:
            self._closed = f"{type(error).__name__}: {error}"
            _record.source_state(self.name, self.version, "failed", self._closed)
            return
        self._took = time.monotonic() - now
        self._spent += self._took
        self._rate = max(self._took / max(seconds, 1e-3), self._rate / 2)
        if not data or not self._hand_over(data):
            self._cut += 1
            return
        self._covered += seconds
        self._parts += 1
        self._bytes += len(data)
        if self._bytes > self._limit and not self._closed:
            self._closed = f"off after {self._bytes >> 20} MiB (CROSSCUT_PROFILE_MIB)"
        self._state()

    def _hand_over(self, data: bytes) -> bool:
        begin_ns = xspace.start_time(data)
        self._tell_lines()
        return bool(_record.collected(self.name, "xspace", data, begin_ns, _ERROR_NS) == 0)

    def _tell_lines(self) -> None:
        """Which lines are those of Python's threads: what runs there is known from the boundary."""
        if _source_state.records_boundary():
            for tid, line in xspace.python_lines():
                if tid not in self._told:
                    self._told.add(tid)
                    _record.meta(f"xspace_line.{tid}", str(line))

    def _rounds(self) -> None:
        """A thread: ends parts that have lasted long enough, and starts what could not start."""
        # Not time.sleep, which is recorded: this thread is none of the program's.
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_NAME, b"crosscut-parts")  # nor is it sampled
        sleep = libc.usleep
        while not self._closed:
            sleep(_TICK_US)
            if self._running:
                due = time.monotonic() - self._began >= self._part_seconds()
            else:
                due = self._level in self._levels and not self._rests()
            if due:
                _record.aside(self._round)

    def _round(self) -> None:
        with self._lock:
            if self._running and time.monotonic() - self._began >= self._part_seconds():
                self._collect()
            self._sync()

    def _part_seconds(self) -> float:
        if self._rate == 0.0:
            return _FIRST_PART
        return min(_LONGEST, max(_SHORTEST, _PART_SECONDS / self._rate))

    def _state(self, more: str = "") -> None:
        seconds = time.monotonic() - self._opened
        parts = f"{self._parts} part" + "s" * (self._parts != 1)
        said = [f"{self._covered:.1f} of {seconds:.1f} s in {parts}"]
        if self._yielded:
            said.append("off while the program profiles itself")
        if self._cut:
            said.append(f"parts cut: {self._cut}")
        if self._closed not in ("", "exit"):
            said.append(self._closed)
        if more:
            said.append(more)
        state = "conflict" if self._theirs else "on"
        _record.source_state(self.name, self.version, state, "; ".join(said))
