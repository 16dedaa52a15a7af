"""What a step plan adds to training steps: the mean over all steps, switches and all.

Usage: plans.py PLAN ROUNDS RUN. Starts a session of its own with that plan in RUN and
prints one JSON line per program: stretches of steps inside the session and stretches in a pause,
in turn (ABBA), and the ratio of their mean steps. The pauses call no crosscut.step(), so the edges
count as ours. PLAN "none" measures pauses against pauses; "torch.profiler" that profiler.
"""

import pathlib
import shutil
import statistics
import sys

import torch

import crosscut
import harness
from plans_programs import PROGRAMS

GROUP = 120  # steps: a group of the balanced plan past the early ones


def stretch(body, count, mark):
    """Mean CPU time of `count` steps."""
    begin = harness.cpu_ns()
    for _ in range(count):
        if mark:
            crosscut.step()
        body()
    return (harness.cpu_ns() - begin) / count


def recorded(plan, body, count):
    if plan == "none":
        return stretch(body, count, False)
    if plan == "torch.profiler":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            return stretch(body, count, False)
    crosscut.resume()
    try:
        return stretch(body, count, True)
    finally:
        crosscut.pause()


def compare(name, plan, rounds):
    make, _ = PROGRAMS[name]
    body, count = make(), GROUP
    stretch(body, count, False)
    recorded(plan, body, 7 * count)  # past the early groups, which are denser
    plain, ours, ratios = [], [], []
    for i in range(rounds):
        arms = [lambda: plain.append(stretch(body, count, False)),
                lambda: ours.append(recorded(plan, body, count))]
        for arm in arms if i % 2 == 0 else arms[::-1]:
            arm()
        ratios.append(ours[-1] / plain[-1])
    q25, q50, q75 = harness.quartiles(ratios)
    added = statistics.median(a - b for a, b in zip(ours, plain))
    return harness.Line(f"plan: {name}", plan, statistics.median(ours), q50, q25, q75, rounds,
                        added)


def main():
    plan, rounds, run = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    session = plan not in ("none", "torch.profiler")
    if session:
        shutil.rmtree(run, ignore_errors=True)
        if not crosscut.start(run, plan=plan):
            sys.exit(crosscut.error())
        crosscut.pause()
    for name in PROGRAMS:
        print(compare(name, plan, rounds).to_json(), flush=True)
    if session:
        crosscut.resume()
        crosscut.stop()


if __name__ == "__main__":
    main()
