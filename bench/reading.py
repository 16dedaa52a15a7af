"""What the reading half takes of a processor beside another build of it: import, export, tables,
report and diff of the same inputs, by both in turn.

    .venv/bin/python bench/reading.py --before DIR [--now DIR] [--rounds N] [--spans N] [WORD]...

Each DIR is a build directory; ours is build/release unless --now names another. WORD chooses the
commands that have it in their name. In each round the arms run once, in an order of its own: ours,
the other, and ours again (A/A). What a command takes is user and system time of its whole process;
its ratio is the median over the rounds of that to the other's in the same round, with its 95 %
interval (by ranks). One JSON line a command. Where the outputs differ in size it has both sizes.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import kineto_trace

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build" / "release"
ARROW = ("import sys, crosscut\n"
         "run = crosscut.read(sys.argv[1])\n"
         "for name in ('spans', 'functions', 'operators'): run.table(name).to_arrow()")
TABLES = ("overlap", "functions", "spans", "critical_path", "verdict")


def processor_ms(command, environment):
    """Of the command and everything it has waited for."""
    pid = os.posix_spawn(command[0], command, environment, file_actions=[
        (os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_WRONLY, 0) for file in (1, 2)])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: diff found something
        sys.exit(f"{command} ended with status {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def inputs(work, spans):
    """A run without steps, another one, one of many processes, and Kineto's JSON, with operators,
    arrows and devices, which is an XSpace, too."""
    make = BUILD / "bench" / "make_run"
    for name, shape in {"run": ["random", "4", "1"], "processes": ["random", "2", "8"],
                        "other": ["random", "4", "1"]}.items():
        subprocess.run([make, f"{work}/{name}", str(spans), *shape], check=True)
    kineto_trace.write_trace(f"{work}/kineto.json.gz", spans // 2, level=1)
    subprocess.run([BUILD / "python" / "crosscut" / "bin" / "crosscut", "export",
                    f"{work}/kineto.json.gz", "--to=xspace", "-o", f"{work}/kineto.xplane.pb"],
                   check=True)


def commands(work):
    """Words after the program, by name; {out} is an output that is removed before each."""
    for name in ("kineto.json.gz", "kineto.xplane.pb"):
        yield f"import {name}", ["import", f"{work}/{name}", "-o", "{out}"]
    for name in ("run", "kineto.json.gz"):
        for form in ("chrome", "perfetto", "xspace"):
            yield f"export {name} --to={form}", ["export", f"{work}/{name}", f"--to={form}", "-o",
                                                 "{out}"]
        yield f"Arrow of {name}", [sys.executable, "-c", ARROW, f"{work}/{name}"]
        for table in TABLES:
            yield f"table {name} {table}", ["table", f"{work}/{name}", table, "-o", "{out}"]
    for name in ("run", "processes", "kineto.json.gz"):
        yield f"report {name}", ["report", f"{work}/{name}"]
        yield f"report {name} as a page", ["report", f"{work}/{name}", "--format=html", "-o",
                                           "{out}"]
    yield "diff", ["diff", f"{work}/run", f"{work}/other"]
    yield "info", ["info", f"{work}/kineto.json.gz"]


def interval(values):
    """The median with the order statistics that hold it in 95 of 100 cases (by the normal
    approximation of the sign test)."""
    values = sorted(values)
    away = 0.98 * len(values) ** 0.5
    middle = (len(values) - 1) / 2
    low, high = max(0, int(middle - away)), min(len(values) - 1, int(middle + away + 1))
    return statistics.median(values), values[low], values[high]


def size(path):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(path)
               for name in names) if os.path.isdir(path) else (
                   os.path.getsize(path) if os.path.exists(path) else 0)


def measure(words, arms, work, rounds):
    ms, sizes = {arm: [] for arm in arms}, {}
    out = f"{work}/out"
    for number in range(rounds + 1):
        for arm in random.sample(list(arms), len(arms)):
            shutil.rmtree(out, ignore_errors=True)
            pathlib.Path(out).unlink(missing_ok=True)
            package = arms[arm] / "python"
            line = [out if word == "{out}" else word for word in words]
            if line[0] != sys.executable:
                line.insert(0, str(package / "crosscut" / "bin" / "crosscut"))
            took = processor_ms(line, {**os.environ, "PYTHONPATH": str(package)})
            sizes[arm] = size(out)
            if number > 0:  # the first one fills the file system's cache
                ms[arm].append(took)
    return ms, sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--before", type=pathlib.Path, required=True)
    parser.add_argument("--now", type=pathlib.Path, default=BUILD)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--spans", type=int, default=1_000_000)
    arguments = parser.parse_args()
    now = arguments.now.resolve()
    arms = {"before": arguments.before.resolve(), "now": now, "again": now}
    with tempfile.TemporaryDirectory() as work:
        inputs(work, arguments.spans)
        for name, words in commands(work):
            if arguments.words and not any(word in name for word in arguments.words):
                continue
            ms, sizes = measure(words, arms, work, arguments.rounds)
            line = {"group": "reading", "name": name}
            for arm, times in ms.items():
                line[f"{arm}_ms"] = round(statistics.median(times), 1)
            for ratio, one, other in (("ratio", "now", "before"), ("a_a", "again", "now")):
                line[ratio] = [round(value, 3) for value in interval(
                    [a / b for a, b in zip(ms[one], ms[other], strict=True)])]
            if sizes["before"] != sizes["now"]:
                line["sizes"] = [sizes["before"], sizes["now"]]
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
