"""What a cycle of `crosscut.torch.profile` records with: a session of its own or, where this
process records already, a window of that recording.

Both have the same calls. A cycle is ready after `begin`, records between `resume` and `pause`, and
ends by `end`; the run that `made` names has what was recorded then. One of a process is open.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from typing import Protocol

import torch

import crosscut
from crosscut import _plugins, _read, _record, _source_state, _sources
from crosscut.adapters import torch as adapter


class Asked(Protocol):
    """What of a profile's settings says what is recorded."""

    @property
    def shapes(self) -> bool: ...
    @property
    def memory(self) -> bool: ...
    @property
    def stacks(self) -> bool: ...
    @property
    def flops(self) -> bool: ...
    @property
    def device(self) -> str | None: ...
    @property
    def counters(self) -> dict[str, str]: ...


def cycle(run: str, asked: Asked) -> Session | Window:
    """Of a profile that begins now. `run`: where its run will be."""
    return (Window if crosscut.active() or _record.armed() else Session)(run, asked)


def _measure(counters: dict[str, str], on: bool) -> None:
    """Has plugins read a device's counters, or not any more: they have followed on return."""
    for key, value in counters.items() if on else reversed(counters.items()):
        _record.plugin_option(key, value if on else None)


class Session:
    """A session of its own, which makes the run."""

    has_steps = True  # the profile's are the run's

    def __init__(self, run: str, asked: Asked) -> None:
        self.run, self._asked = run, asked

    def begin(self, pause: bool) -> bool:
        """False, with the words in `crosscut.error()`, where that cannot be. `pause`: nothing is
        recorded before `resume`."""
        asked = self._asked
        if not crosscut.start(self.run, control_percent=0, plan="full", python="off",
                              shapes=asked.shapes or asked.flops, scalars=asked.shapes,
                              allocations=asked.memory):
            return False
        adapter.steps_declared()  # by prof.step(), or there are none, as in torch.profiler
        if pause:
            crosscut.pause()
        return True

    def resume(self) -> None:
        """The last that a profile does before the program goes on."""
        _measure(self._asked.counters, True)
        crosscut.resume()
        if self._asked.stacks:
            _record.ours(_sources.follow_calls, True, True)

    def pause(self) -> None:
        """The first where the profile has the program's thread again."""
        if self._asked.stacks:
            _record.ours(_sources.follow_calls, False)
        crosscut.pause()
        _measure(self._asked.counters, False)

    def tell(self, key: str, value: str) -> None:
        """A fact of the run."""
        crosscut.meta(key, value)

    def is_open(self) -> bool:
        """Whether it still records, in this process."""
        return crosscut.run_dir() == self.run

    def end(self) -> None:
        """Of one that is open."""
        if self._asked.stacks:
            _sources.follow_calls(False)
        _measure(self._asked.counters, False)
        crosscut.stop()

    def made(self) -> str:
        """The run, complete or not."""
        return self.run


_making = threading.Lock()  # in any thread
_open: Window | None = None  # the window of this process, or of the one that forked it


class Window:
    """A part of what this process records anyway: all that the profile asks for is recorded in it,
    too, and steps are those that the recording has. The run is cut out when it is asked for."""

    has_steps = False

    def __init__(self, run: str, asked: Asked) -> None:
        self.run, self._asked = run, asked
        self._begins_session = not crosscut.active()  # armed, and nobody records
        self._outer = self._key = ""
        self._pid = os.getpid()
        self._extras = _source_state.extras()
        self._begin: tuple[int, int] | None = None  # of the part that is recorded now
        self._parts: list[tuple[int, int, int, int]] = []
        self._facts = [("control_percent", "0"),
                       ("plan", "control=0,boundary=0,operators=0,everything=100")]
        self._ended = 0.0
        self._made_as = ""  # the run, once it is cut out

    def begin(self, _pause: bool) -> bool:  # nothing is recorded before resume() in any case
        global _open
        if self._begins_session and not crosscut.start():
            return False
        if _record.whole(True) != 0:
            return False
        self._outer, self._key = _record.run_dir(), _record.process_key()
        asked = self._asked
        for name, wanted in (("shapes", asked.shapes or asked.flops), ("scalars", asked.shapes),
                             ("allocations", asked.memory)):
            if wanted:
                _sources.set_extra(name, True)
        _open = self
        return True

    def resume(self) -> None:
        if self._asked.stacks:
            _record.ours(self._resume)
        else:
            self._resume()

    def _resume(self) -> None:
        """What runs now is told anew where the recording has Python's calls."""
        if self._asked.stacks and self._extras["calls"]:
            _sources.follow_calls(False)
        _measure(self._asked.counters, True)
        self._begin = (_record.now(), time.monotonic_ns())
        if self._asked.stacks:
            _sources.follow_calls(True, builtins=True)

    def pause(self) -> None:
        if self._begin is None:
            return
        if self._asked.stacks:
            _record.ours(self._pause)
        else:
            self._pause()

    def _pause(self) -> None:
        assert self._begin is not None
        if self._asked.stacks:
            _sources.follow_calls(False)
        _measure(self._asked.counters, False)
        begin, begin_ns = self._begin
        self._parts.append((begin, _record.now(), begin_ns, time.monotonic_ns()))
        self._begin = None
        if self._asked.stacks and self._extras["calls"]:
            _sources.follow_calls(True)

    def tell(self, key: str, value: str) -> None:
        self._facts.append((key, value))

    def is_open(self) -> bool:
        return _open is self and self._pid == os.getpid()

    def end(self) -> None:
        global _open
        self.pause()
        if not self._parts:  # it ends in its warm-up
            now, now_ns = _record.now(), time.monotonic_ns()
            self._parts.append((now, now, now_ns, now_ns))
        _open = None
        self._ended = time.monotonic()
        self._put_back()
        if _record.run_dir() != self._outer:
            warnings.warn("the recording ended before this profile, which has no more than it",
                          stacklevel=7)
        _record.whole(False)
        if self._begins_session and _record.run_dir() == self._outer:
            crosscut.stop()

    def _put_back(self) -> None:
        """What is recorded only where asked for, as it was."""
        for name in ("shapes", "scalars", "allocations"):
            if _source_state.extras()[name] == self._extras[name]:
                continue
            _sources.set_extra(name, self._extras[name])
            if name == "allocations":  # readers must not wait for what is freed later
                _record.source_state(name, "", "off", "recorded in profiles of the program's own")

    def made(self) -> str:
        with _making:
            if not self._made_as:
                # A forked child may ask, too: it has one of its own beside.
                made = self.run if self._pid == os.getpid() else f"{self.run}-{os.getpid()}"
                self._await_devices()
                _read.cut_run(self._outer, self._key, self._parts, self._facts, made)
                self._made_as = made
        return self._made_as

    def _await_devices(self) -> None:
        if self._asked.device is None or self._pid != os.getpid():
            return
        if torch.cuda.is_available() or os.environ.get("CROSSCUT_PLUGINS"):
            time.sleep(max(0.0, self._ended + _plugins.HANDED_OVER_SECONDS - time.monotonic()))


def _leave_window() -> None:
    """In a forked child, which has no profile: what was asked for the window goes."""
    global _open, _making
    _making = threading.Lock()  # another thread of the parent's may have it
    window, _open = _open, None
    if window is None:
        return
    window._put_back()
    window.pause()


os.register_at_fork(after_in_child=_leave_window)
