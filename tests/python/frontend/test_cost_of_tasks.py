"""What following the turns of tasks and greenlets costs, and that measuring it changes nothing."""

import collections
import json
import sys

import crosscut
import pytest
from recording import COMMAND

SLICES = """
import asyncio, contextvars
async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)
asyncio.run(turns(6400))
for _ in range(6400): contextvars.copy_context().run("".upper)  # no loop's
"""


def test_the_turns_of_tasks_are_in_what_recording_cost(recorder):
    recorder.python(SLICES)
    rows = crosscut.read(recorder.run_dir).table("overhead").rows()
    counts = {row["probe"]: (row["count"], row["total_ns"]) for row in rows}
    count, cost = counts["operations of tasks (64 slices)"]
    assert count == 100 and cost > 0


FOLLOWED = """
import asyncio
async def turn():
    await asyncio.sleep(0)
async def main():
    for _ in range(100):
        await asyncio.gather(*[turn() for _ in range(64)])
asyncio.run(main())
"""


def test_following_tasks_is_in_what_recording_cost_and_changes_no_request(recorder):
    recorder.python(FOLLOWED)
    run = crosscut.read(recorder.run_dir)
    counts = {row["probe"]: (row["count"], row["total_ns"])
              for row in run.table("overhead").rows()}
    # Of slices those that are not a task's last: one of each turn, and a hundred of main().
    for kind, marks in (("tasks", 6401 // 64), ("slices", 6500 // 64)):
        count, cost = counts[f"requests of tasks (64 {kind})"]
        assert count == marks and cost > 0, kind
    turns = [row for row in run.table("requests").rows() if row["request"] == "turn"]
    assert [(row["count"], row["open"]) for row in turns] == [(6400, 0)]


IN_STEPS = """
import asyncio
import crosscut
from crosscut import _record
from crosscut.adapters import requests
loop = asyncio.new_event_loop()
async def turn():
    await asyncio.sleep(0)
async def call():
    await asyncio.sleep(0)
    assert _record.task_is(requests.name("called"))
for _ in range(200):
    crosscut.step()
    loop.run_until_complete(turn())
    loop.run_until_complete(call())
crosscut.step_end()
"""


def test_tasks_in_control_steps_are_left_out_unless_they_are_requests(recorder):
    done = recorder.record(sys.executable, "-c", IN_STEPS, flags=("--plan=control=50",))
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    exported = recorder.folder / "trace.json"
    recorder.plain(COMMAND, "export", recorder.run_dir, "--to=chrome", "-o", exported)
    names = collections.Counter(event["name"] for event in json.loads(
        exported.read_text())["traceEvents"])
    profiled = sum(not row["control"] for row in run.table("steps").rows())
    assert 0 < names["turn"] == profiled < 200
    requests = {row["request"]: (row["count"], row["open"]) for row in run.table("requests").rows()}
    assert requests == {"called": (200, 0)}


SWITCHES = """
import greenlet
def turns():
    while True: greenlet.getcurrent().parent.switch()
other = greenlet.greenlet(turns)
for _ in range(3200): other.switch()
"""


def test_the_turns_of_greenlets_are_in_what_recording_cost(recorder):
    pytest.importorskip("greenlet")
    recorder.python(SWITCHES)
    rows = crosscut.read(recorder.run_dir).table("overhead").rows()
    counts = {row["probe"]: (row["count"], row["total_ns"]) for row in rows}
    count, cost = counts["operations of tasks (64 switches)"]
    assert count == 100 and cost > 0


COLLECTED = """
import gc
import crosscut, greenlet
class Bin:
    def __init__(self): self.me = self
    def __del__(self):
        for _ in range(20000):
            with crosscut.operation("in a finalizer"): pass
def turns():
    while True: greenlet.getcurrent().parent.switch()
other = greenlet.greenlet(turns)
gc.disable()
gc.set_threshold(THRESHOLD)
for _ in range(30): other.switch()
gc.collect()
Bin()
gc.enable()
for _ in range(3): other.switch()
gc.disable()
"""


@pytest.mark.parametrize("threshold", range(3, 7))
def test_garbage_may_be_collected_while_turns_are_measured(recorder, threshold):
    pytest.importorskip("greenlet")
    recorder.python(COLLECTED.replace("THRESHOLD", str(threshold)))
    if sys.version_info >= (3, 12):
        return  # it is collected between two lines of the program
    rows = {row["operation"]: row["count"]
            for row in crosscut.read(recorder.run_dir).table("operations").rows()}
    assert rows["in a finalizer"] == 20000
