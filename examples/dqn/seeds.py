"""Trains an agent from several seeds, one after the other, and prints docs/dqn.md's table of them.

Usage: seeds.py [--seeds 1,2,3,4,5] [--curves FOLDER] -- AGENT SETTINGS [NAME=VALUE]...
where AGENT SETTINGS is build/release/examples/dqn/dqn examples/dqn/cartpole.txt, say, or
.venv/bin/python examples/dqn/dqn.py ...
"""

import argparse
import pathlib
import re
import subprocess
import sys

RESULT = re.compile(r"seed (\d+): (\d+) steps in ([\d.]+) s; kept that of step (\d+); "
                    r"(-?[\d.]+) over (\d+) episodes")


def run(command, seed, curves):
    """The figures of one training: seed, steps, seconds, step kept, mean return, episodes."""
    command = [*command, f"seed={seed}"]
    if curves:
        curves.mkdir(parents=True, exist_ok=True)
        command.append(f"curve={curves / f'{seed}.csv'}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found = RESULT.search(done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"seeds.py: seed {seed} ended with status {done.returncode}:\n"
                         f"{done.stdout}")
    return found.groups()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--curves", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    print("| seed | environment steps | training, s | steps/s | step kept | "
          "mean return of the kept network | episodes |\n|---|---|---|---|---|---|---|")
    for seed in options.seeds.split(","):
        seed, steps, seconds, kept, mean, episodes = run(options.command, seed, options.curves)
        rate = int(steps) / float(seconds)
        print(f"| {seed} | {int(steps):,} | {seconds} | {rate:,.0f} | {int(kept):,} | {mean} | "
              f"{episodes} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
