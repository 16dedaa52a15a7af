"""A cluster folder as one page: verdict, ranks x steps, hosts, the path across ranks, tables. One
file, no network, below 5 MB at any size: the map has at most 256 rows and 512 columns."""

from __future__ import annotations

import base64
import html
import json
import shlex
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crosscut._read import shown_text
from crosscut.cluster import report, spec
from crosscut.cluster.dataset import Cluster

MOST_ROWS, MOST_COLUMNS = 256, 512
_SHOWN = 20  # rows of a table, parts of the path
_MOST_GAPS = 12

# Tables on the page: name, title, what it says, and the columns to show with their headings.
_TABLES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("stragglers", "Stragglers", "For whom the others waited in collectives of the steps.",
     {"rank": "rank", "restart": "restart", "host": "host", "last_count": "came last in",
      "made_wait_in_steps_ns": "made wait", "saved_in_steps_ns": "saves at best",
      "waited_in_steps_ns": "waited", "grew_class": "more than its peers",
      "grew_operation": "operation"}),
    ("rank_outliers", "Ranks unlike their peers", "Figures far above the median of the others.",
     {"rank": "rank", "host": "host", "kind": "of", "name": "what", "ns": "time",
      "median_ns": "peers", "more_ns": "more"}),
    ("collectives", "Collectives", "Transfer is from the last to come to the first to leave.",
     {"group": "group", "name": "name", "ranks": "ranks", "count": "count", "bytes": "bytes",
      "transfer_ns": "transfer", "waited_ns": "waited", "last_rank": "last rank",
      "bytes_per_s": "bytes/s"}),
    ("operation_spread", "Operations over ranks", "What each operation took by rank.",
     {"operation": "operation", "ranks": "ranks", "p50_ns": "median", "p99_ns": "p99",
      "max_ns": "most", "worst_rank": "worst rank", "worst_host": "its host"}),
    ("host_clocks", "Clocks of hosts", "How far a host's clock is ahead of another one's.",
     {"host": "host", "beside": "beside", "offset_ns": "ahead", "error_ns": "error",
      "drift_ppb": "drift (ppb)", "collectives": "collectives"}),
    ("unmatched", "Not compared", "Calls of collectives that were compared with nothing.",
     {"group": "group", "name": "name", "reason": "why", "calls": "calls"}),
)


def _bins(count: int, most: int) -> npt.NDArray[np.int64]:
    """For each of `count` the bin of at most `most` it is in."""
    return np.arange(count) * min(count, most) // max(count, 1)


class Map:
    """Ranks x steps of the restart that has most of both, binned."""

    def __init__(self, cluster: Cluster) -> None:
        steps = cluster.table("steps").select(
            ["step", "restart", "rank", "level", "wall_ns", *(n for n, _ in spec.STEP_CLASSES)])
        classed = pc.is_in(steps.column("level"), pa.array([1, 2, 3]))
        steps = steps.filter(pc.and_(pc.is_valid(steps.column("rank")), classed))
        restarts = steps.column("restart").to_numpy()
        known, count = np.unique(restarts, return_counts=True)
        self.restart = int(known[count.argmax()]) if len(known) else 0
        steps = steps.filter(pc.equal(steps.column("restart"), self.restart))
        self.ranks = np.unique(steps.column("rank").to_numpy())
        self.steps = np.unique(steps.column("step").to_numpy())
        self._row = _bins(len(self.ranks), MOST_ROWS)
        self._column = _bins(len(self.steps), MOST_COLUMNS)
        at = np.searchsorted(self.ranks, steps.column("rank").to_numpy())
        step = np.searchsorted(self.steps, steps.column("step").to_numpy())
        self._cells = (self._row[at] * (self.columns or 1) + self._column[step]
                       if len(at) else np.empty(0, np.int64))
        wall = steps.column("wall_ns").to_numpy()
        # Steps that share their number are in no class.
        split = pc.is_valid(steps.column("comm_ns")).to_numpy()
        cells = self._cells[split]
        classes = {name: steps.column(name).filter(split).to_numpy()
                   for name, _ in spec.STEP_CLASSES}
        own = wall[split] - classes["comm_ns"]
        least = int(np.median(wall)) // 10 if len(wall) else 1  # below, a difference is noise
        self.layers = [
            self._layer("work beyond the median rank's", _excess(own, step[split]), cells, least),
            self._layer("step beyond the median rank's", _excess(wall, step), self._cells, least),
            *(self._layer(name.removesuffix("_ns"), ns, cells) for name, ns in classes.items()
              if np.any(ns > 0))]

    @property
    def rows(self) -> int:
        """How many rows the map has."""
        return min(len(self.ranks), MOST_ROWS)

    @property
    def columns(self) -> int:
        """How many columns it has."""
        return min(len(self.steps), MOST_COLUMNS)

    def _layer(self, name: str, ns: npt.NDArray[np.int64], cells: npt.NDArray[np.int64],
               least: int = 1) -> dict[str, Any]:
        """The most of each cell, in 254 parts of what is shown as most, which is at least `least`;
        255: no such step. `cells`: in which each of `ns` is."""
        most = np.full(self.rows * self.columns, -1, np.int64)
        np.maximum.at(most, cells, np.maximum(ns, 0))
        known = most[most >= 0]
        # One cell far above all others must not make them all alike.
        top = int(max(np.quantile(known, 0.999), least, 1)) if len(known) else 1
        parts = np.where(most < 0, 255, np.minimum(most * 254 // top, 254)).astype(np.uint8)
        return {"name": name, "top_ns": top, "cells": base64.b64encode(parts.tobytes()).decode()}

    def as_json(self, hosts: dict[int, str]) -> dict[str, Any]:
        """For the page's script. `hosts`: by rank."""
        first_rank = [int(self.ranks[np.searchsorted(self._row, r)]) for r in range(self.rows)]
        first_step = [int(self.steps[np.searchsorted(self._column, c)])
                      for c in range(self.columns)]
        return {"rows": self.rows, "columns": self.columns, "ranks": first_rank,
                "last_rank": int(self.ranks[-1]) if len(self.ranks) else -1,
                "steps": first_step, "last_step": int(self.steps[-1]) if len(self.steps) else -1,
                "hosts": [hosts.get(rank, "") for rank in first_rank], "layers": self.layers}


def _excess(ns: npt.NDArray[np.int64], step: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How much more each rank has in a step than the median rank."""
    step = np.unique(step, return_inverse=True)[1]
    order = np.lexsort((ns, step))
    first = np.flatnonzero(np.diff(step[order], prepend=-1)) if len(order) else np.empty(0, int)
    count = np.diff(np.append(first, len(order)))
    median = ns[order][first + count // 2] if len(first) else np.empty(0, np.int64)
    return ns - median[step] if len(step) else ns


def _cell(name: str, value: Any) -> str:
    if value is None or value == "":
        return "-"
    if name.endswith("_ns") or name == "ns":
        return report.duration(value)
    return f"{value:,}" if isinstance(value, int) else shown_text(str(value))


def _table_of(head: Sequence[str], rows: Iterable[Sequence[Any]], names: Sequence[str]) -> str:
    """An HTML table; numbers to the right."""
    rows = list(rows)
    numbers = [any(isinstance(row[at], (int, float)) for row in rows) for at in range(len(names))]
    out = ["<div class=scroll tabindex=0><table><thead><tr>",
           *(f'<th scope=col{" class=n" if number else ""}>{html.escape(text)}</th>'
             for text, number in zip(head, numbers)), "</tr></thead><tbody>"]
    for row in rows:
        out.append("<tr>")
        for name, value, number in zip(names, row, numbers):
            out.append(f"<td{' class=n' if number else ''}>{html.escape(_cell(name, value))}</td>")
        out.append("</tr>")
    return "".join(out) + "</tbody></table></div>"


def _section(title: str, words: str, body: str) -> str:
    name = title.lower().replace(" ", "-")
    return (f'<section aria-labelledby="{name}"><h2 id="{name}">{html.escape(title)}</h2>'
            f"<p class=soft>{html.escape(words)}</p>{body}</section>")


def _tables(cluster: Cluster) -> str:
    out = []
    for name, title, words, columns in _TABLES:
        if name not in cluster.facts["tables"]:
            continue
        table = cluster.table(name)
        if name == "stragglers":
            table = table.filter(pc.greater(table.column("made_wait_ns"), 0))
        if not table.num_rows:
            continue
        if "restart" in columns and not pc.any(pc.greater(table.column("restart"), 0)).as_py():
            columns = {key: text for key, text in columns.items() if key != "restart"}
        rows = table.slice(0, _SHOWN).select(list(columns))
        more = (f"The first {_SHOWN} of {table.num_rows:,}: crosscut table "
                f"{shlex.quote(cluster.path)} {name}." if table.num_rows > _SHOWN else "")
        body = _table_of(list(columns.values()), zip(*(c.to_pylist() for c in rows.columns)),
                         list(columns))
        out.append(_section(title, f"{words} {more}".strip(), body))
    return "".join(out)


def _hosts(cluster: Cluster) -> str:
    """Hosts by what their ranks made others wait, as bars."""
    ranks = cluster.table("stragglers").select(["host", "made_wait_in_steps_ns"])
    hosts = ranks.group_by("host").aggregate([("made_wait_in_steps_ns", "sum"), ([], "count_all")])
    every = sorted(zip(*(hosts.column(name).to_pylist() for name in
                         ("host", "made_wait_in_steps_ns_sum", "count_all"))),
                   key=lambda row: (-row[1], row[0]))
    rows = [row for row in every if row[1] > 0]
    if len(every) < 2 or not rows:
        return ""
    most = rows[0][1]
    bars = "".join(
        f"<li><span class=name>{html.escape(host)}</span><span class=bar style=\"width:"
        f"{60 * ns / most:.1f}%\"></span> {report.duration(ns)} ({count:,} ranks)</li>"
        for host, ns, count in rows[:_SHOWN])
    left = len(every) - min(len(rows), _SHOWN)
    more = f" {left:,} more made them wait less or not at all." if left else ""
    return _section("Hosts", "What the ranks of a host made others wait in the steps." + more,
                    f"<ul class=bars>{bars}</ul>")


def _path(cluster: Cluster, restart: int) -> str:
    """What the time of the job went by."""
    rows = [row for row in cluster.table("cluster_path").to_pylist() if row["restart"] == restart]
    whole = sum(row["ns"] for row in rows)
    if not whole:
        return ""
    shown = [(f"rank {row['rank']}: {row['kind']}"
              + (f" ({row['operation']})" if row["operation"] else ""), row["kind"], row["ns"])
             for row in rows[:_SHOWN]]
    rest = sum(row["ns"] for row in rows[_SHOWN:])
    if rest:
        shown.append((f"{len(rows) - _SHOWN:,} more", "rest", rest))
    parts = "".join(f'<span class="part {kind}" style="width:{100 * ns / whole:.3f}%" title="'
                    f'{html.escape(text)}: {report.duration(ns)}"></span>'
                    for text, kind, ns in shown)
    body = (f"<div class=path aria-hidden=true>{parts}</div>"
            + _table_of(["part", "time", "share"],
                        [(text, report.duration(ns), f"{100 * ns / whole:.1f} %")
                         for text, _, ns in shown], ["part", "time", "share"]))
    return _section("Path across ranks", "From the first collective to the last "
                    f"({report.duration(whole)}): work of the rank that the others waited for, and "
                    "transfer.", body)


def _gaps(cluster: Cluster) -> str:
    missing = cluster.facts["missing"]
    lines = [f"Ranks that are missing: {report.ranges(missing)}"] if missing else []
    lines += [f"{where + ': ' if where else ''}{what}" for where, what in cluster.facts["gaps"]]
    if not lines:
        return "<p class=whole>Nothing is missing.</p>"
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines[:_MOST_GAPS])
    if len(lines) > _MOST_GAPS:
        items += f"<li>{len(lines) - _MOST_GAPS:,} more: crosscut info</li>"
    return f"<div class=gaps><h2>What is missing</h2><ul>{items}</ul></div>"


def render(cluster: Cluster) -> str:
    """The page. OSError, ValueError where a table cannot be read."""
    ranks = cluster.table("ranks").select(["rank", "restart", "host", "process"]).to_pylist()
    heat = Map(cluster)
    hosts = {row["rank"]: row["host"] for row in ranks if row["restart"] == heat.restart}
    processes = {row["rank"]: row["process"] for row in ranks if row["restart"] == heat.restart}
    data = heat.as_json(hosts)
    data["processes"] = [processes.get(rank, "") for rank in data["ranks"]]
    verdict = "".join(f"<p>{html.escape(line)}</p>" for line in report.verdict(cluster))
    template = resources.files("crosscut.cluster").joinpath("page.html").read_text("utf-8")
    fields = {
        "title": html.escape(f"Crosscut: job {cluster.facts['job'] or '(unnamed)'}"),
        "head": html.escape(report.head(cluster)),
        "verdict": verdict, "gaps": _gaps(cluster), "hosts": _hosts(cluster),
        "path": _path(cluster, heat.restart), "tables": _tables(cluster),
        "layers": "".join(f"<option value={i}>{html.escape(layer['name'])}</option>"
                          for i, layer in enumerate(heat.layers)),
        # "<" could end the script element.
        "data": json.dumps(data).replace("<", "\\u003c")}
    for name, value in fields.items():
        template = template.replace(f"<!--{name}-->", value)
    return template
