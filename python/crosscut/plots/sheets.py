"""The numbers of each plot, taken from the tables as they are: nothing is computed here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import crosscut

# IML's metrics, and the columns of the table `metrics` that hold them.
METRICS = {
    "TotalTimeSec": "total_ns",
    "PythonTimeSec": "python_ns",
    "CppTimeSec": "cpp_ns",
    "CppAndGPUTimeSec": "cpp_and_gpu_ns",
    "FrameworkCppTimeSec": "framework_cpp_ns",
    "CudaCppTimeSec": "cuda_cpp_ns",
    "GPUTimeSec": "gpu_ns",
    "GPUAndCudaCppTimeSec": "gpu_and_cuda_cpp_ns",
    "PercentTimeInGPU": "percent_time_in_gpu",
    "PercentTimeInPython": "percent_time_in_python",
    "TheoreticalSpeedup": "theoretical_speedup",
    "PythonOverheadPercent": "python_overhead_percent",
}
CLASSES = ("python", "framework_cpp", "cuda_cpp", "gpu", "other")
SHARES = ("host_ns", "overlap_ns", "device_ns", "idle_ns", "unknown_ns", "control_ns")
ALL = "(all)"

Row = dict[str, Any]


class Source:
    """A run to be drawn: its label, that of the group that it repeats, and its tables as rows, each
    computed once.

    Raises what `crosscut.read` raises."""

    def __init__(self, label: str, path: str, group: str | None = None) -> None:
        self.label = label
        self.group = label if group is None else group
        self._run = crosscut.read(path)
        self.damaged = self._run.damaged
        self._rows: dict[str, list[Row]] = {}

        self._names: dict[str, str] = {}
        self._ordinals: dict[str, int] = {}  # of a process among those of its name
        for row in self._run.table("processes").rows():
            process, name = str(row["process"]), str(row["name"])
            self._ordinals[process] = list(self._names.values()).count(name)
            self._names[process] = name

    def rows(self, table: str) -> list[Row]:
        """The rows of a table, with the run's label in the column `run`, its group's in `group`,
        and the process's name in the column `name`."""
        if table not in self._rows:
            self._rows[table] = [self._told(row) for row in self._run.table(table).rows()]
        return self._rows[table]

    def _told(self, row: Row) -> Row:
        process = row.get("process", "")
        return {"run": self.label, "group": self.group, "process": process, **row,
                "name": self._names.get(process, ""), "ordinal": self._ordinals.get(process, 0)}


@dataclass(frozen=True)
class Sheet:
    """What one plot draws. `kind` names the drawing (figures.py); `tables`: where the rows' cells
    come from, times in nanoseconds, None where a number is not known."""

    name: str
    kind: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)

    def text(self) -> str:
        """As NAME.plot_data.txt: a comment, then tab-separated columns with their names above."""
        origin = ", ".join(f"table {name}" for name in self.tables) or "crosscut validate"
        lines = [f"# {self.name}: from {origin}; "
                 "columns in _ns are drawn in seconds; names as in processes",
                 "\t".join(self.columns)]
        lines += ["\t".join(map(_cell, (row[column] for column in self.columns)))
                  for row in self.rows]
        return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, float):
        # As `crosscut table` prints it.
        return f"{value:.0f}" if value.is_integer() and abs(value) < 2 ** 63 else f"{value:.15g}"
    return str(value).replace("\t", " ").replace("\n", " ")


def _taken(sources: Iterable[Source], table: str,
           keep: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    return [row for source in sources for row in source.rows(table) if keep(row)]


def _whole(row: Row) -> bool:
    return row["operation"] == ALL


def _single(row: Row) -> bool:
    return row["operation"] != ALL


_SPREAD = ("steps", "mean", "std", "min", "p10", "p50", "p90", "max")


def _metric(sources: Sequence[Source], name: str, column: str) -> Sheet:
    """A metric of every process: over its window, corrected, and per step by kind of step."""
    rows: list[Row] = []
    for source in sources:
        corrected = {row["process"]: row[column]
                     for row in source.rows("corrected_metrics") if _whole(row)}
        for whole in filter(_whole, source.rows("metrics")):
            process = whole["process"]
            first = {"run": source.label, "group": source.group, "ordinal": whole["ordinal"],
                     "process": process, "name": whole["name"],
                     column: whole[column], f"corrected_{column}": corrected[process]}
            spreads = [row for row in source.rows("step_metric_spread")
                       if row["process"] == process and row["metric"] == column]
            for spread in spreads or [dict.fromkeys(("kind", *_SPREAD))]:
                rows.append({**first, "kind": spread["kind"],
                             **{point: spread[point] for point in _SPREAD}})
    columns = ("run", "process", "name", column, f"corrected_{column}", "kind", *_SPREAD)
    return Sheet(f"{name}.summary", "metric",
                 ("metrics", "corrected_metrics", "step_metric_spread"), columns, rows)


def validation_of(path: str) -> dict[str, Any] | None:
    """What `crosscut validate --format=json` wrote into that file; None where it is something else.
    OSError where the file cannot be read."""
    if os.path.isdir(path) or not path.endswith(".json"):
        return None
    with open(path, encoding="utf-8") as file:
        if not re.match(r'\s*\{\s*"command"', file.read(64)):
            return None
        file.seek(0)
        try:
            found = json.load(file)
        except ValueError:
            return None
    return found if {"unrecorded_ns", "recorded", "total"} <= set(found) else None


def _validation(results: Mapping[str, dict[str, Any]]) -> Sheet:
    """A row for each pair of runs of each program."""
    rows: list[Row] = []
    for label, result in results.items():
        for unrecorded, life in zip(result["unrecorded_ns"], result["recorded"]):
            rows.append({"run": label, "group": label, "unrecorded_ns": unrecorded, **life,
                         "error": result["total"]["error"]})
    columns = ("run", "unrecorded_ns", "raw_ns", "corrected_ns", "low_ns", "high_ns", "error")
    return Sheet("validation", "validation", (), columns, rows)


def make(sources: Sequence[Source], results: Mapping[str, dict[str, Any]] | None = None
         ) -> list[Sheet]:
    """All plots of these runs, and of these results of `validate` by label; those for which there
    is nothing to draw are left out."""
    classes = tuple(f"{name}_ns" for name in CLASSES)
    percents = tuple(f"percent_time_in_{name}" for name in CLASSES)
    made = [_metric(sources, name, column) for name, column in METRICS.items()]
    made += [
        Sheet("time_breakdown", "classes", ("metrics",),
              ("run", "process", "name", "total_ns", "control_ns", *classes, *percents),
              _taken(sources, "metrics", _whole)),
        Sheet("operation_breakdown", "operation_classes", ("metrics",),
              ("run", "process", "name", "operation", "total_ns", *classes),
              _taken(sources, "metrics", _single)),
        Sheet("category_overlap", "layers", ("overlap",),
              ("run", "process", "name", "operation", "layers", "device", "ns", "corrected_ns"),
              _taken(sources, "overlap")),
        Sheet("operation_overlap", "shares", ("operations",),
              ("run", "process", "name", "operation", "count", "wall_ns", *SHARES),
              _taken(sources, "operations")),
        Sheet("transitions", "entries", ("layer_entries",),
              ("run", "process", "name", "operation", "layer", "entries", "ns"),
              _taken(sources, "layer_entries")),
        Sheet("process_timeline", "timeline", ("phases",),
              ("run", "process", "name", "parent", "phase", "begin_ns", "end_ns", "wall_ns",
               "any_host_ns", "any_device_ns", *SHARES, "excluded_ns"),
              _taken(sources, "phases")),
        Sheet("venn", "venn", ("venn",),
              ("run", "process", "name", "sets", "members", "size", "exact_ns", "inclusive_ns"),
              _taken(sources, "venn")),
        Sheet("extrapolated_time", "progress", ("progress",),
              ("run", "process", "name", "from_fraction", "to_fraction", "recorded_ns", "total_ns",
               *classes, "excluded_ns"), _taken(sources, "progress", _whole)),
        Sheet("correction_by_kind", "costs", ("overhead",),
              ("run", "probe", "count", "subtracted_ns"),
              _taken(sources, "overhead", lambda row: bool(row["subtracted_ns"]))),
        Sheet("calibration", "calibration", ("overhead",),
              ("run", "probe", "count", "total_ns", "low_ns", "high_ns"),
              _taken(sources, "overhead", lambda row: bool(row["count"] and row["total_ns"]))),
        Sheet("device_utilization", "utilization", ("device_utilization",),
              ("run", "process", "name", "sample_ns", "busy_percent", "sampled_percent"),
              _taken(sources, "device_utilization")),
    ]
    made.append(_validation(results or {}))
    return [sheet for sheet in made if sheet.rows]
