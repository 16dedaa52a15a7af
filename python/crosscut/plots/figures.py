"""Sheets as pictures, by Matplotlib's Agg backend: no display is needed.

Each drawing takes a sheet and returns a Figure whose bars are as long as the sheet's numbers say,
nanoseconds as seconds. Where there are more bars than fit, the longest are drawn, and the title
tells how many are in plot_data.txt alone.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crosscut import _outputs
from crosscut.plots import repeats, timelines
from crosscut.plots.sheets import CLASSES, SHARES, Row, Sheet

MAX_BARS = 40
NS = 1e-9
INTERVAL: dict[str, Any] = {"fmt": "none", "ecolor": "#333333", "elinewidth": 1.0, "capsize": 3,
                            "label": "95 % interval over runs"}

CLASS_NAMES = {"python": "Python", "framework_cpp": "FrameworkCpp", "cuda_cpp": "CudaCpp",
               "gpu": "GPU", "other": "Other"}
CLASS_COLORS = {"python": "#4c78a8", "framework_cpp": "#f58518", "cuda_cpp": "#e45756",
                "gpu": "#54a24b", "other": "#bab0ac"}
SHARE_COLORS = {"host_ns": "#4c78a8", "overlap_ns": "#72b7b2", "device_ns": "#54a24b",
                "idle_ns": "#d8d5d0", "unknown_ns": "#efeae4", "control_ns": "#b279a2"}
SHARE_NAMES = {"host_ns": "CPU", "overlap_ns": "CPU + GPU", "device_ns": "GPU",
               "idle_ns": "idle", "unknown_ns": "unknown", "control_ns": "control steps"}
PALETTE = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#eeca3b", "#b279a2", "#ff9da6",
           "#9d755d", "#76b7b2", "#59a14f", "#edc948")

# The same in all runs; sets of several layers take what is left.
LAYER_COLORS = {"python": "#4c78a8", "framework": "#f58518", "runtime": "#e45756",
                "simulator": "#2f7d4f", "native": "#b79a20", "data": "#72b7b2", "comm": "#9d3b2f",
                "idle": "#d8d5d0", "overhead": "#5b636e", "control": "#b279a2", "": "#efeae4"}

Part = tuple[str, Sequence[float], str, str]  # name, lengths, colour, hatch


def _number(value: Any) -> float:
    """What is not known draws nothing."""
    return 0.0 if value is None or value != value else float(value)


def _scaled(column: str, value: Any) -> float:
    return _number(value) * (NS if column.endswith("_ns") else 1)


def _label(row: Row, *columns: str) -> str:
    parts = []
    for column in columns:
        if column == "process":
            names = dict.fromkeys((row["name"], row["process"]))  # equal names have other keys
            parts.append(" ".join(names).strip())
        elif column == "operation":
            parts.append(row[column] or "(no operation)")
        else:
            parts.append(str(row[column] or ""))
    return "\n".join(part for part in parts if part)


def _several_runs(sheet: Sheet) -> bool:
    return len({row["run"] for row in sheet.rows}) > 1


def _columns(sheet: Sheet, *columns: str) -> tuple[str, ...]:
    """What tells the bars apart: the run and the process only where there are several."""
    processes = {(row["run"], row["process"]) for row in sheet.rows}
    several = len(processes) > len({run for run, _ in processes})
    return (*(("run",) if _several_runs(sheet) else ()), *(("process",) if several else ()),
            *columns)


def _longest(rows: list[Row], column: str, most: int = MAX_BARS) -> list[Row]:
    """At most that many rows, in their order."""
    kept = sorted(rows, key=lambda row: -_number(row[column]))[:most]
    chosen = {id(row) for row in kept}
    return [row for row in rows if id(row) in chosen]


def _title(axis: Axes, text: str, drawn: int, there: int) -> None:
    more = f" ({there - drawn} shorter ones in plot_data.txt alone)" if there > drawn else ""
    axis.set_title(text + more, fontsize=10)


def _figure(bars: int, panels: int = 1, height: float = 4.8) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(panels * max(4.5, 1.6 + 0.62 * bars), height), layout="constrained")
    made = figure.subplots(1, panels, squeeze=False)
    return figure, list(made[0])


def _errors(rows: Sequence[Row], column: str) -> list[float]:
    """Half-widths of the intervals over repeated runs."""
    return [_scaled(column, row.get("spread", {}).get(column)) for row in rows]


def _stack(axis: Axes, labels: Sequence[str], parts: Iterable[Part],
           errors: Sequence[float] = ()) -> None:
    """Bars of several parts, with the intervals of the wholes where runs were repeated."""
    bottom = [0.0] * len(labels)
    for name, lengths, color, hatch in parts:
        if not any(lengths):
            continue
        axis.bar(range(len(labels)), lengths, bottom=bottom, label=name, color=color, hatch=hatch,
                 edgecolor="white", linewidth=0.5, width=0.72)
        bottom = [b + length for b, length in zip(bottom, lengths)]
    if any(errors):
        axis.errorbar(range(len(labels)), bottom, yerr=errors, **INTERVAL)
    _ticks(axis, labels)
    _legend(axis)


def _legend(axis: Axes) -> None:
    """Beside the axis, where it covers nothing."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _ticks(axis: Axes, labels: Sequence[str]) -> None:
    longest = max((len(line) for text in labels for line in text.split("\n")), default=0)
    turned = len(labels) > 6 or longest > 14 or longest * len(labels) > 36
    axis.set_xticks(range(len(labels)), labels, fontsize=8, rotation=60 if turned else 0,
                    ha="right" if turned else "center", rotation_mode="anchor")
    axis.set_xlim(-0.6, max(1, len(labels)) - 0.4)
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)


def _unit(column: str) -> str:
    if column.endswith("_ns"):
        return "seconds"
    return "per cent" if "percent" in column else "times"


def metric(sheet: Sheet) -> Figure:
    """The whole window, recorded and corrected; beside it the mean step with its spread."""
    column = sheet.columns[3]
    once = {(row["run"], row["process"]): row for row in sheet.rows}  # of the kinds of its steps
    whole = repeats.merged(replace(sheet, columns=sheet.columns[:5], rows=list(once.values()))).rows
    windows = _longest(whole, column)
    sheet = repeats.merged(sheet)
    steps = [row for row in sheet.rows if row["steps"]]
    drawn = _longest(steps, "mean")
    figure, axes = _figure(max(len(windows), len(drawn)), 2 if steps else 1)
    name = sheet.name.removesuffix(".summary")
    for offset, color, label, key in ((-0.19, "#4c78a8", "recorded", column),
                                      (0.19, "#9ecae9", "corrected", f"corrected_{column}")):
        axes[0].bar([i + offset for i in range(len(windows))],
                    [_scaled(column, row[key]) for row in windows], width=0.36, color=color,
                    label=label)
        if any(errors := _errors(windows, key)):
            axes[0].errorbar([i + offset for i in range(len(windows))],
                             [_scaled(column, row[key]) for row in windows], yerr=errors,
                             **{**INTERVAL, "label": INTERVAL["label"] if offset > 0 else None})
    _ticks(axes[0], [_label(row, *(_columns(sheet) or ("process",))) for row in windows])
    _legend(axes[0])
    axes[0].set_ylabel(_unit(column))
    _title(axes[0], f"{name}, whole window", len(windows), len(whole))
    if steps:
        _steps(axes[1], sheet, drawn, column)
        _title(axes[1], f"{name} per step", len(drawn), len(steps))
    return figure


def _steps(axis: Axes, sheet: Sheet, rows: list[Row], column: str) -> None:
    places = range(len(rows))

    def scaled(key: str) -> list[float]:
        return [_scaled(column, row[key]) for row in rows]

    axis.bar(places, scaled("mean"), width=0.6, color="#4c78a8", label="mean ± std",
             yerr=scaled("std"), ecolor="#333333", capsize=4)
    axis.scatter(places, scaled("p50"), marker="D", s=18, color="#f58518", zorder=3,
                 label="median")
    axis.vlines([i + 0.2 for i in places], scaled("p10"), scaled("p90"), color="#e45756",
                linewidth=3, label="10th to 90th percentile")
    _ticks(axis, [_label(row, *_columns(sheet, "kind")) + f"\n{row['steps']:.4g} steps"
                  for row in rows])
    axis.set_ylim(bottom=0)
    axis.set_ylabel(_unit(column))
    _legend(axis)


def classes(sheet: Sheet) -> Figure:
    """Each process's time by class, in seconds and in per cent."""
    rows = _longest(sheet.rows, "total_ns")
    figure, axes = _figure(len(rows), 2)
    labels = [_label(row, *(_columns(sheet) or ("process",))) for row in rows]
    for axis, column, unit in ((axes[0], "{}_ns", "seconds"),
                               (axes[1], "percent_time_in_{}", "per cent, without control steps")):
        _stack(axis, labels, [
            (CLASS_NAMES[name],
             [_scaled(column.format(name), row[column.format(name)]) for row in rows],
             CLASS_COLORS[name], "") for name in CLASSES],
            _errors(rows, "total_ns") if unit == "seconds" else ())
        axis.set_ylabel(unit)
        _title(axis, "Time by class", len(rows), len(sheet.rows))
    return figure


def operation_classes(sheet: Sheet) -> Figure:
    """Each operation's time by class."""
    rows = _longest(sheet.rows, "total_ns")
    figure, axes = _figure(len(rows))
    _stack(axes[0], [_label(row, *_columns(sheet, "operation")) for row in rows], [
        (CLASS_NAMES[name], [_number(row[f"{name}_ns"]) * NS for row in rows],
         CLASS_COLORS[name], "") for name in CLASSES], _errors(rows, "total_ns"))
    axes[0].set_ylabel("seconds")
    _title(axes[0], "Operations by class", len(rows), len(sheet.rows))
    return figure


def shares(sheet: Sheet) -> Figure:
    """Each operation's time by what was busy."""
    rows = _longest(sheet.rows, "wall_ns")
    figure, axes = _figure(len(rows))
    _stack(axes[0], [_label(row, *_columns(sheet, "operation")) for row in rows], [
        (SHARE_NAMES[name], [_number(row[name]) * NS for row in rows], SHARE_COLORS[name], "")
        for name in SHARES], _errors(rows, "wall_ns"))
    axes[0].set_ylabel("seconds")
    _title(axes[0], "Operations by CPU and GPU", len(rows), len(sheet.rows))
    return figure


def layers(sheet: Sheet) -> Figure:
    """Each operation's time by set of layers; hatched while a device is busy."""
    bar_keys = ("run", "name", "operation")
    totals = repeats.totals(sheet, bar_keys, "ns")
    sheet = repeats.merged(sheet)
    keys = _columns(sheet, "operation")
    bars: dict[tuple[str, ...], dict[str, Any]] = {}
    sums: dict[tuple[str, int], int] = {}
    for row in sheet.rows:
        bar = bars.setdefault(tuple(row[key] for key in ("run", "process", "operation")),
                              {**row, "cells": {}, "ns": 0})
        cell = (row["layers"], row["device"])
        bar["cells"][cell] = row["ns"]
        bar["ns"] += row["ns"]  # to choose the bars; not drawn
        sums[cell] = sums.get(cell, 0) + row["ns"]
    drawn = _longest(list(bars.values()), "ns")
    figure, axes = _figure(len(drawn))
    ranked = sorted((cell for cell in sums if sums[cell]), key=lambda cell: -sums[cell])
    names = list(dict.fromkeys(name for name, _ in ranked))
    others = [name for name in names if name not in LAYER_COLORS]
    free = [color for color in PALETTE if color not in LAYER_COLORS.values()]
    colors = {**LAYER_COLORS, **{name: free[i % len(free)] for i, name in enumerate(others)}}
    _stack(axes[0], [_label(bar, *keys) for bar in drawn], [
        ((name or "(nothing known)") + (" + device" if device else ""),
         [bar["cells"].get((name, device), 0) * NS for bar in drawn], colors[name],
         "///" if device else "") for name, device in ranked],
           [totals.get(tuple(bar[key] for key in bar_keys), 0.0) * NS for bar in drawn])
    axes[0].set_ylabel("seconds")
    _title(axes[0], "Operations by layers", len(drawn), len(bars))
    return figure


def entries(sheet: Sheet) -> Figure:
    """How often each layer was entered inside an operation."""
    keys = _columns(sheet, "operation")
    bars: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in sheet.rows:
        bar = bars.setdefault(tuple(row[key] for key in ("run", "process", "operation")),
                              {**row, "layers": {}, "errors": {}, "entries": 0})
        bar["layers"][row["layer"]] = row["entries"]
        bar["errors"][row["layer"]] = _number(row.get("spread", {}).get("entries"))
        bar["entries"] = max(bar["entries"], row["entries"])
    drawn = _longest([bar for bar in bars.values() if bar["entries"]], "entries")
    names = sorted({name for bar in drawn for name in bar["layers"]})
    figure, axes = _figure(max(4, len(drawn) * len(names) // 4))
    width = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        errors = [bar["errors"].get(name, 0.0) for bar in drawn]
        axes[0].bar([place - 0.4 + (i + 0.5) * width for place in range(len(drawn))],
                    [bar["layers"].get(name, 0) for bar in drawn], width=width, label=name,
                    color=PALETTE[i % len(PALETTE)], yerr=errors if any(errors) else None,
                    error_kw={"elinewidth": 1.0, "capsize": 2})
    _ticks(axes[0], [_label(bar, *keys) for bar in drawn])
    _legend(axes[0])
    axes[0].set_ylabel("entries")
    _title(axes[0], "Transitions into each layer, the operation being the same", len(drawn),
           len(bars))
    return figure


def venn(sheet: Sheet) -> Figure:
    """Each set of layers, and of host and device: time in exactly it, and in at least it."""
    rows = _longest([row for row in sheet.rows if row["inclusive_ns"]], "inclusive_ns")
    figure = Figure(figsize=(8, 1.4 + 0.26 * len(rows)), layout="constrained")
    axis = figure.subplots()
    places = [-i for i in range(len(rows))]
    axis.barh(places, [row["inclusive_ns"] * NS for row in rows], color="#c6dbef",
              label="at least these (Venn)")
    axis.barh(places, [row["exact_ns"] * NS for row in rows], height=0.45, color="#4c78a8",
              label="exactly these (overlap)")
    keys = _columns(sheet, "sets", "members")
    axis.set_yticks(places, [_label(row, *keys).replace("\n", ": ") for row in rows], fontsize=8)
    axis.set_xlabel("seconds")
    _legend(axis)
    _title(axis, "Sets that overlap in time", len(rows), len(sheet.rows))
    return figure


def progress(sheet: Sheet) -> Figure:
    """What was recorded, and what the whole program would take, by class."""
    rows = _longest(sheet.rows, "total_ns", MAX_BARS // 2)
    figure, axes = _figure(2 * len(rows))
    labels = [_label(row, *_columns(sheet)) + text for row in rows
              for text in (f"\nrecorded, {row['from_fraction']:.0%} to {row['to_fraction']:.0%}",
                           "\nextrapolated")]
    parts: list[Part] = [("recorded", [v for row in rows for v in (row["recorded_ns"] * NS, 0.0)],
                          "#9ecae9", "")]
    parts += [(CLASS_NAMES[name],
               [v for row in rows for v in (0.0, row[f"{name}_ns"] * NS)],
               CLASS_COLORS[name], "") for name in CLASSES]
    _stack(axes[0], labels, parts)
    axes[0].set_ylabel("seconds")
    _title(axes[0], "Time of the whole program", len(rows), len(sheet.rows))
    return figure


def costs(sheet: Sheet) -> Figure:
    """What was subtracted from each run, by kind of probe."""
    names = list(dict.fromkeys(row["probe"] for row in sheet.rows))
    runs: dict[str, Row] = {}
    for row in sheet.rows:
        runs.setdefault(row["run"], {})[row["probe"]] = row
    errors = repeats.totals(sheet, ("run",), "subtracted_ns")
    merged: dict[str, Row] = {}
    for row in repeats.merged(sheet).rows:
        merged.setdefault(row["run"], {})[row["probe"]] = row
    figure, axes = _figure(len(merged))
    _stack(axes[0], list(merged), [
        (name, [_scaled("_ns", of_run.get(name, {}).get("subtracted_ns"))
                for of_run in merged.values()], PALETTE[i % len(PALETTE)],
         "" if i < len(PALETTE) else "///") for i, name in enumerate(names)],
        [errors[run,] * NS if len(runs) > len(merged) else 0.0 for run in merged])
    axes[0].set_ylabel("seconds")
    _title(axes[0], "Subtracted, by kind of probe", len(merged), len(merged))
    return figure


def calibration(sheet: Sheet) -> Figure:
    """What one event of each kind costs, with the interval of its calibration."""
    best = _longest(sheet.rows, "total_ns")
    figure = Figure(figsize=(8, 1.4 + 0.26 * len(best)), layout="constrained")
    axis = figure.subplots()

    def each(column: str) -> list[float]:
        return [_number(row[column]) / row["count"] for row in best]

    costs_ns, low, high = each("total_ns"), each("low_ns"), each("high_ns")
    axis.barh([-i for i in range(len(best))], costs_ns, color="#4c78a8", label="ns of one event")
    axis.errorbar(costs_ns, [-i for i in range(len(best))],
                  xerr=[[max(0.0, c - b) for c, b in zip(costs_ns, low)],
                        [max(0.0, t - c) for c, t in zip(costs_ns, high)]],
                  **{**INTERVAL, "label": "its 95 % interval"})
    keys = ("run", "probe") if _several_runs(sheet) else ("probe",)
    axis.set_yticks([-i for i in range(len(best))],
                    [_label(row, *keys).replace("\n", ": ") for row in best], fontsize=8)
    axis.set_xscale("log")
    axis.set_xlabel("nanoseconds (logarithmic)")
    axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2,
                frameon=False)
    _title(axis, "What an event costs", len(best), len(sheet.rows))
    return figure


def utilization(sheet: Sheet) -> Figure:
    """How busy devices were, beside what tools that sample see."""
    rows = _longest(sheet.rows, "sampled_percent")
    figure, axes = _figure(len(rows) * 3 // 2)
    for offset, column, color, label in (
            (-0.19, "busy_percent", "#54a24b", "a device is busy"),
            (0.19, "sampled_percent", "#e45756", "sampled: any work in the interval")):
        errors = _errors(rows, column)
        axes[0].bar([i + offset for i in range(len(rows))], [_number(row[column]) for row in rows],
                    width=0.36, color=color, label=label, yerr=errors if any(errors) else None,
                    error_kw={"elinewidth": 1.0, "capsize": 3})
    several = len({row["process"] for row in rows}) > 1
    _ticks(axes[0], [_label(row, *(_columns(sheet) or (("process",) if several else ()))) +
                     f"\neach {_number(row['sample_ns']) / 1e6:g} ms" for row in rows])
    axes[0].set_ylabel("per cent of the window")
    _legend(axes[0])
    _title(axes[0], "Use of devices, true and sampled", len(rows), len(sheet.rows))
    return figure


def validation(sheet: Sheet) -> Figure:
    """Each program's time unrecorded, recorded and corrected, with intervals over the runs, and how
    far the corrected time is off."""
    programs: dict[str, dict[str, list[float]]] = {}
    for row in sheet.rows:
        of_run = programs.setdefault(row["group"], {})
        for column in VALIDATED:
            if row[column] is not None:
                of_run.setdefault(column, []).append(row[column] * NS)
    figure, axes = _figure(2 * len(programs))
    for i, (column, (label, color)) in enumerate(VALIDATED.items()):
        values = [of_run[column] for of_run in programs.values()]
        heights = [sum(some) / len(some) for some in values]
        axes[0].bar([place + (i - 1) * 0.26 for place in range(len(programs))], heights,
                    width=0.26, color=color, label=label,
                    yerr=[repeats.half_width(some) for some in values],
                    error_kw={"elinewidth": 1.0, "capsize": 3})
    errors = {row["group"]: row["error"] for row in sheet.rows}
    _ticks(axes[0], [f"{program}\n{errors[program]:+.1%}" for program in programs])
    axes[0].set_ylabel("seconds, mean and 95 % interval over runs")
    axes[0].margins(y=0.08)
    _legend(axes[0])
    _title(axes[0], "Corrected against unrecorded time, and its error", len(programs),
           len(programs))
    return figure


VALIDATED = {"unrecorded_ns": ("unrecorded", "#54a24b"), "raw_ns": ("recorded", "#e45756"),
             "corrected_ns": ("corrected", "#4c78a8")}

DRAWINGS: dict[str, Callable[[Sheet], Figure]] = {
    function.__name__: function
    for function in (metric, classes, operation_classes, shares, layers, entries, venn, progress,
                     costs, calibration, utilization, validation)
}
DRAWINGS["timeline"] = timelines.draw
# Those that draw every run, or merge repeated ones themselves.
OF_SINGLE_RUNS = frozenset(("metric", "timeline", "venn", "layers", "costs", "calibration",
                            "validation"))


def write(sheet: Sheet, folder: str, runs: Sequence[str]) -> None:
    """NAME.png and NAME.plot_data.txt, made of these runs."""
    _outputs.write(os.path.join(folder, f"{sheet.name}.plot_data.txt"), runs, sheet.text().encode())
    picture = io.BytesIO()
    drawn = sheet if sheet.kind in OF_SINGLE_RUNS else repeats.merged(sheet)
    DRAWINGS[sheet.kind](drawn).savefig(picture, format="png", dpi=110)
    _outputs.write(os.path.join(folder, f"{sheet.name}.png"), runs, picture.getvalue())
