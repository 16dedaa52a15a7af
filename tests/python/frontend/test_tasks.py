"""Operations that do not end in the order in which they began: tasks, greenlets, generators,
finalisers. Programs note the recorder's clock before and after each edge; what the tables say lies
between what these notes allow."""

import pytest
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
