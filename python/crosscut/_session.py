"""Sessions as the program itself starts and stops them."""

from __future__ import annotations

import math
import os
import sys
import warnings
from contextlib import nullcontext
from functools import cached_property
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypedDict

import crosscut
from crosscut import _forks, _ondemand, _run_folder, _sources, _wrap
from crosscut._command_line import script_of
from crosscut._names import did_you_mean, keywords_named
from crosscut._schedule import Schedule
from crosscut.adapters import notebooks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Unpack

    from crosscut.reading import Run

_record = crosscut._record

Policy = Literal["drop-newest", "flight-recorder"]
PythonLevel = Literal["off", "boundary", "samples", "calls"]


class Options(TypedDict, total=False):
    """What `start` and `session` take by name."""

    memory_mib: int
    policy: Policy
    keep_seconds: float
    control_percent: float
    seed: int
    python: PythonLevel | None
    shapes: bool | None
    scalars: bool | None
    allocations: bool | None
    plan: Schedule | str | None
    budget: float | None


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


def _check(function: str, options: Options) -> None:
    """Raises what fits where the options of `function` cannot be meant."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}"
                            f"{did_you_mean(name, sorted({*Options.__annotations__, 'run_dir'}))}")
    policies = ("drop-newest", "flight-recorder")
    policy = options.get("policy", "drop-newest")
    if policy not in policies:
        raise ValueError(f"{function}(): policy {policy!r} is neither drop-newest nor "
                         f"flight-recorder{did_you_mean(str(policy), policies)}")
    _ondemand.check_python(function, options.get("python"))
    plan = options.get("plan")
    if not (plan is None or isinstance(plan, (str, Schedule))):
        raise TypeError(f"{function}(): plan={plan!r} is neither a string nor a schedule")
    given: dict[str, object] = {**options}
    limits: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
        ("memory_mib", lambda mib: 0 <= index(mib) < 1 << 32, "an amount that a machine has"),
        ("keep_seconds", lambda seconds: 0 <= seconds < math.inf, "a length of time"),
        ("control_percent", lambda percent: -math.inf < percent <= 100, "a share of the steps"),
        ("seed", lambda seed: index(seed) == seed, "a whole number"),
        ("budget", lambda percent: percent is None or 0 <= percent <= 1000,
         "a share of the time in per cent"))
    for name, fits, what in limits:
        if name in given and not fits(given[name]):
            raise ValueError(f"{function}(): {name}={given[name]} is not {what}")


def start(run_dir: str | os.PathLike[str] | None = None, **options: Unpack[Options]) -> bool:
    """Begins to record this process and the children it forks; returns whether it does.

    `run_dir` is made where absent; what is recorded already in a folder of that name stays, and
    this process becomes one more of that run (default: CROSSCUT_RUN, else a name of its own in
    ./crosscut-runs, the same one for every start in this process). The options:

    `memory_mib` caps everything Crosscut holds in this process (0: 64). With the `policy`
    "flight-recorder" the newest `keep_seconds` are kept and `snapshot` writes them.
    `control_percent`: the share of steps that run without probes, to measure Crosscut's own cost (<
    0: the plan's); `seed`: of their choice. `python`: what is recorded of Python, by default
    samples beside the boundary between Python and native code. `shapes`: whether operators tell
    what they are called with, `scalars`: with the values of numbers among it, `allocations`: every
    allocation and free of PyTorch's (None: as CROSSCUT_SHAPES, CROSSCUT_SCALARS and
    CROSSCUT_ALLOCATIONS say, else not). `plan`: how much is recorded of each
    step, "light", "balanced" (default), "full" or shares in per cent, like
    "operators=10,everything=2"; or a `Schedule`, which says when to record at all (and then in
    full). `budget`: how much longer the steps may take, in per cent of the program's own time;
    where the plan costs more, fewer steps are recorded (None: CROSSCUT_BUDGET, else 2 where no plan
    is named; 0: no limit).

    False, with the words in `crosscut.error()`, where the session of `crosscut record` runs
    already, where it cannot be had, or where `plan` is no step plan. Takes about a millisecond.
    TypeError for an option that there is not, ValueError or TypeError for values that cannot be
    meant.
    """
    _check("start", options)
    return _begin(run_dir, options)


def _begin(run_dir: str | os.PathLike[str] | None, options: Options) -> bool:
    """start(), its options checked."""
    run_dir = run_dir or None  # no path is "", which would be the current folder
    plan, budget = options.get("plan"), options.get("budget")
    if _record.run_dir() == "":
        _sources.set_extra("shapes", options.get("shapes"))
        _sources.set_extra("scalars", options.get("scalars"))
        _sources.set_extra("allocations", options.get("allocations"))
    if _record.armed() and run_dir is None and _record.start() == 0:
        return _follow(plan)
    if run_dir is None and not _run_folder.is_given():
        run_dir = _run_folder.of_process()
    limit = {} if budget is None else {"budget_percent": budget or -1.0}
    path = None if run_dir is None else os.path.abspath(os.fspath(run_dir))
    with nullcontext() if path is None else _run_folder.folders_above(path):
        code = _record.start(
            run_dir=path, memory_bytes=index(options.get("memory_mib", 0)) << 20,
            flight_recorder=options.get("policy") == "flight-recorder",
            keep_seconds=options.get("keep_seconds", 0.0),
            control_percent=options.get("control_percent", -1.0),
            seed=index(options.get("seed", 0)),
            plan="full" if isinstance(plan, Schedule) else plan, **limit)
    if code != 0:
        return False
    if _run_folder.is_notebook():  # its command is that of the kernel
        _record.process_name(_run_folder.program())
    elif script := script_of(list(getattr(sys, "orig_argv", ()))):
        _record.meta("script", script)  # the process is called so
    notebooks.tell()
    _forks.watch()
    _sources.activate(options.get("python"))
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
    if _record.active():
        notebooks.tell()
    return _record.stop() == 0


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
    """A session as a context manager, and then its run: `with crosscut.session("run") as s: ...`,
    `s.run.verdict()`. A notebook shows it as the run's report.

    Takes what `start` takes. Each `with` makes a new run: where the folder `run` holds one, this
    one goes to `run-2`, and a warning says so (several processes that `start` in one folder are one
    run). Without a name it is a folder in ./crosscut-runs, as `crosscut record` makes them. Where a
    session runs already (`crosscut record`, or this one), that one goes on and is left alone.
    """

    def __init__(self, run_dir: str | os.PathLike[str] | None = None,
                 **options: Unpack[Options]) -> None:
        _check("session", options)
        self._wanted = None if run_dir is None else os.fspath(run_dir)
        self._options = options
        self._path = ""
        self._problem = "it has not begun (with crosscut.session() as s: ...)"
        self.started = False
        self._inside = 0  # of its own `with`, again

    @property
    def run_dir(self) -> str:
        """Where this process records; "" when it does not."""
        return _record.run_dir()

    @property
    def path(self) -> str:
        """The folder of the run; "" before it begins, and where nothing is recorded."""
        return self._path

    @cached_property
    def _ended_run(self) -> Run:
        return crosscut.read(self._path)

    @property
    def run(self) -> Run:
        """The recording: after the end all of it, before that what there is by now. RuntimeError
        where there is none."""
        if not self._path:
            raise RuntimeError(f"this session has no run: {self._problem}")
        return crosscut.read(self._path) if self.started else self._ended_run

    def __enter__(self) -> session:
        if self.started:
            self._inside += 1
            return self
        self.__dict__.pop("_ended_run", None)
        if _record.active() or (self._wanted is None and _run_folder.is_given()):
            self.started = _begin(self._wanted, self._options)
            taken = ""
        else:
            wanted = self._wanted or _run_folder.new_name()
            with _run_folder.folders_above(wanted), _run_folder.claimed(wanted) as taken:
                self.started = _begin(taken, self._options)
            if self.started and self._wanted and taken != self._wanted:
                warnings.warn(f"{self._wanted} holds a recording already; this one goes to {taken}",
                              stacklevel=2)
        self._path = (taken if self.started else "") or _record.run_dir()
        self._problem = "" if self._path else _record.error()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        if self._inside:
            self._inside -= 1
        elif self.started:
            self.started = False
            stop()
        return False

    def __repr__(self) -> str:
        if not self._path:
            return f"<crosscut session without a run: {self._problem}>"
        return f"<crosscut session {self._path}{', recording' if self.started else ''}>"

    def _repr_html_(self) -> str | None:
        return self.run._repr_html_() if self._path and not self.started else None


@keywords_named
def wrap(thing: object, *, layer: str = "native", names: str | None = None) -> int:
    """Records calls from Python into native code as spans of `layer` (framework, runtime,
    simulator, data, comm, native, idle; python is one, too).

    `thing`: a module or its name, with its native functions and classes, and, of a package, its
    native modules; a class of C, pybind11, nanobind or Cython, with its methods; one function or
    method; any other object, for the methods of its class; a library loaded by ctypes or cffi, or
    one of its functions; the name or path of a shared library ("libsim.so"), however ctypes or cffi
    come by its functions. `names` is a regular expression that a function's name must match whole.

    The wrapped objects stay what they are. Python that the native code calls back ends the span's
    time in `layer` until it returns. Where something is wrapped twice, the last call decides.

    A module's native code may also be a library that it loads by ctypes or cffi: functions are
    recorded of libraries that the module, one below it or a class of theirs holds, and those that
    their code calls first.

    Returns how many functions these are; of a library, those that it exports (0 where it is not
    loaded yet or its file cannot be read); 0 also where the boundary source is missing. ValueError
    for an unknown layer or an invalid expression, ImportError for an unknown module.
    """
    return _wrap.wrap(thing, layer, names)


def unwrap(thing: object = None) -> int:
    """Takes back every `wrap` of `thing` (a module or its name are the same), or of everything:
    what was replaced is as it was before. Returns how many functions that are."""
    return _wrap.unwrap(thing)
