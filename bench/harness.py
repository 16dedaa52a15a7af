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
# CPU time of this thread: for loops that never wait, the same as wall time on a quiet machine, and
# what it would have been on a busy one.
cpu_ns = time.thread_time_ns


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


def interleave(group: str, variants: dict[str, Callable[[], float]], rounds: int,
               warm: bool = True) -> list[Line]:
    """Runs each variant (returns ns per item) once per round; ratios are to the first variant.
    `warm`: once more before, uncounted."""
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
