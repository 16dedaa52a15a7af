"""Every time that a report shows is a cell of a table, or a sum of cells that share a key."""

import itertools
import json
import re
import subprocess

import pytest
from runs import CROSSCUT, ROOT

INPUTS = [ROOT / "tests" / "golden" / "report_training" / "input.txt",
          ROOT / "tests" / "golden" / "report_device" / "input.txt",
          ROOT / "tests" / "gpu" / "h200" / "crosscut-train.json.gz"]


def shown(ns):
    """A time as reports show it: four digits (src/report, FormatNs)."""
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) < unit * 0.99995:
            continue
        whole = abs(ns) / unit
        if whole >= 9999.5:
            return f"{round(ns / unit):,} {name}"
        decimals = 0 if whole >= 999.95 else 1 if whole >= 99.995 else 2 if whole >= 9.9995 else 3
        return f"{ns / unit:.{decimals}f} {name}"
    return f"{ns} ns"


def numbers_of(table):
    """The integers in a table, and the sums of its columns by each one or two of its keys."""
    columns = {name: cells for name, cells in table["columns"].items() if cells}
    keys = [name for name, cells in columns.items()
            if isinstance(cells[0], str) or name == "device"]
    for name, cells in columns.items():
        if name in keys:
            continue
        known = [cell for cell in cells if isinstance(cell, int)]
        yield from known
        for group in itertools.chain.from_iterable(
                itertools.combinations(keys, size) for size in range(3)):
            sums = {}
            for i, cell in enumerate(cells):
                if isinstance(cell, int):
                    key = tuple(columns[column][i] for column in group)
                    sums[key] = sums.get(key, 0) + cell
            yield from sums.values()


def others_of(work):
    """What the column "other" may hold: the sets of layers that took least, of a process's part."""
    cells = [((process, part), *rest) for process, part, *rest in zip(*(work["columns"][name] for
             name in ("process", "part", "work", "layers", "device", "ns")))]
    for process in {row[0] for row in cells}:
        sums = {}
        for row in cells:
            if row[0] == process:
                sums[row[2:4]] = sums.get(row[2:4], 0) + row[4]
        order = sorted(sums, key=lambda layers: -sums[layers])
        for first in range(len(order)):
            rest = set(order[first:])
            of = {}
            for row in cells:
                if row[0] == process and row[2:4] in rest:
                    of[row[1]] = of.get(row[1], 0) + row[4]
            yield from [*of.values(), sum(of.values())]


def report(source, *flags):
    return subprocess.run([CROSSCUT, "report", source, *flags], capture_output=True, text=True,
                          timeout=60).stdout


@pytest.mark.parametrize("source", INPUTS, ids=lambda path: path.parent.name)
def test_times_are_in_tables(source):
    tables = json.loads(report(source, "--format=json"))["tables"]
    known = {shown(n) for table in tables for n in numbers_of(table)}
    known |= {shown(n) for table in tables if table["table"] == "part_work"
              for n in others_of(table)}
    text = report(source)
    # Gaps have sentences of their own, above everything, and so has the verdict: its evidence is a
    # text of its table.
    text = text[re.search(r"^  (Command|Recorded|Run) ", text, re.M).start():]
    times = [" ".join(found) for found in
             re.findall(r"(?<![\d-])([\d,]+(?:\.\d+)?) (ns|µs|ms|s)\b", text)]
    assert len(times) > 20
    assert not [time for time in times if time not in known]


def largest_of_page(page):
    """The sentence of a page that says what the run, or its steps, were spent on."""
    line = re.search(r'<p class="headline">(.*?)</p>', page).group(1)
    line = re.sub("<[^>]*>", "", line)
    found = re.search(r"(?:Its steps took ([\d.,]+ \S+), of which|Of that,) (.*) took ([\d.]+) %",
                      line)
    return found.group(1), found.group(2), float(found.group(3))


@pytest.mark.parametrize("source", INPUTS, ids=lambda path: path.parent.name)
def test_shares_in_all_views_are_shares_of_the_same_time(source):
    tables = {table["table"]: table["columns"]
              for table in json.loads(report(source, "--format=json"))["tables"]}
    parts, work = tables["window_parts"], tables["part_work"]
    first = tables["verdict"]["process"][0]
    part = "steps" if (first, "steps") in zip(parts["process"], parts["part"]) else "whole window"
    times = {}
    for process, of, name, ns in zip(work["process"], work["part"], work["work"], work["ns"]):
        if (process, of) == (first, part):
            times[name] = times.get(name, 0) + ns
    largest, whole = max(times, key=times.get), sum(times.values())
    share, ns = 100 * times[largest] / whole, times[largest]
    largest = largest or "(no line seen)"

    took, name, percent = largest_of_page(report(source, "--format=html"))
    assert (took, name) == (shown(whole) if part == "steps" else None, largest)
    assert percent == pytest.approx(share, abs=0.5)
    heading = "Where the steps' time went: " if part == "steps" else "Where the time went: "
    grid = report(source).split(heading, 1)[1]
    row = re.search(rf"^ +{re.escape(largest)} +([\d.]+) % +([\d.,]+ \S+)", grid, re.M)
    assert float(row.group(1)) == pytest.approx(share, abs=0.5)
    assert row.group(2) == shown(ns)


STEPS = """# crosscut trace
process train pid=7 window=0..10000 name=train.py
thread main tid=7 base=python main lead
""" + "".join(f"step step {500 * i} {500 * i + 400} level={0 if i in (4, 5) else 3}\n"
              f"op forward {500 * i} {500 * i + 300}\n" for i in range(1, 12))


def test_all_views_count_the_same_steps(tmp_path):
    source = tmp_path / "trace.txt"
    source.write_text(STEPS)
    tables = {table["table"]: table["columns"]
              for table in json.loads(report(source, "--format=json"))["tables"]}
    parts = dict(zip(tables["window_parts"]["part"], tables["window_parts"]["count"]))
    counts = [parts["steps"], parts["control steps"]]
    assert counts == [9, 2]
    summary = ["steps", "control_steps"]
    assert [sum(tables["step_summary"][name]) for name in summary] == counts
    text = report(source)
    assert re.findall(r"(\d+) steps [\d.]+ \S+; (\d+) control steps", text) == [("9", "2")]
    grid = text.split("\nSteps\n", 1)[1]
    assert re.search(r"step +9 +2 ", grid)
    page = report(source, "--format=html")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))
    assert [sum(data["step_summary"][name]) for name in summary] == counts
    assert data["all_steps"] == sum(counts)
