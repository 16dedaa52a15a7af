"""The half of `crosscut.torch.profile` that records: what torch.profiler has as `profiler`."""

from __future__ import annotations

import dataclasses
import logging
import multiprocessing.util
import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch.autograd.profiler as autograd_profiler
from torch.autograd.profiler_util import EventList, FunctionEventAvg

import crosscut
from crosscut import _read, _record, torch_events, torch_identities, torch_kineto, torch_window
from crosscut.adapters import torch_modules
from crosscut.reading import Run


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a profile was asked for. `device`: what work on devices is called, None: nobody asked
    for it. `counters`: what of a device's performance counters, as options of the plugin. `host`:
    whether its own calls are asked for. `threads`: whether events are those of all threads;
    `collections`: whether the garbage collector's are among them. `timeout_s`: how long events may
    be made of a recording."""

    shapes: bool = False
    memory: bool = False
    stacks: bool = False
    flops: bool = False
    steps: bool = False
    accumulates: bool = False
    device: str | None = None
    counters: dict[str, str] = dataclasses.field(default_factory=dict)
    host: bool = True
    threads: bool = False
    collections: bool = False
    timeout_s: float | None = None
    trace_id: Callable[[], str] | None = None


_recorder: weakref.ref[Recorder] | None = None  # that began the last cycle of this process


class Recorder:
    """Records cycle after cycle, each as a run of its own, and tells of the last one: of all where
    it accumulates. Its methods are torch.autograd.profiler.profile's. The runs go with it. Where
    the process records already, a cycle is a window of that.

    A process has one open cycle at most. One that is open when another begins is given up, and one
    whose recorder is gone ends."""

    def __init__(self, settings: Settings) -> None:
        if settings.timeout_s is not None and settings.timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.settings = settings
        self.trace_id = ""
        # Those that are told of; the last one may be open.
        self.cycles: list[torch_window.Session | torch_window.Window] = []
        self.pid = self.thread = 0  # that record, by the system's numbers
        # Those that were there when recording began; those of them that Python began.
        self.threads = self.begun = frozenset[int]()
        self._running: dict[str, list[tuple[str, int]]] = {}  # then, by run
        self._since: dict[str, int] = {}  # when that was, of those that were ready before
        self._open = self._paused = False
        self._events: EventList | None = None
        self._results: torch_kineto.Results | None = None
        self._identities: torch_identities.Identities | None = None
        self._stats = autograd_profiler._ProfilerStats()
        self._began = 0

    # ---- control ----

    @property
    def recording(self) -> bool:
        """Whether what happens now is recorded."""
        return self._open and not self._paused

    @property
    def has_steps(self) -> bool:
        """Whether the profile's steps are to be declared now as those of the recording."""
        return self.recording and self.cycles[-1].has_steps

    def _prepare_trace(self, pause: bool = False) -> None:
        """Begins a cycle; `pause`: records nothing before `_start_trace`."""
        global _recorder
        began = time.perf_counter_ns()
        before, _recorder = _recorder and _recorder(), weakref.ref(self)
        if before is not None:
            before._give_up()
        if not self.settings.accumulates:
            self.cycles = []
        self._events = self._results = None
        self.trace_id = (self.settings.trace_id or _trace_id)()
        # What processes left that ended without the finalizer below, by os._exit() or a signal.
        prefix = os.path.join(os.path.realpath(tempfile.gettempdir()), "crosscut-profile-")
        _read.remove_runs_of_ended(prefix)
        folder = tempfile.mkdtemp(prefix="crosscut-profile-")
        settings = self.settings
        cycle = torch_window.cycle(os.path.join(folder, "run"), settings)
        # Also at the end of a process that multiprocessing forked, which runs no exit handlers
        # before CPython 3.13; never in a child of this one.
        multiprocessing.util.Finalize(self, _end, (cycle, folder), exitpriority=0)
        self._look_around()
        torch_modules.tell_apart(settings.stacks)
        self._open = cycle.begin(pause)
        if not self._open:
            warnings.warn(f"nothing is recorded by this profile: {crosscut.error()}", stacklevel=6)
            return
        self.cycles.append(cycle)
        self.pid = os.getpid()
        self.tell("trace_id", self.trace_id)
        self._identities = (torch_identities.Identities(settings.shapes and settings.memory)
                            if settings.stacks else None)
        self._paused = pause
        self._stats.profiler_prepare_call_duration_us = _us_since(began)

    def _start_trace(self) -> None:
        """Begins to record."""
        self._began = time.perf_counter_ns()
        autograd_profiler._run_on_profiler_start()
        if self._open:
            self._begin_to_record()
        self._stats.profiler_enable_call_duration_us = _us_since(self._began)
        if self._open:
            self.cycles[-1].resume()

    def _begin_to_record(self) -> None:
        run = self.cycles[-1].run
        if self.settings.stacks:
            self._running[run] = torch_events.running()
        if self._identities is not None:
            _record.ours(self._identities.begin)
        if self._paused:
            self._look_around()
            self._since[run] = time.monotonic_ns()
            self._paused = False

    def _give_up(self) -> None:
        """Of a cycle that is still open nothing is kept, as torch.profiler keeps nothing of it."""
        if self._open:
            self._open = self._paused = False
            _end(self.cycles.pop())
            if self.pid == os.getpid():
                warnings.warn("a profile that was not stopped is given up: another begins",
                              stacklevel=7)

    def _look_around(self) -> None:
        """While nothing is recorded."""
        self.thread = threading.get_native_id()
        threads = {thread: thread.native_id or 0 for thread in threading.enumerate()}
        self.threads = frozenset(threads.values())
        self.begun = frozenset(number for thread, number in threads.items()
                               if not isinstance(thread, threading._DummyThread))

    def __exit__(self, *_: object) -> None:
        _record.ours(self._stop)

    def _stop(self) -> None:
        began = time.perf_counter_ns()
        if self._open:
            self._open = self._paused = False
            _end(self.cycles[-1])
        autograd_profiler._run_on_profiler_stop()
        self._stats.profiler_disable_call_duration_us = _us_since(began)
        self._stats.profiling_window_duration_sec = (began - self._began) / 1e9

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[Any]) -> None:
        """Leaves out what comes, or goes on; devices are not switched without the host."""
        if not any(activity.name == "CPU" for activity in activities):
            warnings.warn("toggle_collection_dynamic(): work on devices is recorded as long as the "
                          "host's is", stacklevel=4)
        elif self.recording:
            (self.cycles[-1].resume if enabled else self.cycles[-1].pause)()

    def tell(self, key: str, value: str) -> None:
        """A fact of the open cycle, for its trace."""
        if self._open:
            self.cycles[-1].tell(key, value)

    # ---- results ----

    @property
    def run(self) -> Run:
        """The last cycle, with all its tables. RuntimeError where none is complete."""
        if self._open or not self.cycles:
            raise RuntimeError("nothing is recorded yet: no cycle of this profile is complete")
        return crosscut.read(self.cycles[-1].made())

    @property
    def function_events(self) -> EventList:
        """Every event, made when first asked for."""
        if self._events is None:
            self._events = self._made_events()
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, *grouping: Any,
                     **named: Any) -> EventList:
        """Rows by name and what else is asked for; what can be depends on PyTorch's version."""
        rows = self.function_events.key_averages(group_by_input_shape, *grouping, **named)
        for row in rows if group_by_input_shape else ():
            row.input_shapes = torch_events.Shapes(row.input_shapes)
        return rows

    @property
    def kineto_results(self) -> torch_kineto.Results | None:
        """The events of the last cycle as Kineto's; None where no cycle is complete."""
        if self._results is not None or not self._complete():
            return self._results
        run = crosscut.read(self._complete()[-1].made())
        origin = next(row["start_ns"] for row in run.table("processes").rows()
                      if row["pid"] == self.pid)
        self._results = torch_kineto.Results(self.function_events.with_namesakes, origin,
                                             lambda path: export(run, "chrome", path),
                                             self._identities and self._identities.add_to)
        return self._results

    def total_average(self) -> FunctionEventAvg:
        """All events in one row."""
        return self.function_events.total_average()

    def table(self, *arguments: Any, **named: Any) -> str:
        """The events as text."""
        return self.function_events.table(*arguments, **named)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, over all rows."""
        return self.key_averages().self_cpu_time_total

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Python stacks with the time of the operators that they called."""
        if not self.settings.stacks:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def export_chrome_trace(self, path: str, metadata: Any = None,
                            use_python_export: bool = False) -> None:
        """Writes the trace of the last cycle; what is to be told beside it was told to it."""
        export(self.run, "chrome", path)

    def __str__(self) -> str:
        return str(self.function_events) if self._complete() else "<unfinished crosscut profile>"

    # ---- inside ----

    def _complete(self) -> list[torch_window.Session | torch_window.Window]:
        return self.cycles[:-1] if self._open else self.cycles

    def _made_events(self) -> EventList:
        began = time.perf_counter_ns()
        timeout = self.settings.timeout_s
        deadline = None if timeout is None else time.monotonic() + timeout
        settings, events = self.settings, self._list(())
        for cycle in self._complete():
            one = torch_events.event_list(crosscut.read(cycle.made()), torch_events.Wanted(
                self.pid, self.thread, None if settings.threads else self.threads, settings.device,
                begun=self.begun, shapes=settings.shapes, memory=settings.memory,
                flops=settings.flops, functions=settings.stacks, collections=settings.collections,
                running=tuple(self._running.get(cycle.run, ())),
                since_ns=self._since.get(cycle.run, 0), deadline=deadline))
            events += one
            events.with_namesakes = one.with_namesakes
        if not settings.host:
            events[:] = [event for event in events if event.activity_type == "kernel"]
        events._tree_built = True
        if deadline is not None and time.monotonic() >= deadline:
            logging.getLogger("torch.autograd.profiler").warning(
                "Profiler timed out after %.3f seconds, returning partial results with %d events",
                timeout, len(events))
        self._stats.parse_kineto_call_duration_us = _us_since(began)
        self._stats.function_events_build_tree_call_duration_us = _us_since(began)
        self._stats.number_of_events = len(events)
        return events

    def _list(self, rows: Iterable[Any]) -> EventList:
        settings = self.settings
        return EventList(rows, use_device=settings.device, profile_memory=settings.memory,
                         with_flops=settings.flops)


def _end(cycle: torch_window.Session | torch_window.Window, folder: str | None = None) -> None:
    """Ends the cycle, if it is still open, and removes `folder`. The ring goes, too, where it is
    still that of the run: it would stay if os._exit() comes next."""
    if cycle.is_open():
        cycle.end()
        torch_identities.end_open()
        torch_modules.tell_apart(False)
    if folder is None:
        return
    shutil.rmtree(folder, ignore_errors=True)
    if not crosscut.active():
        crosscut.flush()


def export(run: Run, form: str, path: str | os.PathLike[str]) -> None:
    """Writes a run in a format of `crosscut export`. OSError with its words where it cannot."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "crosscut")
    done = subprocess.run([program, "export", run.path, f"--to={form}", "-o", os.fspath(path)],
                          capture_output=True, text=True)
    # 3: written, and something of the recording is missing, which the trace says.
    if done.returncode not in (0, 3):
        raise OSError(done.stderr.strip())


def _us_since(began: int) -> int:
    return max(1, (time.perf_counter_ns() - began) // 1000)


def _trace_id() -> str:
    return f"{uuid.uuid4().int:032X}"
