"""Programs that note when what is open changes, and whether the tables say the same."""

import collections
import json
import os
import subprocess
import sys

import crosscut
from recording import PACKAGE, environment

# A model of what is open: `edge` carries out one edge and notes when, `running` says whose turn it
# is. Meanwhile the innermost one open of the running task counts, or of what is around all tasks.
MODEL = '''
import asyncio, gc, json, random, sys
import crosscut
from crosscut import _record, operation

now = _record.now
stacks, running, innermost, since = {None: []}, None, "", None
low, high, counts = {}, {}, {}

def settle(before, after):
    """The instant of a change: after `before`, before `after`."""
    global innermost, since
    if since is not None:
        low[innermost] = low.get(innermost, 0) + max(0, before - since[1])
        high[innermost] = high.get(innermost, 0) + after - since[0]
    since = (before, after)
    open_now = stacks[None] + (stacks.setdefault(running, []) if running is not None else [])
    innermost = open_now[-1] if open_now else ""

def edge(carry_out, change):
    before = now()
    carry_out()
    change()
    settle(before, now())

def enter(name, task=None):
    counts[name] = counts.get(name, 0) + 1
    edge(operation(name).__enter__, lambda: stacks.setdefault(task, []).append(name))

def leave(name, task=None):
    of = stacks[task]
    def change():
        place = len(of) - 1 - of[::-1].index(name)
        del of[place]
    edge(lambda: operation(name).__exit__(None, None, None), change)

def suspend():
    """What runs now is about to give way."""
    suspended.append(now())

def turn(task):
    """`task` runs; since the last suspension whatever changes tasks may have run, too."""
    global running
    for running in (None, task): settle(suspended[-1], now())

def busy(ticks=20_000):
    end = now() + ticks
    while now() < end: pass

def finish():
    settle(now(), now())
    # The whole program is the base of the rate: early on, one late reading of a clock spoils it.
    per_tick = _record.ns_per_tick()
    ns = lambda ticks: {name: value * per_tick for name, value in ticks.items()}
    print(json.dumps([ns(low), ns(high), counts]))

# The ring holds the whole program, however late the drain comes.
recorded = crosscut.start(sys.argv[1], plan="full", python="off", control_percent=0,
                          memory_mib=256)
assert recorded, crosscut.error()
settle(now(), now())
suspended = [now()]
'''


def run_script(folder, text, *args):
    """Runs it with the folder of its recording, `run`, and `args`; what it printed."""
    script = folder / "program.py"
    script.write_text(text)
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, script, folder / "run", *map(str, args)], timeout=120,
                          text=True, capture_output=True, env=environment(PYTHONPATH=path))
    assert done.returncode == 0, done.stderr
    return done.stdout


def judge(folder, program, *args):
    """Runs MODEL and `program`; compares the table `operations` with what it printed."""
    low, high, counts = json.loads(run_script(folder, MODEL + program, *args))
    read = crosscut.read(folder / "run")
    assert not list(read.table("drops").rows())
    seen, wall = collections.Counter(), collections.Counter()
    for row in read.table("operations").rows():
        seen[row["operation"]] += row["count"]
        wall[row["operation"]] += row["wall_ns"]
    for row in read.table("operation_parts").rows():  # what the model calls the innermost
        if row["part"]:
            seen[row["part"]] += row["count"]
            wall[row["part"]] += row["wall_ns"]
            wall[row["operation"]] -= row["wall_ns"]
    assert {name: count for name, count in seen.items() if name} == counts
    for name in counts.keys() & low.keys():
        slack = 1e-5 * high[name] + 1000  # of the clock's rate
        assert low[name] - slack <= wall[name] <= high[name] + slack, (
            name, wall, low, high, list(read.table("gaps").rows()))
    return read
