"""`torch.profiler` as its users know it, recorded by Crosscut: change the import and nothing else.

    from crosscut.torch import profile, schedule, record_function, ProfilerActivity

Operators, autograd's nodes, `record_function` scopes and device work are recorded as by `crosscut
record`; every cycle of a schedule is a run of its own, so none loses its events, and its results
can be read while the program goes on. Under `crosscut record` a profile is a window of the outer
recording, which goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from typing import Any

import torch.profiler
from torch.autograd.profiler import EventList, FunctionEvent, KinetoStepTracker, emit_itt, emit_nvtx
from torch.autograd.profiler_util import FunctionEventAvg as Average
from torch.profiler import (DeviceType, ExecutionTraceObserver, ProfilerAction, ProfilerActivity,
                            _ExperimentalConfig, itt, kineto_available, record_function, schedule,
                            supported_activities, tensorboard_trace_handler)

import crosscut
from crosscut import _record
from crosscut.reading import Run
from crosscut.torch_arguments import OF_TRACES, counters, options, tell_what_is_left
from crosscut.torch_events import Event
from crosscut.torch_recorder import Recorder, Settings, export

__all__ = ["Average", "DeviceType", "Event", "EventList", "ExecutionTraceObserver",
           "FunctionEvent", "KinetoStepTracker", "ProfilerAction", "ProfilerActivity",
           "_ExperimentalConfig", "emit_itt", "emit_nvtx", "itt", "kineto_available", "profile",
           "record_function", "schedule", "supported_activities", "tensorboard_trace_handler"]


class profile(torch.profiler.profile):  # noqa: N801 - torch.profiler's name
    """Records PyTorch; see the module's words. torch.profiler's own class, with its arguments,
    schedule and methods; what records, and what the results are made of, is Crosscut.

    `record_shapes` and `with_flops` record what operators are called with, `profile_memory` every
    allocation, `with_stack` Python functions; modules are recorded in any case. Results are those
    of the last cycle, or of all with `acc_events`: `key_averages()` and `events()` give
    torch.profiler's own EventList. `run` has all that Crosscut knows.
    """

    profiler: Recorder | None

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._asked_for_devices = arguments.get("activities") is None
        self._filters = getattr(self, "activity_filters", {})
        tell_what_is_left(self)

    # ---- control ----

    def prepare_trace(self) -> None:
        """Begins a cycle; in warm-up steps everything is ready and nothing recorded."""
        if self.profiler is None or not self.acc_events:
            self.profiler = Recorder(self._settings())
        self.profiler._prepare_trace(self.current_action == ProfilerAction.WARMUP)
        for key, value in self._trace_metadata.items():
            self.profiler.tell(key, value)
        for name in OF_TRACES & options(self.experimental_config).keys():
            self.profiler.tell(f"json:{name}", "1")

    def start(self) -> None:
        """Begins with the action of the current step."""
        super().start()
        self._mark_step()

    def step(self) -> None:
        """Ends a step of the program."""
        if self.record_steps and self.profiler is not None and self.profiler.has_steps:
            crosscut.step_end()
        super().step()
        self._mark_step()

    def add_metadata(self, key: str, value: str) -> None:
        """A fact of the run that the next cycles and the open one have."""
        self._trace_metadata[key] = value
        if self.profiler is not None:
            self.profiler.tell(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same for a text that is JSON; ValueError where it is none."""
        _record.ours(json.loads, value)
        self.add_metadata(f"json:{key}", value)

    # ---- results, of the last cycle ----

    @property
    def run(self) -> Run:
        """The recording, with all its tables. RuntimeError before the first cycle is complete."""
        if self.profiler is None:
            raise RuntimeError("nothing is recorded yet: no cycle of this profile is complete")
        return self.profiler.run

    def export_chrome_trace(self, path: str | os.PathLike[str],
                            use_python_export: bool = False) -> None:
        """Writes the trace as Kineto does, compressed where `path` ends in .gz. OSError with
        Crosscut's words where it cannot, AssertionError before a start, as in torch.profiler.
        `use_python_export`: the trace is the same."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before exporting chrome trace")
        export(self.run, "chrome", path)

    def export_perfetto(self, path: str | os.PathLike[str]) -> None:
        """The same in Perfetto's own format: exact, and opens faster."""
        export(self.run, "perfetto", path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keeps the run itself, for `crosscut report PATH` and its like. FileExistsError where
        there is something, OSError where the run could not be written."""
        source = self.run.path
        assert self.profiler is not None
        if os.getpid() == self.profiler.pid and not crosscut.flush():
            raise OSError(crosscut.error())
        shutil.copytree(source, path)

    # ---- inside ----

    def _settings(self) -> Settings:
        device, config = self.use_device, options(self.experimental_config)
        if device is None and self._asked_for_devices:
            device = "device"
        return Settings(
            shapes=self.record_shapes, memory=self.profile_memory, stacks=self.with_stack,
            flops=self.with_flops, steps=self.record_steps, accumulates=self.acc_events,
            device=device, counters=counters(self.experimental_config),
            host=(ProfilerActivity.CPU in self.activities
                  and self._filters.get(ProfilerActivity.CPU) != set()),
            threads=config.get("profile_all_threads", False),
            collections=config.get("record_python_gc_info", False),
            timeout_s=getattr(self, "post_processing_timeout_s", None),
            trace_id=getattr(self, "custom_trace_id_callback", None))

    def _mark_step(self) -> None:
        if self.record_steps and self.profiler is not None and self.profiler.has_steps:
            crosscut.step()
