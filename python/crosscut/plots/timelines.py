"""RL-Scope's summary view: each process a lane, each phase three bars on one time axis.

Total: as long as the phase. CPU and GPU: from the phase's begin, as long as any layer of the host,
or any device, was busy in it. An arrow leads from a parent to where its child begins.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from crosscut.plots.sheets import Row, Sheet

NS = 1e-9
MAX_LANES = 30
BARS = (("total", "#8d99ae", 0.24), ("CPU", "#4c78a8", 0.0), ("GPU", "#54a24b", -0.24))
HEIGHT = 0.22


def draw(sheet: Sheet) -> Figure:
    """A panel per run, under each other."""
    runs = list(dict.fromkeys(row["run"] for row in sheet.rows))
    lanes = {run: _lanes([row for row in sheet.rows if row["run"] == run]) for run in runs}
    heights = [1.1 + 0.75 * min(MAX_LANES, len(lanes[run])) for run in runs]
    figure = Figure(figsize=(11, sum(heights) + 0.6), layout="constrained")
    panels = figure.subplots(len(runs), 1, squeeze=False, height_ratios=heights)
    for (axis,), run in zip(panels, runs):
        _run(axis, lanes[run])
        axis.set_title(run, fontsize=10)
    figure.legend(handles=[Patch(color=color, label=name) for name, color, _ in BARS],
                  loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    return figure


def _lanes(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by process, in order of the first begin."""
    lanes: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["begin_ns"]):
        lanes.setdefault(row["process"], []).append(row)
    return lanes


def _run(axis: Axes, lanes: dict[str, list[Row]]) -> None:
    shown = dict(list(lanes.items())[:MAX_LANES])
    start = min((rows[0]["begin_ns"] for rows in shown.values()), default=0)
    end = max((rows[-1]["end_ns"] for rows in shown.values()), default=1)
    places = {process: -i for i, process in enumerate(shown)}
    for process, rows in shown.items():
        for row in rows:
            _phase(axis, row, places[process], (start, end))
        parent = places.get(rows[0]["parent"])
        if parent is not None:
            at = (rows[0]["begin_ns"] - start) * NS
            axis.annotate("", xy=(at, places[process] + 0.36), xytext=(at, parent - 0.36),
                          arrowprops={"arrowstyle": "->", "color": "#555555", "linewidth": 1.2})
    hidden = len(lanes) - len(shown)
    labels = ["\n".join(dict.fromkeys((rows[0]["name"], process))).strip()
              for process, rows in shown.items()]
    axis.set_yticks(list(places.values()), labels, fontsize=8)
    axis.set_ylim(min(places.values(), default=0) - 0.6, 0.7)
    axis.set_xlabel("seconds since the first process began"
                    + (f"; {hidden} more processes in plot_data.txt alone" if hidden else ""),
                    fontsize=8)
    axis.grid(axis="x", linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)


def _phase(axis: Axes, row: Row, lane: int, extent: tuple[int, int]) -> None:
    start, end = extent
    begin = (row["begin_ns"] - start) * NS
    lengths: tuple[Any, ...] = (row["end_ns"] - row["begin_ns"], row["any_host_ns"],
                                row["any_device_ns"])
    for (_, color, offset), length in zip(BARS, lengths):
        axis.barh(lane + offset, length * NS, left=begin, height=HEIGHT, color=color,
                  edgecolor="white", linewidth=0.8)
    share = (row["end_ns"] - row["begin_ns"]) / max(1, end - start)
    if share > 0.009 * len(row["phase"]) > 0:  # where the name fits
        axis.text(begin, lane + 0.24, " " + row["phase"], va="center", ha="left", fontsize=7,
                  clip_on=True)
