"""What PyTorch's adapter marks by itself, and scopes of record_function, where threads run tasks:
asyncio's and gevent's. Held against what the program notes of its own clock, as in test_tasks."""

import json

import crosscut
import pytest
from task_model import judge, run_script

pytest.importorskip("torch")

# A module whose forward gives way in the middle; what is around its call is told to the model.
NET = '''
import torch
from torch.profiler import record_function

class Inner(torch.nn.Module):
    def forward(self, x): return x + 1

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        global begun
        me = self.me
        stacks.setdefault(me, []).append(self.called)
        counts[self.called] = counts.get(self.called, 0) + 1
        settle(self.begun, now())
        busy()
        self.gives_way()
        x = self.inner(x)
        busy()
        self.ended = now()
        return x

def call(net, me, called="forward"):
    net.me, net.called, net.begun = me, called, now()
    net(torch.ones(2))
    stacks[me].remove(called)
    settle(net.ended, now())

def scope(name, me, body):
    """body() in a scope of record_function."""
    it = record_function(name)
    counts[name] = counts.get(name, 0) + 1
    edge(it.__enter__, lambda: stacks.setdefault(me, []).append(name))
    body()
    edge(lambda: it.__exit__(None, None, None), lambda: stacks[me].remove(name))
'''

GEVENT = NET + '''
from gevent import monkey
monkey.patch_all()
import gevent, time
draw = random.Random(int(sys.argv[2]))

def wait(me):
    suspend()
    time.sleep(draw.choice([0, 0.001, 0.002]))
    turn(me)

def serve(me):
    turn(me)
    net = Net()
    net.gives_way = lambda: wait(me)
    for _ in range(4):
        busy()
        if draw.random() < 0.5:
            call(net, me)
        else:
            scope("scope", me, lambda: (call(net, me), wait(me)))
    suspend()

running, stacks["first"] = "first", []
enter("around", "first")
suspend()
gevent.joinall([gevent.spawn(serve, me) for me in (1, 2, 3)])
turn("first")
leave("around", "first")
finish()
'''


@pytest.mark.parametrize("seed", range(3))
def test_a_forward_counts_while_its_greenlet_runs(tmp_path, seed):
    pytest.importorskip("gevent")
    run = judge(tmp_path, GEVENT, str(seed))
    assert counts_of(run, "nn.Module: ") == {"Net": 12, "Net.inner (Inner)": 12}
    # Forwards are steps here, and none of them is a control step.
    assert all("not checked against control steps" in row["message"]
               for row in run.table("gaps").rows())


def counts_of(run, prefix):
    return {row["name"].removeprefix(prefix): row["count"] for row in run.table("functions").rows()
            if row["name"].startswith(prefix)}


ASYNCIO = NET + '''
draw = random.Random(int(sys.argv[2]))

async def serve(me):
    turn(me)
    net = Net()
    net.gives_way = busy
    for _ in range(4):
        it = record_function("scope")
        counts["scope"] = counts.get("scope", 0) + 1
        edge(it.__enter__, lambda: stacks.setdefault(me, []).append("scope"))
        call(net, me)
        suspend()
        await asyncio.sleep(draw.choice([0, 0, 0.001]))
        turn(me)
        call(net, me)
        edge(lambda: it.__exit__(None, None, None), lambda: stacks[me].remove("scope"))
        busy()
    suspend()

async def main():
    await asyncio.gather(*(serve(me) for me in (1, 2, 3)))

class Loop(Net):
    """A loop of tasks inside a forward: what they call belongs to it."""
    def gives_way(self):
        inner = Net()
        async def calls():
            busy()
            await asyncio.sleep(0)
            inner.inner(torch.ones(2))
        async def both(): await asyncio.gather(calls(), calls())
        asyncio.run(both())

suspend()
asyncio.run(main())
turn(None)
call(Loop(), None)
finish()
'''


@pytest.mark.parametrize("seed", range(3))
def test_scopes_and_forwards_in_tasks_count_while_theirs_run(tmp_path, seed):
    run = judge(tmp_path, ASYNCIO, str(seed))
    assert not [row for row in run.table("gaps").rows() if "span" in row["message"]]


# Calls that give way to each other in any order, each turn of which is part of one call alone: what
# it takes lies between what the call notes inside the turn and what the switch takes around it.
TURNS = '''
import greenlet, json, random, sys, torch
import crosscut
from crosscut import _record
now, draw, main = _record.now, random.Random(int(sys.argv[2])), greenlet.getcurrent()

class Net(torch.nn.Module):
    def forward(self, x):
        for _ in range(draw.randrange(4)):
            since = now()
            while now() < since + draw.choice([1_000, 50_000, 500_000]): pass
            greenlet.getcurrent().inside += now() - since
            main.switch()
        return x

def serve(net):
    for _ in range(5):
        it = greenlet.getcurrent()
        it.inside = it.around = 0
        net(torch.ones(1))
        calls.append(it)
        main.switch()

net, calls, low, high = Net(), [], [], []
assert crosscut.start(sys.argv[1], plan="full", python="off", control_percent=0), crosscut.error()
them = [greenlet.greenlet(serve) for _ in range(4)]
for one in them: one.inside = one.around = 0
while them:
    one = draw.choice(them)
    since = now()
    one.switch(*([] if one else [net]))
    one.around += now() - since
    if calls:
        low.append(one.inside)
        high.append(one.around)
        calls.clear()
    if one.dead: them.remove(one)
print(json.dumps([sorted(t * _record.ns_per_tick() for t in times) for times in (low, high)]))
'''


@pytest.mark.parametrize("seed", range(4))
def test_each_call_that_gives_way_has_its_own_turns(tmp_path, seed):
    pytest.importorskip("greenlet")
    low, high = json.loads(run_script(tmp_path, TURNS, seed))
    read = crosscut.read(tmp_path / "run")
    (calls,) = [row for row in read.table("functions").rows() if row["name"] == "nn.Module: Net"]
    assert calls["count"] == len(low) == 20
    for column, rank in (("min_ns", 0), ("p50_ns", 9), ("max_ns", 19)):
        slack = 1e-4 * high[rank] + 1000
        assert low[rank] - slack <= calls[column] <= high[rank] + slack, (column, low, high, calls)
    assert not [row for row in read.table("gaps").rows() if "suspended" in row["message"]]
