"""make validate: are corrected times true? `crosscut validate` on many programs.

Usage: validate.py [--pairs N] [--only NAME,...] [--write docs/validation.md] [-o build/validate]

NAME is a program or a suite. Suite `steps`: training loops with a stopwatch of their own; their
median step and, in it, the share of each part (data, forward, backward, optimizer) are compared,
too. Suite `rl`: reinforcement learning, from a fixed seed for a fixed number of steps. All are
recorded whole (--plan=full), so that there is most to correct. What the figures are and when a
result holds: docs/validation.md, whose table --write writes. Nothing here fails a build.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import textwrap
import time
from collections import defaultdict
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))

from crosscut import validation  # noqa: E402
from crosscut.validation import judge, runs  # noqa: E402

PARTS = ("data", "forward", "backward", "optimizer")
STEP_WITHIN = 0.02  # how far corrected steps may be off
MOST_HALF_WIDTH = 0.03
MOST_SHARE_APART = 0.05
# Of suite rl as a whole; each of its programs may be off by SUITES' part.
MOST_MEDIAN_ERROR = 0.02


@dataclass(frozen=True)
class Suite:
    pairs: int
    within: float  # how far corrected totals may be off


SUITES = {"steps": Suite(30, 0.05), "rl": Suite(10, 0.05)}


@dataclass(frozen=True)
class Program:
    suite: str
    words: str  # {NAME}: the Python of that environment; {times}: where the stopwatch writes
    options: tuple[str, ...] = ("--plan=full",)
    parts: tuple[str, ...] = ()  # operations that the stopwatch times as well


# Steps enough for 20 blocks of control steps, and short ones enough for MOST_HALF_WIDTH on a shared
# machine as well, whose noise makes one step tell little; of suite rl, as many as take 5 to 15 s.
PROGRAMS = {
    "train": Program("steps", "{.venv} examples/train.py --steps 480 --times {times}",
                     parts=PARTS),
    # These two make their data in the loop, which is no operation.
    "many_ops": Program("steps", "{.venv} examples/many_ops.py --steps 2000 --times {times}",
                        parts=PARTS[1:]),
    "heavy_python": Program("steps",
                            "{.venv} examples/heavy_python.py --steps 1500 --times {times}",
                            parts=PARTS[1:]),
    "DQN CartPole": Program("rl", "{.venv-rl} bench/rl/sb3.py dqn CartPole-v1 20000"),
    "A2C CartPole": Program("rl", "{.venv-rl} bench/rl/sb3.py a2c CartPole-v1 8000"),
    "PPO CartPole": Program("rl", "{.venv-rl} bench/rl/sb3.py ppo CartPole-v1 16384"),
    "SAC Pendulum": Program("rl", "{.venv-rl} bench/rl/sb3.py sac Pendulum-v1 1800"),
    "PPO Pong": Program("rl", "{.venv-rl} bench/rl/sb3.py ppo ALE/Pong-v5 8192",
                        ("--plan=full", "--wrap=ale_py:simulator")),
    "Keras DQN": Program("rl", "{.venv-tensorflow} bench/rl/keras_dqn.py 4000"),
    "C++ DQN": Program("rl", "build/release/examples/dqn/dqn examples/dqn/cartpole.txt "
                             "steps=100000 stop_at=1000 evaluate_period=100000 "
                             "evaluate_episodes=1 final_episodes=1"),
    "self-play": Program("rl", "{.venv} examples/rl/selfplay/selfplay.py --inference device"),
    "simulator-bound": Program("rl", "{.venv-rl} bench/rl/simulator_bound.py 20000"),
    "framework-bound": Program("rl", "{.venv} bench/rl/framework_bound.py 1200"),
}


# How often glibc gives the heap's top back hangs on what happens to lie there: the same training
# takes 300,000 or 700,000 page faults from run to run, and 10 % longer. Neither arm gives it back.
CALM_HEAP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
             "MALLOC_TOP_PAD_": str(64 << 20)}


def command_of(program, times):
    """The program as runs.Command. Raises runs.Failed where what it needs is not there."""
    words = [re.sub(r"^\{(\.venv[a-z-]*)\}$", r"\1/bin/python", word).replace("{times}", times)
             for word in program.words.split()]
    if not (ROOT / words[0]).exists():
        raise runs.Failed(f"{words[0]} is not there: tools/setup.sh tests")
    return runs.Command([str(ROOT / words[0]), *words[1:]], program.options,
                        times if "{times}" in program.words else None, str(ROOT), CALM_HEAP)


def shares_of(run):
    """Operation -> its part of the corrected time in the profiled steps."""
    by_process = defaultdict(list)
    for row in runs.table(run, "steps"):
        by_process[row["process"]].append(row)
    process, rows = max(by_process.items(), key=lambda item: len(item[1]))
    # The last step lasts until the process ends.
    profiled = sum(row["corrected_ns"] for row in rows[:-1] if not row["control"])
    return {row["operation"]: row["corrected_ns"] / profiled
            for row in runs.table(run, "operations") if row["process"] == process}


def shares_apart(parts, measured):
    """Part -> its share by the stopwatch of unrecorded runs, and by the report; medians."""
    return {part: (statistics.median(times[f"{part}_ns"] / times["step_sum_ns"]
                                     for times in measured.unrecorded_times),
                   statistics.median(run.looked.get(part, 0) for run in measured.recorded))
            for part in parts}


def validate(name, pairs, work):
    program = PROGRAMS[name]
    suite = SUITES[program.suite]
    measured = runs.measure(
        command_of(program, str(work / "times.json")), pairs or suite.pairs,
        look=shares_of if program.parts else None,
        say=lambda line: print(f"{name}: {line}", file=sys.stderr, flush=True))
    result = validation.result_of(measured, suite.within)
    result.update(program=name, suite=program.suite, shares=shares_apart(program.parts, measured))
    if program.suite == "steps":
        for of in ("misses", "not_shown"):
            result[of] = [words for words in result[of] if words.startswith("total")]
        result["misses"] += misses_of_steps(result)
        result["not_shown"] += [f"step: {words}" for words in judge.not_shown(
            judge.Summary(**result["step"]), result["pairs"], STEP_WITHIN)]
    else:
        covered = result["total"]["covered"]
        if covered < judge.LEAST_COVERAGE:
            result["misses"].append(f"total: intervals hold the truth in {covered:.0%}")
    result["holds"] = not result["misses"] and not result["not_shown"]
    return result


def misses_of_steps(result):
    step = judge.Summary(**result["step"])
    out = [f"step: {words}" for words in judge.misses(step, result["pairs"], STEP_WITHIN)]
    if step.half_width > MOST_HALF_WIDTH:
        out.append("step: half-width")
    if any(abs(told - true) > MOST_SHARE_APART for true, told in result["shares"].values()):
        out.append("shares")
    if result["checked"] < 1:
        out.append("too few control steps")
    return out


def verdict_of_suite(results):
    """Suite rl as a whole: a sentence, and whether it holds."""
    totals = [result["total"] for result in results]
    errors = [abs(total["error"]) for total in totals]
    half_width = statistics.median(total["half_width"] for total in totals)
    intervals = sum(result["pairs"] for result in results)
    covered, possible, with_spread = (
        sum(result["pairs"] * (result["total"][name] or 0) for result in results) / intervals
        for name in ("covered", "covered_unrecorded", "covered_with_spread"))
    held = sum(abs(total["error"]) <= total["half_width"] for total in totals)
    holds = (statistics.median(errors) <= MOST_MEDIAN_ERROR and half_width <= MOST_HALF_WIDTH and
             covered >= judge.LEAST_COVERAGE and all(result["holds"] for result in results))
    return (f"{len(results)} programs: error {statistics.median(errors):.2%} in the median, "
            f"{max(errors):.2%} at most; half-width {half_width:.2%} in the median, the error of "
            f"{held} programs is within theirs; "
            f"{covered:.0%} of {intervals} intervals hold the truth, unrecorded runs in their "
            f"place would in {possible:.0%}; {with_spread:.0%} do with the spread of runs: "
            f"{'holds' if holds else 'DOES NOT HOLD'}."), holds


COLUMNS = ("program", "of", "pairs", "unrecorded", "recorded", "corrected", "A/A band",
           "half-width", "holds", "unrecorded in it", "with spread", "verdict")


def rows_of(results):
    for result in results:
        for what in ("total", "step"):
            summary = result[what]
            if summary is None:
                continue
            cells = [validation.cell(name, summary[name]) for _, name in validation.LINES]
            yield [result["program"], what, str(result["pairs"]), *cells,
                   "; ".join([*result["misses"], *(f"not shown: {words}"
                                                    for words in result["not_shown"])]) or "holds"]


def as_text(results):
    rows = [COLUMNS, *rows_of(results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    for result in results:
        lines += [f"{result['program']}: {part} is {true:.1%} of the step by its own stopwatch "
                  f"unrecorded, {told:.1%} by the report"
                  for part, (true, told) in result["shares"].items()]
    return "\n".join(lines)


def as_markdown(results):
    """The table of docs/validation.md."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT,
                            capture_output=True, text=True).stdout.strip()
    lines = [f"Measured {time.strftime('%Y-%m-%d')} at {commit}, {os.cpu_count()} CPUs "
             f"({cpu_name()}), Python {platform.python_version()}.", "", CLAIM,
             "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows_of(results)]
    rl = [result for result in results if result["suite"] == "rl"]
    if rl:
        lines += ["", CLAIM, *textwrap.wrap(verdict_of_suite(rl)[0], 100)]
    shares = [(result["program"], part, *both) for result in results
              for part, both in result["shares"].items()]
    if shares:
        lines += ["", CLAIM, "| program | part | of the step by its own stopwatch, unrecorded | "
                  "by the report |", "|---|---|---|---|"]
        lines += [f"| {program} | {part} | {true:.1%} | {told:.1%} |"
                  for program, part, true, told in shares]
    return "\n".join(lines)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


CLAIM = "<!-- claim: validation -->"  # docs/claims.md
BEGIN, END = "<!-- written by make validate -->\n", "\n<!-- end -->"


def write_table(path, results):
    text = path.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path}: no place for the table, between {BEGIN.strip()} and "
                         f"{END.strip()}")
    path.write_text(head + begin + as_markdown(results) + end + tail, encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, help="of each program; default: 30 of suite steps, "
                                                  "10 of the others")
    parser.add_argument("--only", help="programs and suites, joined with commas; default: all")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE",
                        help="puts the table into this page")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=ROOT / "build" / "validate")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else list(SUITES)
    unknown = set(only) - set(PROGRAMS) - set(SUITES)
    if unknown or (arguments.pairs is not None and arguments.pairs < 1):
        parser.error(f"suites are {', '.join(SUITES)}; programs are {', '.join(PROGRAMS)}; pairs "
                     f"are at least 1")
    arguments.names = [name for name, program in PROGRAMS.items()
                       if name in only or program.suite in only]
    return arguments


def main():
    arguments = parse()
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    results = []
    for name in arguments.names:
        try:
            results.append(validate(name, arguments.pairs, arguments.out))
        except runs.Failed as failure:
            print(f"{name}: {failure}", file=sys.stderr)
        (arguments.out / "results.json").write_text(json.dumps(results, indent=1))
    print(as_text(results))
    rl = [result for result in results if result["suite"] == "rl"]
    if rl:
        print(verdict_of_suite(rl)[0])
    if len(results) < len(arguments.names):
        return 1
    if arguments.write:
        write_table(arguments.write, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
