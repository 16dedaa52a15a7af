"""Sessions as the program itself starts and stops them."""

from __future__ import annotations

import math
import os
from functools import partial
from operator import index
from types import TracebackType
from typing import Any, Literal

import crosscut
from crosscut import _forks, _ondemand, _sources, _wrap
from crosscut._names import did_you_mean, keywords_named
from crosscut._schedule import Schedule

_record = crosscut._record

Policy = Literal["drop-newest", "flight-recorder"]


class _Follower:
    """Carries out a schedule: called at every crosscut.step() with the number of the step."""

    def __init__(self, plan: Schedule) -> None:
        self._plan = plan
        self._first: int | None = None
        self._paused = False
        self._phase = ""

    def __call__(self, number: int) -> None:
        if self._first is None:
            self._first = number
        self.enter(number - self._first)

    def enter(self, step: int) -> None:
        action = self._plan.action(step)
        if action == "done":
            stop()
            return
        if action == "skip":
            if not self._paused:
                self._paused = pause()
            return
        if self._paused:
            self._paused = not resume()
        name = "warmup" if action == "warmup" else "active"
        if name != self._phase:
            self._phase = name
            _record.phase(name)


def _check(policy: Any, python: Any, plan: Any) -> None:
    policies = ("drop-newest", "flight-recorder")
    if policy not in policies:
        raise ValueError(f"start(): policy {policy!r} is neither drop-newest nor flight-recorder"
                         f"{did_you_mean(str(policy), policies)}")
    _ondemand.check_python("start", python)
    if not (plan is None or isinstance(plan, (str, Schedule))):
        raise TypeError(f"start(): plan={plan!r} is neither a string nor a schedule")


def _numbers(memory_mib: int, keep_seconds: float, control_percent: float,
             seed: int) -> dict[str, Any]:
    memory_mib, seed = index(memory_mib), index(seed)
    if not 0 <= memory_mib < 1 << 32:
        raise ValueError(f"start(): memory_mib={memory_mib} is not an amount that a machine has")
    if not 0 <= keep_seconds < math.inf:
        raise ValueError(f"start(): keep_seconds={keep_seconds} is not a length of time")
    if not -math.inf < control_percent <= 100:
        raise ValueError(f"start(): control_percent={control_percent} is not a share of the steps")
    return {"memory_bytes": memory_mib << 20, "keep_seconds": keep_seconds,
            "control_percent": control_percent, "seed": seed}


@keywords_named
def start(
    run_dir: str | os.PathLike[str] | None = None,
    *,
    memory_mib: int = 0,
    policy: Policy = "drop-newest",
    keep_seconds: float = 0.0,
    control_percent: float = -1.0,
    seed: int = 0,
    python: Literal["off", "boundary", "samples", "calls"] | None = None,
    shapes: bool | None = None,
    allocations: bool | None = None,
    plan: Schedule | str | None = None,
    budget: float | None = None,
) -> bool:
    """Begins to record this process and the children it forks; returns whether it does.

    `run_dir` is made where absent (default: CROSSCUT_RUN, else ./crosscut-<pid>). `memory_mib` caps
    everything Crosscut holds in this process (0: 64). With the policy "flight-recorder" the newest
    `keep_seconds` are kept and `snapshot` writes them. `control_percent`: the share of steps that
    run without probes, to measure Crosscut's own cost (< 0: the plan's). `python`: what is recorded
    of Python, by default samples beside the boundary between Python and native code. `shapes`:
    whether operators tell what they are called with, `allocations`: every allocation and free of
    PyTorch's (None: as CROSSCUT_SHAPES and CROSSCUT_ALLOCATIONS say, else not). `plan`: how much is
    recorded of each step, "light", "balanced" (default), "full" or shares in per cent, like
    "operators=10,everything=2"; or a `Schedule`, which says when to record at all (and then in
    full). `budget`: how much longer the steps may take, in per cent of the program's own time;
    where the plan costs more, fewer steps are recorded (None: CROSSCUT_BUDGET, else 2 where no plan
    is named; 0: no limit).

    False, with the words in `crosscut.error()`, where the session of `crosscut record` runs
    already, where it cannot be had, or where `plan` is no step plan. Takes about a millisecond.
    ValueError or TypeError for other settings that cannot be meant.
    """
    _check(policy, python, plan)
    numbers = _numbers(memory_mib, keep_seconds, control_percent, seed)
    if budget is not None:
        if not 0 <= budget <= 1000:
            raise ValueError(f"start(): budget={budget} is not a share of the time in per cent")
        numbers["budget_percent"] = budget or -1.0
    if _record.run_dir() == "":
        _sources.set_extra("shapes", shapes)
        _sources.set_extra("allocations", allocations)
    if _record.armed() and run_dir is None and _ondemand.begin() == 0:
        return _follow(plan)
    path = None if run_dir is None else os.path.abspath(os.fspath(run_dir))
    code = _record.start(
        run_dir=path, flight_recorder=policy == "flight-recorder", **numbers,
        plan="full" if isinstance(plan, Schedule) else plan)
    if code != 0:
        return False
    _forks.watch()
    _sources.activate(python)
    return _follow(plan)


def _follow(plan: Schedule | str | None) -> bool:
    if isinstance(plan, Schedule):
        follower = _Follower(plan)
        _record.set_step_hook(follower)
        follower.enter(0)
    return True


def stop() -> bool:
    """Ends the session; False where none runs. Waits for nothing that grows with the recording."""
    _record.set_step_hook(None)
    stopped = _record.stop() == 0
    if stopped and _record.armed():
        _ondemand.end()
    return stopped


def pause() -> bool:
    """Time from here to `resume` is no part of the window. False where nothing is recorded."""
    return _record.pause() == 0


def resume() -> bool:
    """Ends a pause, if there is one. False where nothing is recorded."""
    return _record.resume() == 0


def snapshot() -> bool:
    """Flight recorder: writes what is kept; True when it is on disk."""
    return _record.snapshot() == 0


def flush() -> bool:
    """Waits until all that was recorded so far is in the run directory, also after `stop`: for who
    copies or sends it while the program goes on (a reader on this machine needs no flush). False,
    with the words in `crosscut.error()`, where this process has not recorded, or it cannot be
    written."""
    return _record.flush() == 0


class session:
    """A session as a context manager: `with crosscut.session("run"): ...`. Takes what `start`
    takes. Where a session runs already (`crosscut record`), that one goes on and is left alone."""

    @keywords_named
    def __init__(
        self,
        run_dir: str | os.PathLike[str] | None = None,
        *,
        memory_mib: int = 0,
        policy: Policy = "drop-newest",
        keep_seconds: float = 0.0,
        control_percent: float = -1.0,
        seed: int = 0,
        python: Literal["off", "boundary", "samples", "calls"] | None = None,
        shapes: bool | None = None,
        allocations: bool | None = None,
        plan: Schedule | str | None = None,
        budget: float | None = None,
    ) -> None:
        self._start = partial(
            start, run_dir, memory_mib=memory_mib, policy=policy, keep_seconds=keep_seconds,
            control_percent=control_percent, seed=seed, python=python, shapes=shapes,
            allocations=allocations, plan=plan, budget=budget)
        self.started = False

    @property
    def run_dir(self) -> str:
        """Where this process records; "" when it does not."""
        return _record.run_dir()

    def __enter__(self) -> session:
        self.started = self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        if self.started:
            self.started = False
            stop()
        return False


@keywords_named
def wrap(thing: Any, *, layer: str = "native", names: str | None = None) -> int:
    """Records calls from Python into native code as spans of `layer` (framework, runtime,
    simulator, data, comm, native, idle; python is one, too).

    `thing`: a module or its name, with its native functions and classes, and, of a package, its
    native modules; a class of C, pybind11, nanobind or Cython, with its methods; one function or
    method; any other object, for the methods of its class; a library loaded by ctypes or cffi, or
    one of its functions; the name or path of a shared library ("libsim.so"), however ctypes or cffi
    come by its functions. `names` is a regular expression that a function's name must match whole.

    The wrapped objects stay what they are. Python that the native code calls back ends the span's
    time in `layer` until it returns. Where something is wrapped twice, the last call decides.

    Returns how many functions were found; of libraries 0, whose functions are met when they are
    called; 0 also where the boundary source is missing. ValueError for an unknown layer or an
    invalid expression, ImportError for an unknown module.
    """
    return _wrap.wrap(thing, layer, names)


def unwrap(thing: Any = None) -> int:
    """Takes back every `wrap` of `thing` (a module or its name are the same), or of everything:
    what was replaced is as it was before. Returns how many functions that are."""
    return _wrap.unwrap(thing)
