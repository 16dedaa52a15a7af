"""`torch.profiler` as its users know it, recorded by Crosscut: change the import and nothing else.

    from crosscut.torch import profile, schedule, record_function, ProfilerActivity

Operators, autograd's nodes, `record_function` scopes and device work are recorded as by `crosscut
record`; every cycle of a schedule is a run of its own, so none loses its events, and its results
can be read while the program goes on. Under `crosscut record` the outer recording goes on and a
profile of this module stays empty.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal

import torch.profiler
from torch.profiler import ProfilerAction, ProfilerActivity, record_function, schedule

import crosscut
from crosscut import torch_stacks
from crosscut.adapters import torch as adapter
from crosscut.reading import Run
from crosscut.torch_results import (Event, OperatorAverage, OperatorAverages, averages,
                                    averages_by_stack, events)

__all__ = ["Event", "OperatorAverage", "OperatorAverages", "ProfilerAction", "ProfilerActivity",
           "profile", "record_function", "schedule", "tensorboard_trace_handler"]


class profile:  # noqa: N801 - torch.profiler's name
    """Records PyTorch; see the module's words. A context manager; or call start, step and stop.

    `schedule` (torch.profiler.schedule's result, or any function from the step's number to a
    ProfilerAction) says what happens in each step that `step()` ends; without one, all from start
    to stop is recorded. In warm-up steps everything is prepared and nothing recorded.
    `on_trace_ready` is called with this object after each RECORD_AND_SAVE step, or at stop.
    `record_shapes` and `with_flops` record what operators are called with, `profile_memory` every
    allocation, `with_stack` Python functions; modules are recorded in any case. `activities` and
    the other arguments of torch.profiler's are accepted.
    """

    def __init__(self, *, activities: Iterable[Any] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[[profile], Any] | None = None,
                 record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
                 **others: Any) -> None:
        self.activities = activities
        self.record_shapes = record_shapes or with_flops
        self.with_modules = with_modules
        self.with_stack = with_stack
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._schedule = schedule
        self._memory = profile_memory
        self._metadata: dict[str, str] = {}
        self._folder = ""      # of the cycle that is open
        self._open = False     # a session of ours
        self._recorder = 0     # the process that records it
        self._paused = False   # it has not begun to record yet
        self._finished = ""    # the run of the last complete cycle
        self._cleaners: dict[str, weakref.finalize[Any, Any]] = {}

    # ---- control ----

    def start(self) -> None:
        """Begins with the action of step 0."""
        self.step_num = 0
        self._enter(self._action())

    def step(self) -> None:
        """Ends a step of the program."""
        before = self.current_action
        self.step_num += 1
        after = self._action()
        if self._open and self._schedule is not None and self._records(before):
            goes_on = before == ProfilerAction.RECORD and self._records(after)
            (crosscut.step if goes_on else crosscut.step_end)()
        if before == ProfilerAction.RECORD_AND_SAVE:
            self._close()
            self._ready()
        elif self._records(before) and not self._records(after):
            warnings.warn("the schedule ends a cycle without RECORD_AND_SAVE: what it recorded is "
                          "dropped", stacklevel=2)
            self._close()
        self._enter(after)

    def stop(self) -> None:
        """Ends recording; what is open becomes the result."""
        recorded = self._open and self._records()
        self._close()
        self.current_action = ProfilerAction.NONE
        if recorded:
            self._ready()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        self.stop()
        return False

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any] = ()) -> None:
        """Leaves out what comes, or goes on recording, inside a window; without effect outside
        one. Whatever the `activities`, all that is recorded."""
        if self._open and not self._paused:
            (crosscut.resume if enable else crosscut.pause)()

    def add_metadata(self, key: str, value: str) -> None:
        """A fact of the run that the next cycles and the open one have."""
        self._metadata[key] = value
        if self._open:
            crosscut.meta(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same for a text that is JSON; ValueError where it is none."""
        json.loads(value)
        self.add_metadata(key, value)

    # ---- results, of the last complete cycle ----

    @property
    def run(self) -> Run:
        """The recording, with all its tables. RuntimeError before the first cycle is complete."""
        if not self._finished:
            raise RuntimeError("nothing is recorded yet: no cycle of this profile is complete")
        return crosscut.read(self._finished)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> OperatorAverages:
        """Calls by name; or by name and shapes of the inputs (`record_shapes`), the operator's
        overload, or both; or by name and the `group_by_stack_n` innermost frames (`with_stack`):
        the lines that called them, in the backward pass those that called the forward operator.
        ValueError for stacks and one of the others at once."""
        if group_by_stack_n and (group_by_input_shape or group_by_overload_name):
            raise ValueError("key_averages(): groups by stacks, or by shapes and overloads")
        if group_by_stack_n:
            return OperatorAverages(averages_by_stack(self.run, group_by_stack_n))
        return OperatorAverages(averages(self.run, group_by_input_shape, group_by_overload_name))

    def events(self) -> list[Event]:
        """Every call in order of begin, by thread. No modules and no calls on devices: of those
        there are the tables of `run`."""
        return list(events(self.run))

    def export_stacks(self, path: str | os.PathLike[str],
                      metric: str = "self_cpu_time_total") -> None:
        """Writes the Python stacks of operators with their times in microseconds, for flamegraph.pl
        and its like. `metric`: "self_cpu_time_total" or "self_cuda_time_total". RuntimeError
        without `with_stack`."""
        if not self.with_stack:
            raise RuntimeError("export_stacks(): stacks are recorded with with_stack=True only")
        torch_stacks.export(self.run, path, metric)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace as Kineto does, compressed where `path` ends in .gz. OSError with
        Crosscut's words where it cannot."""
        self._export("chrome", path)

    def export_perfetto(self, path: str | os.PathLike[str]) -> None:
        """The same in Perfetto's own format: exact, and opens faster."""
        self._export("perfetto", path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keeps the run itself, for `crosscut report PATH` and its like. FileExistsError where
        there is something, OSError where the run could not be written."""
        source = self.run.path
        if os.getpid() == self._recorder and not crosscut.flush():
            raise OSError(crosscut.error())
        shutil.copytree(source, path)

    # ---- inside ----

    def _action(self) -> ProfilerAction:
        if self._schedule is None:
            return ProfilerAction.RECORD
        return self._schedule(self.step_num)

    def _records(self, action: ProfilerAction | None = None) -> bool:
        return (action or self.current_action) in (ProfilerAction.RECORD,
                                                   ProfilerAction.RECORD_AND_SAVE)

    def _enter(self, action: ProfilerAction) -> None:
        self.current_action = action
        if action == ProfilerAction.NONE:
            self._close()
            return
        if not self._open:
            self._folder = tempfile.mkdtemp(prefix="crosscut-profile-")
            self._cleaners[self._folder] = weakref.finalize(self, _remove, self._folder,
                                                            os.getpid())
            self._open = crosscut.start(os.path.join(self._folder, "run"), control_percent=0,
                                        plan="full", python="calls" if self.with_stack else "off",
                                        shapes=self.record_shapes, allocations=self._memory)
            if not self._open:
                warnings.warn(f"nothing is recorded by this profile: {crosscut.error()}",
                              stacklevel=4)
                return
            if self._schedule is not None:
                adapter.steps_declared()
            self._recorder = os.getpid()
            for key, value in self._metadata.items():
                crosscut.meta(key, value)
            self._paused = action == ProfilerAction.WARMUP and crosscut.pause()
            if not self._paused and self._schedule is not None:
                crosscut.step()
        elif self._paused and self._records(action):
            self._paused = not crosscut.resume()
            crosscut.step()

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        crosscut.stop()
        if not self._records():
            self._forget(self._folder)
            return
        before, self._finished = self._finished, os.path.join(self._folder, "run")
        self._forget(os.path.dirname(before))

    def _forget(self, folder: str) -> None:
        cleaner = self._cleaners.pop(folder, None)
        if cleaner is not None:
            cleaner()

    def _ready(self) -> None:
        if self.on_trace_ready is not None and self._finished:
            self.on_trace_ready(self)

    def _export(self, form: str, path: str | os.PathLike[str]) -> None:
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "crosscut")
        done = subprocess.run([program, "export", self.run.path, f"--to={form}", "-o",
                               os.fspath(path)], capture_output=True, text=True)
        # 3: written, and something of the recording is missing, which the trace says.
        if done.returncode not in (0, 3):
            raise OSError(done.stderr.strip())


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child that ends is not the last to need it
        shutil.rmtree(folder, ignore_errors=True)


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None,
                              use_gzip: bool = False) -> Callable[[profile], None]:
    """For `on_trace_ready`: a Chrome trace per cycle in `dir_name`, named as torch.profiler's."""
    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler
