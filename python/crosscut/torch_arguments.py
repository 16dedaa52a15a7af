"""What `crosscut.torch.profile` makes of torch.profiler's arguments that it has no words for."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

from torch.profiler import ProfilerActivity, supported_activities

OF_TRACES = {"capture_overload_names", "adjust_profiler_step"}  # change how traces are written
_CARRIED_OUT = OF_TRACES | {"verbose", "profile_all_threads", "record_python_gc_info",
                            "expose_kineto_event_metadata", "trace_only", "profiler_metrics"}
# What Kineto has names of its own for, in CUPTI's.
_KINETOS_METRICS = {
    "kineto__cuda_core_flops": [f"smsp__sass_thread_inst_executed_op_{of}_pred_on.sum" for of in (
        "dadd", "dfma", "dmul", "hadd", "hfma", "hmul", "fadd", "ffma", "fmul")],
    "kineto__tensor_core_insts": ["sm__inst_executed_pipe_tensor.sum"]}
# What Kineto calls the kinds of events of ProfilerActivity.CPU.
_OF_THE_HOST = {"CPU_OP", "CPU_INSTANT_EVENT", "USER_ANNOTATION", "PYTHON_FUNCTION",
                "EXTERNAL_CORRELATION", "CUDA_RUNTIME", "CUDA_DRIVER", "XPU_RUNTIME",
                "PRIVATEUSE1_RUNTIME", "PRIVATEUSE1_DRIVER"}


def options(config: Any) -> dict[str, Any]:
    """What of an _ExperimentalConfig is not as by default."""
    if config is None:
        return {}
    values, defaults = config.__getstate__(), type(config)().__getstate__()
    return {name: value for name, value, default in zip(names(config), values, defaults)
            if value != default}


def names(config: Any) -> list[str]:
    """Of the options: the object tells its values by place only, their names are in its
    documentation. By their places where that does not fit."""
    found = re.findall(r"(\w+): ", (type(config).__init__.__doc__ or "").split("->")[0])[1:]
    count = len(config.__getstate__())
    return found if len(found) == count else [f"option {place}" for place in range(count)]


def counters(config: Any) -> dict[str, str]:
    """What the CUPTI plugin is to measure, as its options; {} where nothing is asked for. Per
    kernel, kernels run as often as it takes, as in Kineto."""
    asked = options(config)
    named = [metric.decode() if isinstance(metric, bytes) else metric  # its state has them so
             for metric in asked.get("profiler_metrics", ())]
    metrics = [name for metric in named for name in _KINETOS_METRICS.get(metric, [metric])]
    if not metrics:
        return {}
    per_kernel = bool(asked.get("profiler_measure_per_kernel"))
    return {"metrics_per": "kernel" if per_kernel else "window",
            "metrics_replay": "on" if per_kernel else "off", "metrics": "+".join(metrics)}


def tell_what_is_left(profile: Any) -> None:
    """Warns of each argument of a torch.profiler.profile that changes nothing. RuntimeError, as in
    torch.profiler, for kinds of events that there are none of."""
    carried_out = _CARRIED_OUT
    if counters(profile.experimental_config):
        carried_out = carried_out | {"profiler_measure_per_kernel"}
        if "libcrosscut_cupti.so" not in os.environ.get("CROSSCUT_PLUGINS", ""):
            _warn("experimental_config: profiler_metrics: nothing reads counters here: run the "
                  "program under crosscut record, on a machine with an NVIDIA driver")
    for name in sorted(options(profile.experimental_config).keys() - carried_out):
        _warn(f"experimental_config: {name} has no effect")
    if profile.with_modules and not profile.with_stack:
        _warn("with_modules: modules are in the tables `modules` and `backward` of `run`; they are "
              "events with with_stack")
    for activity, kinds in getattr(profile, "activity_filters", {}).items():
        for kind in sorted(kinds):
            if activity.name == "CPU" and kind not in _OF_THE_HOST:
                raise RuntimeError(f"Unknown or non-member activity type name: '{kind}'")
        if kinds:
            _warn(f"activities: all of {activity} is recorded, not only "
                  f"{', '.join(sorted(kinds))}")
    for activity in sorted(profile.activities - supported_activities(), key=str):
        _warn(f"activities: {activity}: PyTorch has no such device here")
    if ProfilerActivity.CPU not in profile.activities:
        _warn("activities: without ProfilerActivity.CPU, events and averages are those of devices; "
              "traces and `run` have the host's calls, too")


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
