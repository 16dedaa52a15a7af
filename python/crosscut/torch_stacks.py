"""Python stacks for `crosscut.torch`: operators by the lines that called them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from crosscut.reading import Run

_METRICS = {"self_cpu_time_total": "self_ns", "self_cuda_time_total": "device_ns",
            "self_device_time_total": "device_ns", "self_xpu_time_total": "device_ns"}


def operators(run: Run) -> Iterator[dict[str, object]]:
    """The rows of `operator_stacks` that are operators of PyTorch, each with `source_stack`: the
    stack that called it, in the backward pass the one that caused it, innermost frame first."""
    for row in run.table("operator_stacks").rows():
        if row["probe"] == "boundary" or row["layer"] not in ("framework", "comm"):
            continue
        frames = (row["forward_stack"] or row["stack"]).split(";")
        yield {**row, "source_stack": tuple(frame for frame in reversed(frames) if frame)}


def sums(run: Run, frames: int) -> dict[tuple[str, tuple[str, ...]], list[int]]:
    """count, total_ns and self_ns by operator and the `frames` innermost frames of its stack."""
    found: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for row in operators(run):
        sum_ = found.setdefault((row["operator"], row["source_stack"][:frames]), [0, 0, 0])
        for i, column in enumerate(("count", "total_ns", "self_ns")):
            sum_[i] += row[column]
    return found


def export(run: Run, path: str | os.PathLike[str], metric: str) -> None:
    """A line per stack for flamegraph.pl, with whole microseconds of `metric`, as torch.profiler
    writes it. ValueError for other metrics."""
    if metric not in _METRICS:
        raise ValueError(f"export_stacks(): metric {metric!r} is none of {', '.join(_METRICS)}")
    stacks: dict[tuple[str, ...], int] = {}
    for row in operators(run):
        if row["source_stack"]:
            stacks[row["source_stack"]] = (stacks.get(row["source_stack"], 0)
                                           + row[_METRICS[metric]])
    with open(path, "w", encoding="utf-8") as out:
        for stack, ns in stacks.items():
            if ns >= 1000:
                text = ";".join(frame.translate(_NO_SEPARATORS) for frame in reversed(stack))
                out.write(f"{text} {ns // 1000}\n")


_NO_SEPARATORS = str.maketrans(" ;\t\n", "____")
