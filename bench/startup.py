"""What a program pays for being recorded before, and apart from, whatever it does: processor time
(user and system, of the program, its children and the recorder) of short programs, recorded beside
unrecorded, and of these beside each other (A/A).

    .venv/bin/python bench/startup.py [--rounds N] [--before DIR] [--option OPTION]... [PROGRAM]...

PROGRAM is empty, torch or children (twenty Pythons, one after the other). In each round the arms
run once, in an order of its own; what is added is the median over the rounds of the difference to
the unrecorded run of the same round, with its quartiles. DIR holds the package of another build,
which is one more arm. Prints one JSON line per arm and program.
Modules are kept compiled in a folder of the measurement's own, as an installed package has them.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "build" / "release" / "python"
CHILDREN = ("import subprocess, sys\n"
            "for _ in range(20): subprocess.run([sys.executable, '-c', 'pass'], check=True)")
PROGRAMS = {"empty": "pass", "torch": "import torch", "children": CHILDREN}


def processor_ms(command, environment):
    """Of the command and everything it has waited for."""
    pid = os.posix_spawn(command[0], command, environment, file_actions=[
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{command} ended with status {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def measure(program, arguments, work):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{work}/compiled"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    plain = [sys.executable, "-c", PROGRAMS[program]]
    arms = {"unrecorded": plain, "unrecorded again (A/A)": plain}
    for arm, package in {"recorded": PACKAGE, "recorded, before": arguments.before}.items():
        if package is not None:
            arms[arm] = [f"{package}/crosscut/bin/crosscut", "record", "-o", f"{work}/run",
                         *arguments.option, "--", *plain]
    found = {arm: [] for arm in arms}
    for number in range(arguments.rounds + 1):
        for arm in random.sample(list(arms), len(arms)):
            shutil.rmtree(f"{work}/run", ignore_errors=True)
            ms = processor_ms(arms[arm], environment)
            if number > 0:  # the first one compiles
                found[arm].append(ms)
    for arm, times in found.items():
        added = [ms - beside for ms, beside in zip(times, found["unrecorded"], strict=True)]
        low, median, high = statistics.quantiles(added, n=4)
        yield {"group": f"start: {program}", "name": arm, "ms": round(statistics.median(times), 1),
               "added_ms": round(median, 1), "q25": round(low, 1), "q75": round(high, 1)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--option", action="append", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for program in arguments.programs:
            for line in measure(program, arguments, work):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
