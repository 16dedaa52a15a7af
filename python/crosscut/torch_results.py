"""What `crosscut.torch.profile` tells of a recording, in torch.profiler's words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from crosscut import torch_stacks
from crosscut.adapters import torch_modules
from crosscut.reading import Run


@dataclasses.dataclass(frozen=True)
class OperatorAverage:
    """All calls of one name. Times in microseconds, as in torch.profiler.

    Host rows have CPU times; self time is without what a call called in turn. Rows of device work
    (`is_device`) have device times. `is_user_annotation`: a `record_function` scope, of the thread
    that leads. `input_shapes`: JSON, "" unless rows are grouped by it. `flops`: of all calls, 0
    where no formula or no shapes are known. Memory in bytes, with profile_memory=True: allocated
    less freed, with and without what it called; of all calls of the name, whatever their shapes.
    `stack`: innermost frame first, () unless rows are grouped by it.
    """

    key: str
    count: int
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    device_time_total: float = 0.0
    is_device: bool = False
    is_user_annotation: bool = False
    input_shapes: str = ""
    flops: int = 0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    stack: tuple[str, ...] = ()

    @property
    def cpu_time(self) -> float:
        """Mean of a call."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Mean of one piece of work."""
        return self.device_time_total / self.count

    @property
    def self_device_time_total(self) -> float:
        """Work on devices calls nothing."""
        return self.device_time_total


@dataclasses.dataclass(eq=False)
class Event:
    """One call, or one `record_function` scope. Times in microseconds on the recording's clock.
    `sequence_nr`: autograd's number, -1 where there is none; `fwd_thread`: PyTorch's number of the
    thread whose operator made this backward node, 0 for others. `input_shapes`: [] unless shapes
    are recorded."""

    name: str
    thread: str
    start: float
    end: float
    sequence_nr: int = -1
    fwd_thread: int = 0
    input_shapes: list[Any] = dataclasses.field(default_factory=list)
    is_user_annotation: bool = False
    cpu_parent: Event | None = dataclasses.field(default=None, repr=False)
    cpu_children: list[Event] = dataclasses.field(default_factory=list, repr=False)

    @property
    def cpu_time_total(self) -> float:
        """From begin to end."""
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:
        """Without the calls inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)


class OperatorAverages(list[OperatorAverage]):
    """What `profile.key_averages` returns."""

    _SORTS = {name: name for name in ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total",
                                      "device_time", "device_time_total", "self_device_time_total")}
    _SORTS.update({name.replace("device", "cuda"): name for name in list(_SORTS)})

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, over all rows."""
        return sum(row.self_cpu_time_total for row in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100,
              max_name_column_width: int = 55, header: str | None = None, **_: Any) -> str:
        """The rows as text. `sort_by`: a name of torch.profiler's ("self_cpu_time_total",
        "cuda_time_total", "count", ...), largest first; ValueError for others. `row_limit` < 0:
        all rows. Further arguments of torch.profiler's are accepted and change nothing."""
        rows: list[OperatorAverage] = list(self)
        if sort_by is not None:
            if sort_by not in self._SORTS:
                known = ", ".join(self._SORTS)
                raise ValueError(f"table(): sort_by={sort_by!r} is none of {known}")
            rows.sort(key=lambda row: -getattr(row, self._SORTS[sort_by]))
        cells = [self._cells(row, max_name_column_width)
                 for row in (rows if row_limit < 0 else rows[:row_limit])]
        heads = ["Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls",
                 "Device total", "Device time avg", "Input Shapes", "Total FLOPs",
                 "Source Location"]
        shown = [True] * 6 + [any(row.is_device for row in self)] * 2 + [
            any(row.input_shapes for row in self), any(row.flops for row in self),
            any(row.stack for row in self)]
        heads, *cells = ([cell for cell, is_shown in zip(line, shown) if is_shown]
                         for line in (heads, *cells))
        widths = [max(map(len, column)) for column in zip(heads, *cells)]
        rule = "  ".join("-" * width for width in widths)
        lines = [header] if header else []
        lines += [rule, _line(heads, widths), rule, *(_line(row, widths) for row in cells), rule]
        return "\n".join([*lines, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""])

    def _cells(self, row: OperatorAverage, width: int) -> list[str]:
        name = row.key if len(row.key) <= width else row.key[:width - 3] + "..."
        if row.is_device:
            return [name, "", "", "", "", str(row.count), _time(row.device_time_total),
                    _time(row.device_time), "", "", ""]
        share = 100 * row.self_cpu_time_total / max(self.self_cpu_time_total, 1e-9)
        own = [f"{share:.2f}%", _time(row.self_cpu_time_total)]
        return [name, *(["", ""] if row.is_user_annotation else own), _time(row.cpu_time_total),
                _time(row.cpu_time), str(row.count), "", "", row.input_shapes,
                f"{row.flops:,}" if row.flops else "", ", ".join(row.stack)]

    def __str__(self) -> str:
        return self.table()


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = (cell.rjust(width) for cell, width in zip(cells, widths))
    return "  ".join([cells[0].ljust(widths[0]), *rest]).rstrip() if first else ""


def _time(microseconds: float) -> str:
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if abs(microseconds) >= unit:
            return f"{microseconds / unit:.3f}{name}"
    return f"{microseconds:.3f}us"


def _memory_of(run: Run) -> dict[str, tuple[int, int]]:
    """Bytes of each operator on the CPU: with and without what it called."""
    found: dict[str, tuple[int, int]] = {}
    for row in run.table("memory_operators").rows():
        if row["device"] == "cpu":
            total, own = found.get(row["operator"], (0, 0))
            found[row["operator"]] = (total + row["total_bytes"], own + row["self_bytes"])
    return found


def averages(run: Run, by_shape: bool, frames: int) -> Iterator[OperatorAverage]:
    """Calls by name, and by shapes of the inputs or the `frames` innermost frames of the stack."""
    memory = _memory_of(run)
    sums: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    if frames:
        for (name, stack), sum_ in torch_stacks.sums(run, frames).items():
            sums[name, "", stack] = [*sum_, 0]
    else:
        for row in run.table("operators").rows():
            key = (row["name"], row["input_dims"] if by_shape else "", ())
            sum_ = sums.setdefault(key, [0] * 4)
            for i, column in enumerate(("count", "total_ns", "self_ns", "flops")):
                sum_[i] += row[column] or 0
    for row in run.table("functions").rows():  # scopes that PyTorch opens by itself
        if row["layer"] == "" and not row["name"].startswith(torch_modules.PREFIX):
            sums[row["name"], "", ()] = [row["count"], row["total_ns"], row["self_ns"], 0]
    for (name, shapes, stack), (count, total, own, flops) in sums.items():
        bytes_, own_bytes = memory.get(name, (0, 0))
        yield OperatorAverage(name, count, total / 1e3, own / 1e3, input_shapes=shapes, flops=flops,
                              cpu_memory_usage=bytes_, self_cpu_memory_usage=own_bytes, stack=stack)
    for row in run.table("operations").rows():
        if row["operation"] and row["count"]:
            yield OperatorAverage(row["operation"], row["count"], row["wall_ns"] / 1e3,
                                  is_user_annotation=True)
    for row in run.table("kernels").rows():
        yield OperatorAverage(row["name"], row["count"], device_time_total=row["total_ns"] / 1e3,
                              is_device=True)


def events(run: Run) -> Iterator[Event]:
    """Every operator and scope, in order of begin, by thread."""
    shown: dict[tuple[str, str, int], Event | None] = {}  # by span; of others the one around
    for row in run.table("spans").rows():
        place = (row["process"], row["thread"])
        parent = None if row["parent"] is None else shown[(*place, row["parent"])]
        operation = row["kind"] == "operation"
        if not (operation or row["layer"] in ("framework", "comm", "")
                ) or row["name"].startswith(torch_modules.PREFIX):
            shown[(*place, row["span"])] = parent
            continue
        number, forward = row["sequence_number"], row["forward_thread"]
        event = Event(row["name"], row["thread"], row["begin_ns"] / 1e3, row["end_ns"] / 1e3,
                      -1 if number is None else number, forward or 0,
                      json.loads(row["input_dims"] or "[]"), operation, parent)
        if parent is not None:
            parent.cpu_children.append(event)
        shown[(*place, row["span"])] = event
        yield event
