"""What `crosscut.torch.profile` tells of a recording, in torch.profiler's words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from crosscut import torch_stacks
from crosscut.adapters import torch_modules
from crosscut.reading import Run


@dataclasses.dataclass(frozen=True)
class OperatorAverage:
    """All calls of one name. Times in microseconds, as in torch.profiler.

    Host rows have CPU times; self time is without what a call called in turn. Rows of device work
    (`is_device`) have device times. `is_user_annotation`: a `record_function` scope, of the thread
    that leads. `input_shapes`: JSON, and `overload_name`: "" unless rows are grouped by it.
    `flops`: of all calls, 0 where no formula or no shapes are known. Memory in bytes, with
    profile_memory=True: allocated less freed, with and without what it called; of all calls of the
    name, whatever their shapes and overloads.
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
    overload_name: str = ""

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
    are recorded. `overload_name`: "Tensor" of aten::add.Tensor, "" where there is none."""

    name: str
    thread: str
    start: float
    end: float
    sequence_nr: int = -1
    fwd_thread: int = 0
    input_shapes: list[Any] = dataclasses.field(default_factory=list)
    is_user_annotation: bool = False
    overload_name: str = ""
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
    _SORTS.update({name: name for name in ("cpu_memory_usage", "self_cpu_memory_usage")})

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
        shown = len(rows) if row_limit < 0 else row_limit
        columns = {head: cells[:shown]
                   for head, cells in self._columns(rows, max_name_column_width).items()
                   if head not in self._OPTIONAL or any(cells)}
        widths = [max(map(len, [head, *cells])) for head, cells in columns.items()]
        rule = "  ".join("-" * width for width in widths)
        lines = [header] if header else []
        lines += [rule, _line(list(columns), widths), rule,
                  *(_line(list(line), widths) for line in zip(*columns.values())), rule]
        return "\n".join([*lines, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""])

    _OPTIONAL = ("Overload Name", "Device total", "Device time avg", "CPU Mem", "Self CPU Mem",
                 "Input Shapes", "Total FLOPs", "Source Location")

    def _columns(self, rows: list[OperatorAverage], width: int) -> dict[str, list[str]]:
        """The cells by head; what a row does not have reads ""."""
        share = 100 / max(self.self_cpu_time_total, 1e-9)
        memory = any(row.cpu_memory_usage or row.self_cpu_memory_usage for row in self)

        def cells(text: Callable[[OperatorAverage], str],
                  has: Callable[[OperatorAverage], bool] = lambda row: True) -> list[str]:
            return [text(row) if has(row) else "" for row in rows]

        def is_call(row: OperatorAverage) -> bool:
            return not row.is_device and not row.is_user_annotation

        def is_host(row: OperatorAverage) -> bool:
            return not row.is_device

        def is_device(row: OperatorAverage) -> bool:
            return row.is_device

        def has_memory(row: OperatorAverage) -> bool:
            return memory and not row.is_device

        return {
            "Name": cells(lambda row: row.key if len(row.key) <= width
                          else row.key[:width - 3] + "..."),
            "Overload Name": cells(lambda row: row.overload_name),
            "Self CPU %": cells(lambda row: f"{share * row.self_cpu_time_total:.2f}%", is_call),
            "Self CPU": cells(lambda row: _time(row.self_cpu_time_total), is_call),
            "CPU total": cells(lambda row: _time(row.cpu_time_total), is_host),
            "CPU time avg": cells(lambda row: _time(row.cpu_time), is_host),
            "# of Calls": cells(lambda row: str(row.count)),
            "Device total": cells(lambda row: _time(row.device_time_total), is_device),
            "Device time avg": cells(lambda row: _time(row.device_time), is_device),
            "CPU Mem": cells(lambda row: _bytes(row.cpu_memory_usage), has_memory),
            "Self CPU Mem": cells(lambda row: _bytes(row.self_cpu_memory_usage), has_memory),
            "Input Shapes": cells(lambda row: row.input_shapes),
            "Total FLOPs": cells(lambda row: f"{row.flops:,}", lambda row: row.flops > 0),
            "Source Location": cells(lambda row: ", ".join(row.stack)),
        }

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


def _bytes(count: int) -> str:
    for shift, name in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(count) >= 1 << shift:
            return f"{count / (1 << shift):.2f} {name}"
    return f"{count} B"


def _memory_of(run: Run) -> dict[str, tuple[int, int]]:
    """Bytes of each operator on the CPU: with and without what it called."""
    found: dict[str, tuple[int, int]] = {}
    for row in run.table("memory_operators").rows():
        if row["device"] == "cpu":
            total, own = found.get(row["operator"], (0, 0))
            found[row["operator"]] = (total + row["total_bytes"], own + row["self_bytes"])
    return found


# What averages are grouped by: name, shapes of the inputs, overload, frames of the stack.
_Key = tuple[str, str, str, tuple[str, ...]]


def averages(run: Run, by_shape: bool, by_overload: bool) -> Iterator[OperatorAverage]:
    """Calls by name, and by shapes of the inputs or by overload where asked for."""
    sums: dict[_Key, list[int]] = {}
    for row in run.table("operators").rows():
        key = (row["name"], row["input_dims"] if by_shape else "",
               row["overload"] if by_overload else "", ())
        sum_ = sums.setdefault(key, [0] * 4)
        for i, column in enumerate(("count", "total_ns", "self_ns", "flops")):
            sum_[i] += row[column] or 0
    return _averages(run, sums)


def averages_by_stack(run: Run, frames: int) -> Iterator[OperatorAverage]:
    """Calls by name and the `frames` innermost frames of the stack."""
    return _averages(run, {(name, "", "", stack): [*sum_, 0] for (name, stack), sum_
                           in torch_stacks.sums(run, frames).items()})


def _averages(run: Run, sums: dict[_Key, list[int]]) -> Iterator[OperatorAverage]:
    memory = _memory_of(run)
    for row in run.table("functions").rows():  # scopes that PyTorch opens by itself
        if row["layer"] == "" and not row["name"].startswith(torch_modules.PREFIX):
            sums[row["name"], "", "", ()] = [row["count"], row["total_ns"], row["self_ns"], 0]
    for (name, shapes, overload, stack), (count, total, own, flops) in sums.items():
        bytes_, own_bytes = memory.get(name, (0, 0))
        yield OperatorAverage(name, count, total / 1e3, own / 1e3, input_shapes=shapes, flops=flops,
                              cpu_memory_usage=bytes_, self_cpu_memory_usage=own_bytes, stack=stack,
                              overload_name=overload)
    for name, (count, total) in _annotations(run).items():
        yield OperatorAverage(name, count, total / 1e3, is_user_annotation=True)
    for row in run.table("kernels").rows():
        yield OperatorAverage(row["name"], row["count"], device_time_total=row["total_ns"] / 1e3,
                              is_device=True)


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
                      json.loads(row["input_dims"] or "[]"), operation, row["overload"], parent)
        if parent is not None:
            parent.cpu_children.append(event)
        shown[(*place, row["span"])] = event
        yield event
