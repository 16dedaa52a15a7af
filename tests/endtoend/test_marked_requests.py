"""Requests that the program marks itself: how many, how long, and how long they ran."""

import json

import pytest
from runs import record_script
from test_requests import HEAD, QUANTILES, requests_of

MARKED = """
import asyncio, crosscut
async def ask(i):
    with crosscut.request("odd" if i % 2 else "even"):
        with Timed("odd" if i % 2 else "even"): await asyncio.sleep(0.003)
async def main(): await asyncio.gather(*map(ask, range(40)))
asyncio.run(main())
with crosscut.request("work"), Timed("work"):
    while time.thread_time() < 0.3: pass
finish()
"""


def test_a_program_marks_requests_itself(tmp_path):
    result = record_script(tmp_path / "run", HEAD + MARKED)
    handled = json.loads(result.stdout)
    rows = requests_of(tmp_path / "run")
    assert {name: row["count"] for name, row in rows.items()} == {"odd": 20, "even": 20, "work": 1}
    assert handled.keys() == rows.keys()
    for name, times in handled.items():
        assert rows[name]["p50_ns"] >= QUANTILES["p50_ns"](times)
    assert rows["odd"]["running_ns"] < rows["odd"]["waiting_ns"]
    assert rows["work"]["running_ns"] <= rows["work"]["max_ns"]
    assert rows["work"]["waiting_ns"] < rows["work"]["max_ns"]


HANDED_ON = """
import asyncio, crosscut
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
async def begins(): return crosscut.request("of two tasks").__enter__()
async def ends(queue):
    work(0.02)
    request = await queue.get()
    await asyncio.sleep(0.001)
    request.__exit__(None, None, None)
async def main():
    queue = asyncio.Queue()
    task = asyncio.create_task(ends(queue))
    queue.put_nowait(await asyncio.create_task(begins()))
    await task
asyncio.run(main())
begun = []
def begin(): begun.append(crosscut.request("of two threads").__enter__())
def end():
    work(0.05)
    time.sleep(0.1)
    begun.pop().__exit__(None, None, None)
for target in (begin, end):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
"""


def test_who_worked_for_a_request_is_not_known_where_another_ends_it(tmp_path):
    result = record_script(tmp_path / "run", HEAD + HANDED_ON)
    assert result.returncode == 0, result.stderr
    rows = requests_of(tmp_path / "run")
    assert {name: row["running_ns"] for name, row in rows.items()} == {
        "of two tasks": "", "of two threads": ""}


TURNS = """
import crosscut
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def job(name, seconds, rounds):
    with crosscut.request(name):
        for _ in range(rounds):
            work(seconds)
            yield
def take_turns(*jobs):
    jobs = list(jobs)
    while jobs:
        for job in list(jobs):
            if next(job, self) is self: jobs.remove(job)
self = object()
take_turns(job("ends first", 0.001, 10), job("begins last", 0.02, 10))
take_turns(job("is around", 0.001, 10), job("is within", 0.02, 5))
take_turns(job("alone", 0.01, 3))
def inner():
    with crosscut.request("inner"): work(0.02)
with crosscut.request("outer"):
    inner()
    with crosscut.request("in one function"): work(0.02)
with crosscut.request("in which a generator goes on"):
    for _ in job("of a generator", 0.001, 3): work(0.01)
"""

GREENLETS = """
import gevent, socketserver, crosscut
class Answer(socketserver.BaseRequestHandler):
    def handle(self): gevent.sleep(0)
def job(name, rounds):
    with crosscut.request(name):
        for _ in range(rounds): gevent.sleep(0)
jobs = [gevent.spawn(job, "around", 9), gevent.spawn(job, "within", 3)]
jobs += [gevent.spawn(Answer, None, None, None) for _ in range(2)]
gevent.joinall(jobs)
"""


@pytest.mark.parametrize(("text", "known"), [
    (TURNS, {"alone", "inner", "outer", "in one function", "in which a generator goes on"}),
    (GREENLETS, set()),
], ids=["generators", "greenlets"])
def test_how_long_a_request_ran_is_not_known_where_others_ran_meanwhile(tmp_path, text, known):
    if "gevent" in text:
        pytest.importorskip("gevent")
    result = record_script(tmp_path / "run", HEAD + text)
    assert result.returncode == 0, result.stderr
    rows = requests_of(tmp_path / "run")
    assert {name for name, row in rows.items() if row["running_ns"] != ""} == known
    assert len(rows) == (len(known) + 5 if known else 3)
    if known:
        assert rows["inner"]["running_ns"] < rows["outer"]["running_ns"]


# As where a loop runs in a task's slice (nest_asyncio).
NESTED = """
import asyncio, crosscut
async def inner(): pass
async def main():
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    with crosscut.request("outer"):
        await asyncio.sleep(0.3)
        loop.create_task(inner())
        asyncio.tasks._leave_task(loop, me)
        loop._ready.popleft()._run()
        asyncio.tasks._enter_task(loop, me)
asyncio.run(main())
"""


def test_a_slice_in_a_slice_does_not_lengthen_it(tmp_path):
    result = record_script(tmp_path / "run", NESTED)
    assert result.returncode == 0, result.stderr
    outer = requests_of(tmp_path / "run")["outer"]
    assert outer["waiting_ns"] >= 290_000_000
