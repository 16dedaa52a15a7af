"""What `crosscut.torch.profile` sums up of a recording, in torch.profiler's own classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEventAvg

from crosscut import torch_stacks
from crosscut.adapters import torch_modules
from crosscut.reading import Run


class Shapes(list[Any]):
    """Sizes of inputs. In a tuple or list they print as one text, in quotes."""

    def __repr__(self) -> str:
        return repr(str(self))

    def __str__(self) -> str:
        return list.__repr__(self)


class Average(FunctionEventAvg):
    """All calls of one name, as torch.profiler sums them up. Times in microseconds; self time is
    without what a call called in turn. Rows of device work have a `device_type` that is no CPU.
    `input_shapes` is "" unless rows are grouped by it, `overload_name` and `stack` (innermost frame
    first) likewise. `flops`: of all calls, 0 where no formula or no shapes are known. Memory in
    bytes, with profile_memory=True: allocated less freed, with and without what it called; of all
    calls of the name, whatever their shapes and overloads."""

    is_user_annotation = False

    def __init__(self, key: str, count: int) -> None:
        super().__init__()
        self.key, self.count = key, count
        self.node_id, self.scope = -1, 0
        self.input_shapes = self.overload_name = ""
        self.stack = ()

    @property
    def is_device(self) -> bool:
        """Whether it is work on a device."""
        return self.device_type != DeviceType.CPU


# What averages are grouped by: name, shapes of the inputs, overload, frames of the stack.
_Key = tuple[str, str, str, tuple[str, ...]]


def averages_by_stack(run: Run, frames: int) -> Iterator[Average]:
    """Calls by name and the `frames` innermost frames of the stack."""
    return _averages(run, {(name, "", "", stack): [*sum_, 0] for (name, stack), sum_
                           in torch_stacks.sums(run, frames).items()})


def _averages(run: Run, sums: dict[_Key, list[int]]) -> Iterator[Average]:
    memory = _memory_of(run)
    for row in run.table("functions").rows():  # scopes that PyTorch opens by itself
        if row["layer"] == "" and not row["name"].startswith(torch_modules.PREFIX):
            sums[row["name"], "", "", ()] = [row["count"], row["total_ns"], row["self_ns"], 0]
    for (name, shapes, overload, stack), (count, total, own, flops) in sums.items():
        average = Average(name, count)
        average.cpu_time_total, average.self_cpu_time_total = total / 1e3, own / 1e3
        average.cpu_memory_usage, average.self_cpu_memory_usage = memory.get(name, (0, 0))
        average.flops, average.stack, average.overload_name = flops, stack, overload
        if shapes:
            average.input_shapes = Shapes(json.loads(shapes))
        yield average
    for name, (count, total) in _annotations(run).items():
        average = Average(name, count)
        average.cpu_time_total, average.is_user_annotation = total / 1e3, True
        yield average
    for row in run.table("kernels").rows():
        average = Average(row["name"], row["count"])
        average.device_type = DeviceType.PrivateUse1
        average.device_time_total = average.self_device_time_total = row["total_ns"] / 1e3
        yield average


def _memory_of(run: Run) -> dict[str, tuple[int, int]]:
    """Bytes of each operator on the CPU: with and without what it called."""
    found: dict[str, tuple[int, int]] = {}
    for row in run.table("memory_operators").rows():
        if row["device"] == "cpu":
            total, own = found.get(row["operator"], (0, 0))
            found[row["operator"]] = (total + row["total_bytes"], own + row["self_bytes"])
    return found


def _annotations(run: Run) -> dict[str, tuple[int, int]]:
    """Each operation's count and time from begin to end, in ns: with the operations inside, other
    than in the table `operations`."""
    counts = {row["operation"]: row["count"] for row in run.table("operations").rows()
              if row["operation"] and row["count"]}
    totals = dict.fromkeys(counts, 0)
    if counts:
        spans = run.table("spans")
        for kind, name, begin, end in zip(spans["kind"], spans["name"], spans["begin_ns"],
                                          spans["end_ns"]):
            if kind == "operation" and name in totals:
                totals[name] += end - begin
    return {name: (count, totals[name]) for name, count in counts.items()}
