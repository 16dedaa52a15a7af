"""Do a balanced plan's operator totals per step agree with a complete recording's?

Usage: plans_agree.py SEEDS WORK [PROGRAM...]. For each seed and program one session with the
balanced plan and one with the full plan, in turn in one process. Of the ten operators with most
time (step_operators): how often the two times per step differ by less than their intervals together
(in quadrature), how wide the balanced one is, how far off its middle; and whether the counts per
step are the same. Beside it full recordings among each other.
"""

import json
import math
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


def half(row):
    return (row.high_ns - row.low_ns) / 2


def agreement(pairs, operators):
    """Per cent of the pairs of sessions and operators that differ by less than both intervals."""
    held = [abs(a.per_step_ns[o] - b.per_step_ns[o]) <= math.hypot(half(a.loc[o]), half(b.loc[o]))
            for a, b in pairs for o in operators]
    return 100 * sum(held) / len(held)


def compare(program, tables):
    balanced, full = tables["balanced"], tables["full"]
    largest = full[0].sort_values("per_step_ns", ascending=False).index[:OPERATORS]
    widths, errors, counts = [], [], []
    for mine, whole in zip(balanced, full):
        for o in largest:
            widths.append(100 * half(mine.loc[o]) / mine.per_step_ns[o])
            errors.append(100 * (mine.per_step_ns[o] / whole.per_step_ns[o] - 1))
            counts.append(abs(mine.count_per_step[o] - whole.count_per_step[o]))
    again = list(zip(full, full[1:]))
    return [value(f"{program}: agree with a full recording",
                  [agreement(zip(balanced, full), largest)], "%"),
            value(f"{program}: full recordings among each other (A/A)",
                  [agreement(again, largest)], "%"),
            value(f"{program}: half-width", widths, "%"),
            value(f"{program}: off by", errors, "%"),
            value(f"{program}: largest difference of counts", [max(counts)], "per step")]


def main():
    seeds, work = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name in sys.argv[3:] or PROGRAMS:
        for line in compare(name, sessions(name, seeds, work)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
