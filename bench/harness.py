"""Interleaved measurement for Python: rounds of all variants in random order, ratios per round."""

import dataclasses
import json
import random
import statistics
import subprocess
import sys
import time
from typing import Callable

wall_ns = time.perf_counter_ns
# Processor time of the whole process: what a recorder leaves to a thread of its own (as Crosscut
# its packing) is its cost as well as what it does on the calling one.
cpu_ns = time.process_time_ns
SETTLED = 0.15  # seconds in which a recorder's threads have done what a block left to them


@dataclasses.dataclass
class Line:
    """One line of the benchmark table. Times are per item, in nanoseconds."""

    group: str
    name: str
    ns: float
    ratio: float
    ratio_q25: float
    ratio_q75: float
    rounds: int
    added_ns: float  # median over rounds of (this - the first variant)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    q25, q50, q75 = statistics.quantiles(values, n=4, method="inclusive")
    return q25, q50, q75


def per_item(body: Callable[[], object], count: int) -> Callable[[], float]:
    """A variant: processor time of one of the `count` items of body(), in ns."""
    def measure():
        begin = cpu_ns()
        body()
        return (cpu_ns() - begin) / count
    measure.count = count
    return measure


def settled(variant: Callable[[], float], count: int) -> Callable[[], float]:
    """The same with what the process's other threads do behind it."""
    def measure():
        ns = variant()
        begin = cpu_ns()
        time.sleep(SETTLED)
        return ns + (cpu_ns() - begin) / count
    return measure


def interleave(group: str, variants: dict[str, Callable[[], float]], rounds: int,
               warm: bool = True, count: int = 0) -> list[Line]:
    """Runs each variant (returns ns per item) once per round; ratios are to the first variant.
    `warm`: once more before, uncounted. `count`: items of a block, where the variants tell
    processor time: what other threads do behind a block counts to it."""
    if count:
        variants = {name: settled(variant, count) for name, variant in variants.items()}
    names = list(variants)
    for name in names if warm else ():
        variants[name]()
    ns: dict[str, list[float]] = {name: [] for name in names}
    generator = random.Random(12345)
    for _ in range(rounds):
        for name in generator.sample(names, len(names)):
            ns[name].append(variants[name]())
    lines = []
    for name in names:
        ratios = [a / b for a, b in zip(ns[name], ns[names[0]])]
        q25, q50, q75 = quartiles(ratios)
        added = statistics.median(a - b for a, b in zip(ns[name], ns[names[0]]))
        lines.append(Line(group, name, statistics.median(ns[name]), q50, q25, q75, rounds, added))
    return lines


# What a process shares with its parent before it becomes another program counts as its own: it is
# started by a shell, which is small, and which leaves it to us.
MEASURED = """
import ctypes, json, os, subprocess, sys, tempfile, time
assert ctypes.CDLL(None).prctl(36, 1) == 0  # PR_SET_CHILD_SUBREAPER: we inherit it
with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as trouble:
    begin = time.perf_counter()
    shell = subprocess.Popen(["sh", "-c", '"$@" &', "sh", *sys.argv[1:]], stdout=out,
                             stderr=trouble)
    while True:
        pid, status, usage = os.wait4(-1, 0)
        if pid != shell.pid:
            break
    seconds = time.perf_counter() - begin
    out.seek(0)
    trouble.seek(0)
    print(json.dumps([seconds, usage.ru_maxrss / 1024, out.read(),
                      os.waitstatus_to_exitcode(status), trouble.read()]))
"""


def measured(command, expected=(0,)):
    """Seconds, MiB at most, what it printed, and its exit status, one of those expected."""
    out = subprocess.run([sys.executable, "-c", MEASURED, *map(str, command)],
                         capture_output=True, text=True, check=True).stdout
    seconds, mib, said, status, trouble = json.loads(out)
    if status not in expected:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {status}: {trouble}")
    return seconds, mib, said, status
