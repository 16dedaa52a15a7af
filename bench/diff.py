"""Is `crosscut diff` right? Pairs of runs of one program, and of versions with planted slow-downs.

Usage: diff.py loop|network|device [--pairs 40] [--percent 3,5,10] [--sides 1] [--work FOLDER]

Records two runs of bench/diff_program.py for each pair, and one for each planted slow-down, all in
turn, so that whatever else runs on the machine meets all alike. Runs that are in FOLDER already are
taken as they are, so an experiment can go on. Prints of how many pairs of one program a
difference was told (none should be), and of how many planted slow-downs the operation stands out
and the step is told to be slower; and how many fail with --fail-above=5%. --sides compares several
runs a side.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from diff_program import PROGRAMS

HERE = pathlib.Path(__file__).resolve().parent


def record(run, program, slower):
    if (run / "run.json").exists():
        return
    command = [sys.executable, HERE / "diff_program.py", program, "--slower", slower]
    subprocess.run(["crosscut", "record", "-o", run, "--", *command], check=True,
                   capture_output=True)


def diff(a, b):
    done = subprocess.run(["crosscut", "diff", "--format=json", "--fail-above=5%", "--base", *a,
                           "--", *b], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    tables = {table["table"]: table["columns"] for table in json.loads(done.stdout)["tables"]}
    verdict = {name: cells[0] for name, cells in tables["diff_verdict"].items()}
    operations = tables["diff_step_operations"]
    out = {name: ns for name, stands, ns in zip(operations["operation"], operations["stands_out"],
                                                operations["own_ns"]) if stands}
    for column in ("a_ns", "b_ns", "change_ns", "change_undisturbed_ns"):
        assert sum(operations[column]) == tables["diff_steps"][column][0], (a, b, column)
    return verdict, out, done.returncode == 1


def judge(pairs, planted=None):
    told = above = stands_out = right = failed = 0
    for a, b in pairs:
        verdict, out, fails = diff(a, b)
        failed += fails
        told += verdict["result"] != "same"
        above += (verdict["low_share"] or 0) > 0.05
        stands_out += bool(out)
        largest = max(out, key=lambda name: abs(out[name]), default=None)
        good = largest == planted and planted is not None and out[planted] > 0
        right += good
        if good != bool(planted) or (planted is None and out):
            print(f"   {' '.join(map(str, b))}: {verdict['headline']}")
    return len(pairs), told, above, stands_out, right, failed


def sides(names, count):
    """Groups of `count` runs."""
    return [names[i:i + count] for i in range(0, len(names) - count + 1, count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--percent", default="3,5,10")
    parser.add_argument("--sides", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path)
    arguments = parser.parse_args()
    work = arguments.work or pathlib.Path(tempfile.mkdtemp(prefix="crosscut-diff-"))
    os.makedirs(work, exist_ok=True)
    plants = [f"{operation}:{percent}" for percent in arguments.percent.split(",")
              for operation in PROGRAMS[arguments.program][2]]
    runs = {name: [] for name in ("a", "b", *plants)}
    for pair in range(1, arguments.pairs + 1):
        for name in runs:
            run = work / f"{name.replace(':', '-')}-{pair}"
            record(run, arguments.program, name if ":" in name else "nothing:0")
            runs[name].append(run)
    groups = {name: sides(of, arguments.sides) for name, of in runs.items()}
    count, told, above, out, _, failed = judge(list(zip(groups["a"], groups["b"])))
    print(f"one program: {count} pairs, told {told}, above 5 % {above}, "
          f"operation stands out {out}, fails {failed}")
    for name in plants:
        count, told, _, _, right, failed = judge(list(zip(groups["a"], groups[name])),
                                                 name.split(":")[0])
        print(f"{name} %: {count} pairs, the right operation {right}, step told {told}, "
              f"fails {failed}")


if __name__ == "__main__":
    main()
