"""Is the corrected time true? Recorded and unrecorded runs of whole programs, interleaved ABBA.

Usage: validate.py [--pairs 30] [--only train,many_ops,heavy_python] [-o build/validate]

For each program: the time per step as the program itself measures it, unrecorded (A) and recorded
(B); the corrected time per step from the table `step_cost`; the A/A band from the unrecorded runs
split in two halves at random; and how often the report's own interval holds the truth.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build" / "release" / "python"
CROSSCUT = PACKAGE / "crosscut" / "bin" / "crosscut"
PROGRAMS = {"train": ["examples/train.py", "--steps", "120"],
            "many_ops": ["examples/many_ops.py", "--steps", "150"],
            "heavy_python": ["examples/heavy_python.py", "--steps", "150"]}


def step_times(program, work, run=None, seed=0):
    """Seconds of every step as the program measured them itself."""
    times = work / "times.json"
    command = [sys.executable, *PROGRAMS[program], "--times", str(times)]
    env = dict(os.environ, CROSSCUT_SEED=str(seed), PYTHONPATH=str(PACKAGE))
    if run is not None:
        command = [str(CROSSCUT), "record", "-o", str(run), "--", *command]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(times.read_text())


def table(run, name):
    done = subprocess.run([str(CROSSCUT), "table", str(run), name, "--format=csv"],
                          capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def main_process_cost(run):
    """The row of `step_cost` with most steps: the training process's ordinary steps."""
    return max(table(run, "step_cost"), key=lambda row: int(row["steps"]))


def band(values, generator):
    """Median over random halves of |median(half) / median(other half) - 1|: the A/A noise."""
    ratios = []
    for _ in range(200):
        shuffled = generator.sample(values, len(values))
        half = len(values) // 2
        ratios.append(abs(statistics.median(shuffled[:half]) /
                          statistics.median(shuffled[half:]) - 1))
    return statistics.quantiles(ratios, n=20)[-1]


def validate(program, pairs, work):
    plain, recorded, rows = [], [], []
    for pair in range(pairs):
        for letter in ("AB", "BA")[pair % 2]:
            if letter == "A":
                plain.append(step_times(program, work)["step_median_ns"])
                continue
            run = work / "run"
            shutil.rmtree(run, ignore_errors=True)
            recorded.append(step_times(program, work, run, seed=pair + 1)["step_median_ns"])
            rows.append(main_process_cost(run))
        print(f"{program}: pair {pair + 1} of {pairs}", file=sys.stderr)
    truth = statistics.median(plain)
    inflation = [r / truth - 1 for r in recorded]
    corrected = [int(row["corrected_median_ns"]) for row in rows]
    half_widths = [(int(row["corrected_high_ns"]) - int(row["corrected_low_ns"])) / 2 / truth
                   for row in rows]
    covered = sum(int(row["corrected_low_ns"]) <= truth <= int(row["corrected_high_ns"])
                  for row in rows)
    return {"program": program, "pairs": pairs, "unrecorded_ns": truth,
            "raw_inflation": statistics.median(inflation),
            "corrected_error": statistics.median(corrected) / truth - 1,
            "aa_band": band(plain, random.Random(1)),
            "half_width": statistics.median(half_widths),
            "covered": covered / len(rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("-o", "--out", default=str(ROOT / "build" / "validate"))
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.out)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    results = [validate(p, arguments.pairs, work) for p in arguments.only.split(",")]
    (work / "results.json").write_text(json.dumps(results, indent=1))
    print("program       unrecorded   raw       corrected  A/A band  interval half-width  covers")
    for r in results:
        holds = abs(r["corrected_error"]) <= 0.02 + r["aa_band"]
        print(f"{r['program']:<12} {r['unrecorded_ns'] / 1e6:>8.3f} ms  {r['raw_inflation']:>+7.2%}"
              f"  {r['corrected_error']:>+8.2%}  {r['aa_band']:>8.2%}  {r['half_width']:>19.2%}"
              f"  {r['covered']:>5.0%}  {'holds' if holds else 'DOES NOT HOLD'}")


if __name__ == "__main__":
    main()
