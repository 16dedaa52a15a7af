"""Is the corrected time true? Recorded and unrecorded runs of whole programs, interleaved ABBA.

Usage: validate.py [--pairs 30] [--only train,many_ops,heavy_python] [--steps N] [-o build/validate]

For each program: the median step as the program itself measures it, unrecorded (A) and recorded
(B); the median corrected step that Crosscut reports (table `steps`: profiled steps that count); the
A/A band, from the unrecorded runs split into two halves at random; the half-width of the report's
own interval, and in how many of the recorded runs that interval holds the truth. Every recorded run
has a seed of its own.

A result holds where |corrected / unrecorded - 1| <= 2 % + the A/A band, the half-width is <= 3 %,
and, from 20 runs on, 85 to 100 % of them cover the truth. A run's own truth is not known: what that
very process would have taken unrecorded. The median of the unrecorded runs stands for it, and they
differ among each other by their standard deviation ("sd"), which no run can know of the others. So
"covers" tells how many intervals hold the median, "with sd" how many do when widened by 1.96 sd in
quadrature; the latter is judged. Where a program has a stopwatch around
its parts (data, forward, backward, optimizer), the share of each in the steps, by that stopwatch in
unrecorded runs and by the table `operations` (corrected), must agree within 5 % of the step.
Nothing here fails a build.
"""

import argparse
import csv
import io
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build" / "release" / "python"
CROSSCUT = PACKAGE / "crosscut" / "bin" / "crosscut"
# Steps enough for 20 blocks of control steps.
PROGRAMS = {"train": ("examples/train.py", 480),
            "many_ops": ("examples/many_ops.py", 600),
            "heavy_python": ("examples/heavy_python.py", 600)}
PARTS = ("data", "forward", "backward", "optimizer")
WITH_DATA_LOADER = ("train",)  # the others make their data in the loop, which is no operation
FEWEST_RUNS_FOR_COVERAGE = 20


class Failed(Exception):
    pass


def output_of(command, **keywords):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n"
                     f"{done.stderr[-2000:]}")
    return done.stdout


# How often glibc gives the heap's top back hangs on what happens to lie there: the same training
# takes 300,000 or 700,000 page faults from run to run, and 10 % longer. Neither arm gives it back.
CALM_HEAP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
             "MALLOC_TOP_PAD_": str(64 << 20)}


def stopwatch(program, steps, work, run=None, seed=0):
    """What the program measured itself, as examples/stopwatch.py writes it."""
    times = work / "times.json"
    times.unlink(missing_ok=True)
    script, _ = PROGRAMS[program]
    command = [sys.executable, script, "--steps", steps, "--times", times]
    env = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCUT_")} | CALM_HEAP
    if run is not None:
        env["CROSSCUT_SEED"] = str(seed)
        # A complete recording: the most there is to correct.
        command = [CROSSCUT, "record", "-o", run, "--plan=full", "--", *command]
    output_of(command, cwd=ROOT, env=env)
    return json.loads(times.read_text())


def stopwatch_shares(program, times):
    parts = PARTS if program in WITH_DATA_LOADER else PARTS[1:]
    return {part: times[f"{part}_ns"] / times["step_sum_ns"] for part in parts}


def table(run, name):
    return list(csv.DictReader(io.StringIO(output_of([CROSSCUT, "table", run, name,
                                                      "--format=csv"]))))


def corrected_step(run):
    """What the report says of the process with most steps: median corrected step, its interval."""
    by_process = defaultdict(list)
    for row in table(run, "steps"):
        by_process[row["process"]].append(row)
    if not by_process:
        raise Failed(f"{run}: no steps were found in the program")
    process, rows = max(by_process.items(), key=lambda item: len(item[1]))
    counted = [row for row in rows[1:-1] if row["control"] == "0" and row["after_switch"] == "0"]
    if not counted:
        raise Failed(f"{run}: no profiled steps")
    check = next(row for row in table(run, "overhead_check") if row["process"] == process)
    result = {column: statistics.median(int(row[column]) for row in counted)
              for column in ("wall_ns", "corrected_ns", "corrected_low_ns", "corrected_high_ns")}
    result.update(checked=check["checked"] == "1", message=check["message"],
                  control_blocks=int(check["control_blocks"]), scale=float(check["scale"]))
    # The last step lasts until the process ends.
    profiled = sum(int(row["corrected_ns"]) for row in rows[:-1] if row["control"] == "0")
    result["shares"] = {row["operation"]: int(row["corrected_ns"]) / profiled
                        for row in table(run, "operations")
                        if row["process"] == process and row["operation"] in PARTS}
    return result


def band(values, generator):
    """95 % of random splits into halves differ by less: |median / other median - 1|."""
    if len(values) < 2:
        return 0.0
    ratios = []
    for _ in range(400):
        shuffled = generator.sample(values, len(values))
        half = len(values) // 2
        ratios.append(abs(statistics.median(shuffled[:half]) /
                          statistics.median(shuffled[half:]) - 1))
    return statistics.quantiles(ratios, n=20)[-1]


def coverage(reports, truth, more):
    """The part of the reports whose interval, wider by `more` in quadrature, holds the truth."""
    held = 0
    for r in reports:
        low = math.hypot(r["corrected_ns"] - r["corrected_low_ns"], more)
        high = math.hypot(r["corrected_high_ns"] - r["corrected_ns"], more)
        held += r["corrected_ns"] - low <= truth <= r["corrected_ns"] + high
    return held / len(reports)


def validate(program, pairs, steps, work):
    plain, recorded, reports, shares = [], [], [], []
    for pair in range(pairs):
        for letter in ("AB", "BA")[pair % 2]:
            if letter == "A":
                times = stopwatch(program, steps, work)
                plain.append(times["step_median_ns"])
                shares.append(stopwatch_shares(program, times))
                continue
            run = work / "run"
            shutil.rmtree(run, ignore_errors=True)
            times = stopwatch(program, steps, work, run, seed=pair + 1)
            recorded.append(times["step_median_ns"])
            reports.append(corrected_step(run))
        print(f"{program}: pair {pair + 1} of {pairs}: unrecorded {plain[-1] / 1e6:.3f} ms, "
              f"recorded {recorded[-1] / 1e6:.3f}, "
              f"corrected {reports[-1]['corrected_ns'] / 1e6:.3f}"
              f"{'' if reports[-1]['checked'] else ' (' + reports[-1]['message'] + ')'}",
              file=sys.stderr, flush=True)
    truth = statistics.median(plain)
    half_widths = [(r["corrected_high_ns"] - r["corrected_low_ns"]) / 2 / truth for r in reports]
    spread = statistics.stdev(plain) if len(plain) > 1 else 0.0
    return {"program": program, "pairs": pairs, "steps": steps, "unrecorded_ns": truth,
            "raw_inflation": statistics.median(recorded) / truth - 1,
            "corrected_error": statistics.median(r["corrected_ns"] for r in reports) / truth - 1,
            "aa_band": band(plain, random.Random(1)),
            "half_width": statistics.median(half_widths),
            "spread": spread / truth,
            "covered": coverage(reports, truth, 0.0),
            "covered_with_spread": coverage(reports, truth, 1.96 * spread),
            "checked": sum(r["checked"] for r in reports) / len(reports),
            "shares": {part: (statistics.median(s[part] for s in shares),
                              statistics.median(r["shares"].get(part, 0) for r in reports))
                       for part in shares[0]},
            "unrecorded": plain, "recorded": recorded, "reports": reports}


def verdict(result):
    misses = []
    if abs(result["corrected_error"]) > 0.02 + result["aa_band"]:
        misses.append("error")
    if result["half_width"] > 0.03:
        misses.append("half-width")
    if result["pairs"] >= FEWEST_RUNS_FOR_COVERAGE and result["covered_with_spread"] < 0.85:
        misses.append("coverage")
    if any(abs(told - true) > 0.05 for true, told in result["shares"].values()):
        misses.append("shares")
    if result["checked"] < 1:
        misses.append("too few control steps")
    return "holds" if not misses else "DOES NOT HOLD: " + ", ".join(misses)


def print_table(results):
    print(f"{'program':<13}{'pairs':>6}{'unrecorded':>14}{'raw':>9}{'corrected':>11}"
          f"{'A/A band':>10}{'half-width':>12}{'covers':>8}{'sd':>7}{'with sd':>9}")
    for r in results:
        print(f"{r['program']:<13}{r['pairs']:>6}{r['unrecorded_ns'] / 1e6:>11.3f} ms"
              f"{r['raw_inflation']:>+9.2%}{r['corrected_error']:>+11.2%}{r['aa_band']:>10.2%}"
              f"{r['half_width']:>12.2%}{r['covered']:>8.0%}"
              f"{r['spread']:>7.2%}{r['covered_with_spread']:>9.0%}  {verdict(r)}")
    for r in results:
        for part, (true, told) in r["shares"].items():
            print(f"{r['program']:<13}{part:<10} {true:6.1%} of the step by its own stopwatch "
                  f"unrecorded, {told:6.1%} by the report")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--steps", type=int, help="of each run; default: enough for 20 blocks")
    parser.add_argument("-o", "--out", default=str(ROOT / "build" / "validate"))
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(PROGRAMS)
    if unknown or arguments.pairs < 1:
        parser.error(f"programs are {', '.join(PROGRAMS)}; pairs are at least 1")
    work = pathlib.Path(arguments.out)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    results = []
    for program in arguments.only.split(","):
        try:
            results.append(validate(program, arguments.pairs,
                                    arguments.steps or PROGRAMS[program][1], work))
        except Failed as failure:
            print(f"{program}: {failure}", file=sys.stderr)
        (work / "results.json").write_text(json.dumps(results, indent=1))
    print_table(results)
    return 0 if len(results) == len(arguments.only.split(",")) else 1


if __name__ == "__main__":
    sys.exit(main())
