"""Operations that do not end in the order in which they began: tasks, greenlets, generators,
finalisers. Programs note the recorder's clock before and after each edge; what the tables say lies
between what these notes allow."""

import os
import subprocess
import sys

import crosscut
import pytest
from recording import PACKAGE, environment

# A model of what is open: `edge` carries out one edge and notes when, `running` says whose turn it
# is. Meanwhile the innermost one open of the running task counts, or of what is around all tasks.
MODEL = '''
import asyncio, gc, json, random, sys
import crosscut
from crosscut import _record, operation

now, per_tick = _record.now, _record.ns_per_tick()
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
    ns = lambda ticks: {name: value * per_tick for name, value in ticks.items()}
    print(json.dumps([ns(low), ns(high), counts]))

assert crosscut.start(sys.argv[1], python="off", control_percent=0), crosscut.error()
settle(now(), now())
suspended = [now()]
'''

TASKS = '''
draw = random.Random(int(sys.argv[2]))

async def work(me):
    own = []
    turn(me)
    for _ in range(12):
        busy()
        action = draw.random()
        if action < 0.4:
            own.append(draw.choice("abc"))
            enter(own[-1], me)
        elif action < 0.6 and own:
            name = own.pop(draw.randrange(len(own)))
            leave(name, me)
        else:
            suspend()
            await (asyncio.sleep(0) if draw.random() < 0.8 else asyncio.sleep(0.0005))
            turn(me)
    busy()
    while own:
        leave(own.pop(), me)
        busy()
    suspend()

async def main():
    await asyncio.gather(*(work(me) for me in range(1, 4)))

enter("around")
suspend()
asyncio.run(main())
turn(None)
leave("around")
finish()
'''

GENERATORS = '''
class Held:
    """Closes its operation when it is thrown away."""
    def __init__(self, name): self.name = name; enter(name)
    def __del__(self): leave(self.name)

def items(name, count):
    enter(name)
    try:
        for i in range(count):
            busy()
            yield i
    finally:
        leave(name)

enter("epoch")
held = Held("held")
it = items("data", 3)
for i in it:
    enter("step"); busy(); leave("step")
    if i == 1: break
busy()
leave("epoch")      # "held" and "data" are open above it and go on
busy()
enter("late"); busy()
del held            # under "late" and "data"
busy()
it.close()
busy()
try:
    with operation("fails"): raise KeyError
except KeyError: counts["fails"] = 1
leave("late")
finish()
'''


def judge(folder, program, *args):
    """Runs MODEL and `program`; compares the table `operations` with what it printed."""
    import json
    script = folder / "program.py"
    script.write_text(MODEL + program)
    run = folder / "run"
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, script, run, *args], check=True, timeout=60, text=True,
                          capture_output=True, env=environment(PYTHONPATH=path))
    low, high, counts = json.loads(done.stdout)
    losses = list(crosscut.read(run).table("drops").rows())
    if losses:  # what is missing has no times to compare
        pytest.skip(f"the drain had no time on this machine: {losses}")
    table = crosscut.read(run).table("operations")
    rows = {row["operation"]: row for row in table.rows()}
    assert {name: row["count"] for name, row in rows.items() if name} == counts
    for name, row in rows.items():
        if name and name != "fails":  # the time outside is longer than what the program noted
            slack = 1e-5 * (high[name] - low[name]) + 1000  # of the clock's rate
            assert low[name] - slack <= row["wall_ns"] <= high[name] + slack, (
                name, low, high, list(crosscut.read(run).table("gaps").rows()))
    return crosscut.read(run)


@pytest.mark.parametrize("seed", range(20))
def test_what_a_task_has_open_counts_while_it_runs(tmp_path, seed):
    run = judge(tmp_path, TASKS, str(seed))
    assert not [row for row in run.table("gaps").rows() if "span" in row["message"]]


def test_generators_and_finalisers_may_end_operations_under_others(tmp_path):
    judge(tmp_path, GENERATORS)


def test_a_task_without_operations_is_none_of_anothers(tmp_path):
    judge(tmp_path, '''
async def opens():
    turn(1)
    enter("opens", 1)
    busy()
    suspend()
    await asyncio.sleep(0)
    turn(1)
    leave("opens", 1)
    suspend()
async def plain():
    turn(2)
    busy(2_000_000)
    suspend()
async def main(): await asyncio.gather(opens(), plain())
suspend()
asyncio.run(main())
turn(None)
finish()
''')


def test_a_task_that_is_thrown_away_closes_what_it_had_open(tmp_path):
    run = judge(tmp_path, '''
async def opens():
    with operation("lost"): await asyncio.Event().wait()
async def main():
    task = asyncio.get_running_loop().create_task(opens())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    try: await task
    except asyncio.CancelledError: pass
    assert _record.open_depth() == 0
asyncio.run(main())
counts["lost"] = 1
low["lost"], high["lost"] = 0, 1e15
enter("after"); busy(); leave("after")
finish()
''')
    spans = [row for row in run.table("spans").rows() if row["name"] == "lost"]
    assert all(row["parent"] is None for row in spans) and len(spans) >= 2


def test_executors_keep_their_own_operations(tmp_path):
    run = judge(tmp_path, '''
def elsewhere():
    with operation("elsewhere"): busy()
async def main():
    with operation("waits"):
        await asyncio.get_running_loop().run_in_executor(None, elsewhere)
asyncio.run(main())
counts["waits"] = 1
low["waits"], high["waits"] = 0, 1e15
finish()
''')
    threads = {row["operation"] for row in run.table("threads").rows()}
    assert "elsewhere" in threads


GREENLETS = '''
import greenlet
draw = random.Random(int(sys.argv[2]))
main = greenlet.getcurrent()

def switch(to):
    """To greenlet number `to`, 0 the first one; back here when it is our turn again."""
    me = running
    suspend()
    them[to].switch()
    turn(me)

def work(me):
    turn(me)
    own = []
    for _ in range(12):
        busy()
        action = draw.random()
        if action < 0.4:
            own.append(draw.choice("abc"))
            enter(own[-1], me)
        elif action < 0.6 and own:
            leave(own.pop(draw.randrange(len(own))), me)
        else:
            switch(0)
    while own: leave(own.pop(), me); busy()
    suspend()

running = 0
stacks[0] = []
them = {0: main, **{me: greenlet.greenlet(lambda me=me: work(me)) for me in (1, 2, 3)}}
enter("first", 0)
while any(not them[me].dead for me in (1, 2, 3)):
    switch(draw.choice([me for me in (1, 2, 3) if not them[me].dead]))
    busy()
leave("first", 0)
finish()
'''


@pytest.mark.parametrize("seed", range(5))
def test_what_a_greenlet_has_open_counts_while_it_runs(tmp_path, seed):
    pytest.importorskip("greenlet")
    judge(tmp_path, GREENLETS, str(seed))
