"""Does `crosscut validate` say what blocks say? Ten programs, a line each.

    .venv/bin/python bench/validate_blocks.py [--pairs N] [--steps K] [--rounds R] [NAME...]

`crosscut validate` runs a program some times, recorded and not; blocks.py has both alive at once.
Both tell what recording cost a step by the program's own clock, and what is left of that in
corrected steps; NAME is a function of block_programs.py, which ends each step with
crosscut.step(). Each line has, as medians of steps:

    inflation  recorded by unrecorded - 1: validate's, give or take its A/A band; blocks', with its
               interval and what a second unrecorded arm differs by (A/A)
    error      corrected by unrecorded - 1: the same two; blocks' is the ratio by what the
               recording says that it cost
    answer     validate's (true, not true, not shown), and blocks' within the same 5 %

They agree where the intervals meet, and where no answer contradicts the other.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

import block_programs
import blocks
from crosscut import validation
from crosscut.validation import runs

PROGRAMS = ("mlp", "transformer", "dqn", "loader", "greenlets", "opencl", "ppo", "marks", "echo",
            "children")
STEPS = {"transformer": 1000, "loader": 2000, "greenlets": 1000, "ppo": 60, "children": 1500}
WITHIN = 0.05


def run_program(name, steps, times):
    """What `crosscut validate` runs: writes the median length of its steps to `times`."""
    step = blocks.ending_steps(getattr(block_programs, name)())
    edges = [time.perf_counter_ns()]
    for _ in range(steps):
        step()
        edges.append(time.perf_counter_ns())
    lengths = [b - a for a, b in zip(edges[blocks.WARM:], edges[blocks.WARM + 1:])]
    pathlib.Path(times).write_text(json.dumps({"step_median_ns": statistics.median(lengths)}))


def validated(name, pairs, steps):
    """validation.result_of() the program, and its answer in words."""
    python = blocks.ROOT / blocks.PYTHONS.get(name, ".venv") / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        times = f"{folder}/times.json"
        command = runs.Command([str(python), __file__, "--program", name, str(steps), times],
                               times=times, environment={"PYTHONPATH": str(blocks.PACKAGE)})
        result = validation.result_of(runs.measure(command, pairs), WITHIN)
    # Of the step alone: a program this short has a total that start and end decide.
    for words in ("misses", "not_shown"):
        if any(why.startswith("step") for why in result[words]):
            return result["step"], {"misses": "not true", "not_shown": "not shown"}[words]
    return result["step"], "true"


def by_blocks(name, rounds):
    """(inflation, low, high), (error, low, high), A/A; the medians of blocks' steps."""
    steps = blocks.STEPS.get(name, 100)
    with blocks.ran(name, ["plain", "plain", ""], rounds, steps, marked=True) as arms:
        cut = rounds // 4
        aa = blocks.ratio(arms[1], arms[0], 1, cut)
        ratio = blocks.ratio(arms[2], arms[0], 1, cut)
        said = arms[2].tables()[1]
    error = [value / said[0] - 1 for value in ratio] if said else None
    return [value - 1 for value in ratio], error, [value - 1 for value in aa]


def meet(middle, band, low, high, aa):
    more = max(abs(value) for value in aa)
    return low - more <= middle + band and middle - band <= high + more


def answer_of(error, aa):
    more = max(abs(value) for value in aa)
    if error is None:
        return "not known"
    if -WITHIN <= error[1] - more and error[2] + more <= WITHIN:
        return "true"
    if error[1] - more > WITHIN or error[2] + more < -WITHIN:
        return "not true"
    return "not shown"


def main():
    if sys.argv[1:2] == ["--program"]:
        name, steps, times = sys.argv[2:]
        return run_program(name, int(steps), times)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=PROGRAMS)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    for name in options.names:
        step, answer = validated(name, options.pairs, options.steps or STEPS.get(name, 6000))
        inflation, error, aa = by_blocks(name, options.rounds)
        band, blocks_answer = step["aa_band"], answer_of(error, aa)
        agree = meet(step["raw_inflation"], band, *inflation[1:], aa)
        agree &= error is None or meet(step["error"], band, *error[1:], aa)
        agree &= {answer, blocks_answer} != {"true", "not true"}
        print(f"{name}: inflation {step['raw_inflation']:+.1%} +- {band:.1%}, blocks "
              f"{inflation[0]:+.1%} [{inflation[1]:+.1%}, {inflation[2]:+.1%}], A/A {aa[0]:+.1%}; "
              f"error {step['error']:+.1%}, blocks "
              + (f"{error[0]:+.1%} [{error[1]:+.1%}, {error[2]:+.1%}]" if error else "not known")
              + f"; {answer}, blocks {blocks_answer}: {'agree' if agree else 'DIFFER'}", flush=True)


if __name__ == "__main__":
    main()
