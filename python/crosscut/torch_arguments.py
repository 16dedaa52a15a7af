"""What `crosscut.torch.profile` makes of torch.profiler's arguments that it has no words for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

_CARRIED_OUT = {"verbose", "profile_all_threads", "capture_overload_names",
                "record_python_gc_info", "expose_kineto_event_metadata", "trace_only"}
# What Kineto calls the kinds of events of ProfilerActivity.CPU.
_OF_THE_HOST = {"CPU_OP", "CPU_INSTANT_EVENT", "USER_ANNOTATION", "PYTHON_FUNCTION",
                "EXTERNAL_CORRELATION", "CUDA_RUNTIME", "CUDA_DRIVER", "XPU_RUNTIME",
                "PRIVATEUSE1_RUNTIME", "PRIVATEUSE1_DRIVER"}


def options(config: Any) -> dict[str, Any]:
    """What of an _ExperimentalConfig is not as by default. The object tells its values by place
    only; their names are in its documentation."""
    if config is None:
        return {}
    names = re.findall(r"(\w+): ", (type(config).__init__.__doc__ or "").split("->")[0])[1:]
    values, defaults = config.__getstate__(), type(config)().__getstate__()
    if len(names) != len(values):
        return {}
    return {name: value for name, value, default in zip(names, values, defaults)
            if value != default}


def tell_what_is_left(config: Any, modules: bool, filters: dict[Any, Iterable[str]]) -> None:
    """Warns of each argument that changes nothing. RuntimeError, as in torch.profiler, for kinds of
    events that there are none of."""
    left = sorted(options(config).keys() - _CARRIED_OUT)
    for name in left:
        warnings.warn(f"experimental_config: {name} is not carried out", stacklevel=3)
    if modules:
        warnings.warn("with_modules: modules are recorded in any program, and stand in the tables "
                      "`modules` and `backward` of `run`, not in events", stacklevel=3)
    for activity, kinds in filters.items():
        for kind in sorted(kinds):
            if activity.name == "CPU" and kind not in _OF_THE_HOST:
                raise RuntimeError(f"Unknown or non-member activity type name: '{kind}'")
        if kinds:
            warnings.warn(f"activities: all of {activity} is recorded, not only "
                          f"{', '.join(sorted(kinds))}", stacklevel=3)
