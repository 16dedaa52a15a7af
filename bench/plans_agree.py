"""Do a balanced plan's operator totals per step agree with a complete recording's?

Usage: plans_agree.py SEEDS WORK. For each seed and program one session with the balanced plan and
one with the full plan, in turn in one process. Of the ten operators with most time: in how many of
the balanced sessions the interval of step_operators holds the median of the full sessions, how wide
it is, how far off its middle; and whether the counts per step are the same.
"""

import json
import pathlib
import shutil
import statistics
import sys
from collections import defaultdict

import crosscut
import harness
from plans_programs import PROGRAMS

OPERATORS = 10


def record(run, plan, seed, body, count):
    shutil.rmtree(run, ignore_errors=True)
    if not crosscut.start(run, plan=plan, seed=seed, python="boundary"):
        sys.exit(crosscut.error())
    for _ in range(count):
        crosscut.step()
        body()
    crosscut.stop()
    rows = crosscut.read(run).table("step_operators").to_pandas()
    rows = rows[(rows.kind == "step") & (rows.name.str.startswith("aten::"))]
    shutil.rmtree(run)
    return rows.set_index("name")


def sessions(name, seeds, work):
    make, count = PROGRAMS[name]
    body = make()
    for _ in range(count // 4):
        body()
    tables = defaultdict(list)
    for seed in range(1, seeds + 1):
        for plan in ("balanced", "full") if seed % 2 else ("full", "balanced"):
            tables[plan].append(record(work / "run", plan, seed, body, count))
    return tables


def value(name, values, unit):
    q25, q50, q75 = harness.quartiles(values)
    return {"group": "plan, agreement", "name": name, "value": q50, "value_q25": q25,
            "value_q75": q75, "unit": unit}


def compare(program, tables):
    full = tables["full"]
    largest = full[0].sort_values("per_step_ns", ascending=False).index[:OPERATORS]
    covered, widths, errors, counts = [], [], [], []
    for operator in largest:
        truth = statistics.median(t.per_step_ns[operator] for t in full)
        count = statistics.median(t.count_per_step[operator] for t in full)
        rows = [t.loc[operator] for t in tables["balanced"]]
        covered.append(100 * sum(r.low_ns <= truth <= r.high_ns for r in rows) / len(rows))
        widths += [50 * (r.high_ns - r.low_ns) / truth for r in rows]
        errors += [100 * (r.per_step_ns / truth - 1) for r in rows]
        counts += [abs(r.count_per_step - count) for r in rows]
    return [value(f"{program}: intervals that hold it", [statistics.mean(covered)], "%"),
            value(f"{program}: half-width", widths, "%"),
            value(f"{program}: off by", errors, "%"),
            value(f"{program}: largest difference of counts", [max(counts)], "per step")]


def main():
    seeds, work = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name in PROGRAMS:
        for line in compare(name, sessions(name, seeds, work)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
