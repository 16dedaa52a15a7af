"""Operations that do not end in the order in which they began: tasks, greenlets, generators,
finalisers. Programs note the recorder's clock before and after each edge; what the tables say lies
between what these notes allow."""

import collections
import json
import re
import sys

import crosscut
import pytest
from recording import PACKAGE, environment
from task_model import judge

TASKS = '''
draw = random.Random(int(sys.argv[2]))

async def work(me):
    own = []
    turn(me)
    for _ in range(12):
        busy()
        action = draw.random()
        if action < 0.4:
            own.append(draw.choice("abc") + str(draw.randrange(10)))
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
    turn(1)
    enter("lost", 1)
    busy()
    suspend()
    try: await asyncio.Event().wait()
    finally:
        turn(1)
        busy()
        leave("lost", 1)
        suspend()
async def main():
    task = asyncio.get_running_loop().create_task(opens())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    try: await task
    except asyncio.CancelledError: pass
    assert _record.open_depth() == 0
suspend()
asyncio.run(main())
turn(None)
enter("after"); busy(); leave("after")
finish()
''')
    spans = [row for row in run.table("spans").rows() if row["name"] == "lost"]
    assert all(row["parent"] is None for row in spans) and len(spans) >= 2


def test_what_a_task_leaves_open_goes_on_in_no_later_task_at_its_address(tmp_path):
    judge(tmp_path, '''
async def leaves():
    operation("left").__enter__()
    await asyncio.sleep(0)
    assert _record.open_depth() == 1
    return id(asyncio.current_task())
async def comes():
    assert _record.open_depth() == 0
    return id(asyncio.current_task())
async def main():
    at = await asyncio.create_task(leaves())
    later = [await asyncio.create_task(comes()) for _ in range(50)]
    assert at in later, "no task came to lie there"
asyncio.run(main())
counts["left"] = 1
finish()
''')


def test_executors_keep_their_own_operations(tmp_path):
    run = judge(tmp_path, '''
def elsewhere():
    with operation("elsewhere"): busy()
async def main():
    turn(1)
    enter("waits", 1)
    busy()
    suspend()
    await asyncio.get_running_loop().run_in_executor(None, elsewhere)
    turn(1)
    busy()
    leave("waits", 1)
    suspend()
suspend()
asyncio.run(main())
turn(None)
finish()
''')
    threads = {row["operation"] for row in run.table("threads").rows()}
    assert "elsewhere" in threads


def test_an_operation_that_another_thread_ends_is_told_of(tmp_path):
    run = judge(tmp_path, '''
import threading
def ended_elsewhere():
    leaves = operation("far")
    leaves.__enter__()
    thread = threading.Thread(target=leaves.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
for _ in range(2): ended_elsewhere()
enter("near"); busy(); leave("near")
counts["far"] = 2
finish()
''')
    messages = [row["message"] for row in run.table("gaps").rows()]
    assert len(messages) == 1 and messages[0].startswith("Source ends of operations missing in ")
    assert messages[0].endswith(
        ": 2 operations were ended by other threads than those that began them: they last until "
        "that thread next begins or ends one.")


def test_what_takes_no_weak_reference_ends_its_operations_with_its_callback(tmp_path):
    run = judge(tmp_path, '''
import threading
class Protocol:
    __slots__ = ()
    def begin(self):
        turn(1)
        enter("same", 1)
        busy()
        suspend()
        stacks[1].clear()
    def end(self): operation("same").__exit__(None, None, None)
begun, goes_on = threading.Event(), threading.Event()
def beside():
    with operation("same"):
        begun.set()
        goes_on.wait()
        with operation("part"): busy()
thread = threading.Thread(target=beside)
async def main():
    protocol, loop = Protocol(), asyncio.get_running_loop()
    loop.call_soon(protocol.begin)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    loop.call_soon(protocol.end)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
enter("around")
thread.start()
begun.wait()
suspend()
asyncio.run(main())
turn(None)
leave("around")
goes_on.set()
thread.join()
finish()
''')
    (part,) = [row for row in run.table("spans").rows() if row["name"] == "part"]
    (gap,) = [row["message"] for row in run.table("gaps").rows() if "callback" in row["message"]]
    assert part["parent"] is not None and "1 operation ended with the callback" in gap


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
            own.append(draw.choice("abc") + str(draw.randrange(10)))
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


LEAVES_TASKS_SUSPENDED = """
import asyncio, sys, threading, weakref
import crosscut

kept = []

def run():
    loop = asyncio.new_event_loop()

    async def waits():
        with crosscut.operation("waits"):
            loop.call_soon(loop.stop)
            await loop.create_future()

    kept.append((loop, loop.create_task(waits())))
    loop.run_forever()

def references():
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return weakref.getweakrefcount(kept[0][1])

assert crosscut.start(sys.argv[1], python="off", control_percent=0)
first = references()
assert references() == first - 1
assert crosscut.stop()
"""


def test_what_a_thread_leaves_suspended_is_let_go_of_by_the_next_one(recorder):
    script = recorder.script("leaves.py", LEAVES_TASKS_SUSPENDED)
    done = recorder.plain(sys.executable, script, recorder.run_dir,
                          env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert done.returncode == 0, done.stderr


STARTS_IN_A_TASK = """
import asyncio, sys
import crosscut
from crosscut import operation

run, sessions = sys.argv[1], int(sys.argv[2])

async def opens():
    await turn.wait()
    with operation("other"):
        turn.clear()

async def main():
    global turn
    turn = asyncio.Event()
    other = asyncio.create_task(opens())
    await asyncio.sleep(0)
    assert crosscut.start(run, python="off", control_percent=0), crosscut.error()
    with operation("waits"):
        turn.set()
        await other

for _ in range(sessions - 1):
    assert crosscut.start(run + "-before", python="off", control_percent=0)
    assert crosscut.stop()
asyncio.run(main())
assert crosscut.stop()
"""


@pytest.mark.parametrize("sessions", [1, 2])
def test_what_a_task_opens_behind_a_start_of_its_own_is_suspended_with_it(recorder, sessions):
    script = recorder.script("starts.py", STARTS_IN_A_TASK)
    done = recorder.plain(sys.executable, script, recorder.run_dir, str(sessions),
                          env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert done.returncode == 0, done.stderr
    spans = list(crosscut.read(recorder.run_dir).table("spans").rows())
    parents = {name: [row["parent"] for row in spans if row["name"] == name]
               for name in ("waits", "other")}
    assert len(parents["waits"]) >= 2 and set(parents["waits"] + parents["other"]) == {None}


IMPORTS_MEANWHILE = """
import sys, threading, types
import crosscut
assert crosscut.start(sys.argv[1])
sys.modules["crosscut._tasks"] = types.ModuleType("crosscut._tasks")  # the import has just begun
thread = threading.Thread(target=print, args=("ran",))
thread.start()
thread.join()
"""


def test_a_thread_may_start_while_another_brings_the_tasks_in(recorder):
    done = recorder.plain(sys.executable, recorder.script("meanwhile.py", IMPORTS_MEANWHILE),
                          recorder.run_dir, env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert (done.stdout, done.stderr) == ("ran\n", "")


CALLBACKS = """
import asyncio, functools
class Proxy:
    def __getattr__(self, name):
        print("asked for", name)
        raise AttributeError(name)
    def __call__(self): print("called")
class Looks:
    def __getattribute__(self, name):
        print("asks", name)
        return object.__getattribute__(self, name)
    def __call__(self): print("called")
    def bound(self): print("bound")
class Equal:
    __hash__ = None
    def __eq__(self, other): print("compared")
    def bound(self): print("bound")
async def main():
    loop = asyncio.get_running_loop()
    for callback in (Proxy(), Looks(), functools.partial(Proxy()), Equal().bound, print):
        loop.call_soon(callback)
        loop.call_later(0.001, callback)
    await asyncio.sleep(0.01)
asyncio.run(main())
"""


def test_a_callback_of_a_loop_is_asked_for_nothing_that_asyncio_does_not_ask(recorder):
    assert recorder.python(CALLBACKS) == recorder.plain(sys.executable, "-c", CALLBACKS).stdout


TRACED = """
import greenlet
seen = []
def traced(event, args):
    seen.append(event)
    if len(seen) == 5: raise KeyError("mine")
def turns():
    while True: greenlet.getcurrent().parent.switch()
other = greenlet.greenlet(turns)
print(greenlet.gettrace(), greenlet.settrace(traced), greenlet.gettrace() is traced)
other.switch()
print(greenlet.settrace(None) is traced, greenlet.gettrace(), greenlet.settrace(traced))
for _ in range(5):
    try: other.switch()
    except KeyError as error: seen.append(repr(error))
print(seen, greenlet.gettrace())  # whoever raises is called no more
for wrong in (), (1, 2):
    try: greenlet.settrace(*wrong)
    except TypeError as error: print(error)
print(greenlet.settrace, greenlet.gettrace, greenlet.settrace.__module__)
"""


def test_a_trace_function_of_the_programs_goes_on_and_may_fail(recorder):
    pytest.importorskip("greenlet")
    addresses = re.compile("0x[0-9a-f]+")
    seen = addresses.sub("", recorder.python(TRACED))
    assert seen == addresses.sub("", recorder.plain(sys.executable, "-c", TRACED).stdout)
    (row,) = [row for row in crosscut.read(recorder.run_dir).table("sources").rows()
              if row["name"] == "greenlets"]
    assert row["state"] == "missing" and row["message"].startswith("1 trace function")


# Each greenlet clocks its own turns, inside of its operation.
TAKING_TURNS = """
import _thread, concurrent.futures, json, sys, threading, time
import crosscut
own = {}
def work(name):
    begin = time.perf_counter_ns()
    time.sleep(0.05)
    own[name] = own.get(name, 0) + time.perf_counter_ns() - begin
def take_turns(number=""):
    import greenlet
    if SETS: greenlet.settrace(lambda *_: None)
    if SETS == "and takes away": greenlet.settrace(None)
    main = greenlet.getcurrent()
    def one():
        with crosscut.operation(f"one{number}"):
            work(f"one{number}"); two.switch(); work(f"one{number}")
        main.switch()
    def both():
        with crosscut.operation(f"two{number}"):
            work(f"two{number}"); work(f"two{number}"); first.switch()
    first, two = greenlet.greenlet(one), greenlet.greenlet(both)
    first.switch()
"""
WHERE = {
    "on the main thread": "take_turns()",
    "on a thread without an object": """
import greenlet
done = threading.Lock()
done.acquire()
def run():
    take_turns()
    done.release()
_thread.start_new_thread(run, ())
done.acquire()
""",
    "on threads that were there before the import": """
import concurrent.futures
there, imported = threading.Barrier(2), threading.Event()
def run(number):
    there.wait()
    if number == 0:
        import greenlet
        imported.set()
    imported.wait()
    take_turns(number)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(run, range(2)))
""",
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("sets", ["", "its own", "and takes away"])
def test_greenlets_are_followed_on_every_thread_whatever_the_program_traces(recorder, where, sets):
    pytest.importorskip("greenlet")
    text = f"SETS = {sets!r}\n" + TAKING_TURNS + WHERE[where] + "\nprint(json.dumps(own))"
    own = json.loads(recorder.python(text))
    found = collections.Counter()
    for row in crosscut.read(recorder.run_dir).table("threads").rows():
        found[row["operation"]] += row["ns"]
    assert len(own) == (4 if "before" in where else 2)
    for name, ns in own.items():
        assert found[name] >= ns - 100_000, (own, found)  # what clocks differ by
