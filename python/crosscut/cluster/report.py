"""A cluster folder in words: at most 60 lines of text, however many ranks there are."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute as pc

from crosscut._read import shown_text, time_text
from crosscut.cluster.dataset import Cluster

MOST_LINES = 60
_WIDTH = 100
_CLASSES = {"device": "device work", "comm": "communication", "runtime": "device runtime",
            "data": "data loading and simulation", "framework": "framework time",
            "python": "Python", "idle": "idle time",
            "other": "time in which nothing is seen to run"}
_GAPS, _ROWS, _FEW_ROWS = 6, 8, 5  # shown of what there may be more of


def summary(path: str, facts: dict[str, Any]) -> str:
    """What `reduce` says when it is done."""
    ranks, hosts = _count(facts["ranks"], "rank"), _count(len(facts["hosts"]), "host")
    return shown_text(f"{ranks} on {hosts} in {path}; next: crosscut report {shlex.quote(path)}")


def text(cluster: Cluster) -> str:
    """The report. OSError, ValueError where a table cannot be read."""
    lines = [head(cluster), *missing(cluster), "",
             *textwrap.wrap(shown_text(" ".join(verdict(cluster))), _WIDTH), *_stragglers(cluster),
             *_outliers(cluster), *_collectives(cluster), *_spread(cluster)]
    lines += ["", f"More: crosscut table {shlex.quote(cluster.path)}; SQL: docs/cluster.md"]
    return shown(lines)


def shown(lines: Iterable[str]) -> str:
    """Lines as text, with pictures of control characters: names may hold anything."""
    return "".join(shown_text(line) + "\n" for line in lines)


def duration(ns: int | None) -> str:
    """A time as people read it: "1.23 ms"."""
    return "-" if ns is None else time_text(ns)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ranges(numbers: Sequence[tuple[int, int]], most: int = 6) -> str:
    """Sorted ranges of numbers in few words: "3, 8 to 15 and 2 more"."""
    shown = [str(a) if a == b else f"{a} to {b}" for a, b in numbers[:most]]
    left = sum(b - a + 1 for a, b in numbers[most:])
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def head(cluster: Cluster) -> str:
    """The job and its size, in a line."""
    facts = cluster.facts
    job = f"Job {facts['job']}" if facts["job"] else "A job without a name"
    steps = cluster.table("ranks").column("steps")
    most = pc.max(steps).as_py()
    words = (f"{job}: {_count(facts['ranks'], 'rank')} on {_count(len(facts['hosts']), 'host')}, "
             f"{_count(facts['processes'], 'process').replace('processs', 'processes')}")
    return words + (f", {most:,} steps" if most else "")


def missing(cluster: Cluster) -> list[str]:
    """What is missing of it, in a few lines."""
    facts = cluster.facts
    lines = []
    if facts["missing"]:
        few = sum(last - first + 1 for first, last in facts["missing"]) == 1
        world = max(cluster.table("missing").column("world").to_pylist())
        lines.append(f"! rank{'' if few else 's'} {ranges(facts['missing'])} of {world:,} "
                     f"{'is' if few else 'are'} missing: their collectives are incomplete")
    seen: dict[str, list[str]] = {}
    for where, what in facts["gaps"]:
        seen.setdefault(what, []).append(where)
    lines += [_in_one_line(f"! {_places(where)}{what}")
              for what, where in list(seen.items())[:_GAPS]]
    if len(seen) > _GAPS:
        lines.append(f"! {len(seen) - _GAPS} more: crosscut info {shlex.quote(cluster.path)}")
    single = cluster.facts["tables"]["gaps"]["rows"]
    if single:
        lines.append(f"! {_count(single, 'sentence')} about what single runs lack: crosscut table "
                     f"{shlex.quote(cluster.path)} gaps")
    return lines if lines else ["Nothing is missing."]


def _in_one_line(sentence: str) -> str:
    return sentence if len(sentence) <= _WIDTH else sentence[:_WIDTH - 3] + "..."


def _places(where: Sequence[str]) -> str:
    if where == [""]:
        return ""
    return ", ".join(where[:3]) + (f" and {len(where) - 3:,} more" if len(where) > 3 else "") + ": "


def verdict(cluster: Cluster) -> list[str]:
    """What the waiting in collectives comes from, in sentences."""
    rows = cluster.table("stragglers").slice(0, 1).to_pylist()
    if not rows:
        return ["Who waited for whom is not known: no collective was matched."]
    [first] = rows
    if not first["made_wait_ns"]:
        return ["No rank waited for another in a collective."]
    in_steps = first["made_wait_in_steps_ns"]
    out = [f"Rank {first['rank']} (host {first['host']}) made the others wait "
           f"{duration(in_steps or first['made_wait_ns'])}"
           f"{' in the steps' if in_steps else ''}: {first['share_ppm'] / 10**4:.0f} % of all "
           "waiting in collectives.", *_bound(cluster, first)]
    if first["grew_class"]:
        out.append(f"In the compared steps it has {duration(first['grew_class_ns'])} more "
                   f"{_CLASSES[first['grew_class']]} than its peers.")
    if first["grew_operation"]:
        out.append(f"Of its operations {first['grew_operation']} grew most: "
                   f"{duration(first['grew_operation_ns'])} more than its peers.")
    waited = _sum(cluster.table("straggler_steps").column("waited_ns"))
    spent = _sum(cluster.table("ranks").column("marked_steps_ns"))
    if waited and waited <= spent < 1 << 63:
        out.append(f"All ranks together waited {duration(waited)} of the {duration(spent)} of "
                   f"their steps ({100 * waited / spent:.0f} %).")
    return out


def _sum(column: Any) -> int:
    """Of the known cells; it may need more than 64 bits, as time of all ranks together."""
    return sum(filter(None, column.to_pylist()))


def _bound(cluster: Cluster, straggler: dict[str, Any]) -> list[str]:
    """What a step would take without the time in which only this rank was missing."""
    rows = cluster.table("ranks").to_pylist()
    of_rank = [r for r in rows if (r["restart"], r["rank"]) == (straggler["restart"],
                                                               straggler["rank"])]
    saved = straggler["saved_in_steps_ns"]
    if not saved or not of_rank or not of_rank[0]["marked_steps"]:
        return []
    steps, ns = of_rank[0]["marked_steps"], of_rank[0]["marked_steps_ns"]
    return [f"If it were like its peers, a step would take {duration((ns - saved) // steps)} "
            f"instead of {duration(ns // steps)}, at best."]


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], total: int) -> list[str]:
    cells = [list(head), *map(list, rows)]
    if len(cells) == 1:
        return []
    widths = [min(34, max(len(row[at]) for row in cells)) for at in range(len(head))]
    more = f" ({len(cells) - 1} of {total:,})" if total > len(cells) - 1 else ""
    lines = ["  ".join(cell[:width].ljust(width) if at == 0 else cell[:width].rjust(width)
                       for at, (cell, width) in enumerate(zip(row, widths))) for row in cells]
    return ["", title + more, *(f"  {line}".rstrip() for line in lines)]


def _stragglers(cluster: Cluster) -> list[str]:
    table = cluster.table("stragglers")
    rows = table.slice(0, _ROWS).to_pylist()
    head = ("rank", "host", "last in", "made wait", "share", "waited", "grew")
    return _table("Stragglers", head, (
        (str(r["rank"]), r["host"] or "", f"{r['last_count']:,}",
         duration(r["made_wait_in_steps_ns"]), f"{r['share_ppm'] / 10**4:.1f} %",
         duration(r["waited_in_steps_ns"]), r["grew_class"] or "-")
        for r in rows), table.num_rows)


def _outliers(cluster: Cluster) -> list[str]:
    table = cluster.table("rank_outliers")
    return _table("Ranks unlike their peers", ("rank", "host", "what", "time", "peers", "more"), (
        (str(r["rank"]), r["host"], f"{r['kind']} {r['name']}" if r["kind"] != "wall" else "steps",
         duration(r["ns"]), duration(r["median_ns"]), duration(r["more_ns"]))
        for r in table.slice(0, _FEW_ROWS).to_pylist()), table.num_rows)


def _collectives(cluster: Cluster) -> list[str]:
    table = cluster.table("collectives")
    head = ("name", "group", "ranks", "count", "transfer", "waited", "last")
    lines = _table("Collectives", head, (
        (r["name"], r["group"], f"{r['ranks']:,}", f"{r['count']:,}", duration(r["transfer_ns"]),
         duration(r["waited_ns"]), "-" if r["last_rank"] is None else f"rank {r['last_rank']}")
        for r in table.slice(0, _FEW_ROWS).to_pylist()), table.num_rows)
    unmatched = cluster.table("unmatched")
    if unmatched.num_rows:
        calls = pc.sum(unmatched.column("calls")).as_py()
        reasons = sorted(set(unmatched.column("reason").to_pylist()))
        lines.append(f"  {_count(calls, 'call')} not compared: {'; '.join(reasons[:3])}")
    return lines


def _spread(cluster: Cluster) -> list[str]:
    table = cluster.table("operation_spread")
    return _table("Operations over ranks", ("operation", "ranks", "p50", "p99", "most", "worst"), (
        (r["operation"] or "(none)", f"{r['ranks']:,}", duration(r["p50_ns"]),
         duration(r["p99_ns"]), duration(r["max_ns"]), f"rank {r['worst_rank']}")
        for r in table.slice(0, _FEW_ROWS).to_pylist()), table.num_rows)


def information(cluster: Cluster) -> str:
    """What `crosscut info` says: hosts, every gap, the tables."""
    facts = cluster.facts
    lines = [head(cluster), f"specification {facts['spec'][:8]}"]
    if facts["missing"]:
        lines.append(f"missing ranks: {ranges(facts['missing'], 1 << 30)}")
    lines += [f"! {where + ': ' if where else ''}{what}" for where, what in facts["gaps"]]
    for host, stated in facts["hosts"].items():
        lines.append(f"host {host}: {_count(stated['ranks'], 'rank')}, "
                     f"{stated['processes']} processes")
    lines += [f"table {name}: {_count(stated['rows'], 'row')}"
              for name, stated in facts["tables"].items()]
    return shown(lines)
