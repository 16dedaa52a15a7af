"""Steps and operations that are found by calls, as adapters of compiling frameworks find them."""

import json
import random
import subprocess
import sys

import crosscut
import pytest
from recording import PACKAGE, environment

HEAD = """
import crosscut, sys
from crosscut import _record, operation
assert crosscut.start(sys.argv[1], python="off", control_percent=0), crosscut.error()
"""

UPDATERS = """
class Updater: pass
a, b = Updater(), Updater()
passed, guessed = _record.update_passed, _record.update_guessed
"""

FUNCTIONS = """
import ctypes, types, weakref
on, word = ctypes.c_int32(1), ctypes.c_int32(0)
@ctypes.CFUNCTYPE(ctypes.c_void_p)
def of_thread():
    return ctypes.addressof(word)
inside = ctypes.cast(of_thread, ctypes.c_void_p).value
def told_of(function, before, after, inside=0):
    return _record.around(function, None, ctypes.addressof(on), inside=inside, always=True,
                          before=before, after=after)
thread = types.SimpleNamespace(is_eager=True)
context = types.SimpleNamespace(_context=types.SimpleNamespace(_thread_local_data=thread))
asked = []
def updated_by(graph):
    asked.append(graph.function)
    return tuple(map(weakref.ref, graph.updaters))
def tell():
    return types.SimpleNamespace(**{one.__name__: one for one in _record.compiled_functions(
        *map(operation, ("compile", "train_step", "optimizer")), context, ctypes.addressof(on),
        updated_by, lambda optimizer: thread.graph.updaters.append(optimizer))})
tells = tell()
class Optimizer:
    def apply(self, **_): pass
Optimizer.apply = told_of(Optimizer.apply, tells.update_begins, tells.update_ends, inside)
optimizer = Optimizer()
class Graph:
    def __init__(self, function, named):
        self.function, self.updaters, thread.graph, thread.is_eager = function, [], self, False
        try:
            function(**named)
        finally:
            thread.is_eager = True
    def __call__(self): pass
class Compiled:
    def __init__(self, function):
        self.function, self.graphs = function, {}
    def __call__(self, **named):
        key = tuple(named)
        if key not in self.graphs:
            self.graphs[key] = Graph(self.function, named)
        self.graphs[key]()
plain = Graph.__call__, Compiled.__call__
Graph.__call__ = told_of(Graph.__call__, tells.graph_begins, tells.graph_ends)
Compiled.__call__ = told_of(Compiled.__call__, tells.call_begins, tells.call_ends)
"""


def operations(folder, body):
    """Runs `body` inside a session; {operation: count} of it."""
    script = folder / "program.py"
    script.write_text(HEAD + body)
    subprocess.run([sys.executable, script, folder / "run"], check=True, timeout=60,
                   env=environment(PYTHONPATH=str(PACKAGE.parent)))
    table = crosscut.read(folder / "run").table("operations")
    return {row["operation"]: row["count"] for row in table.rows() if row["operation"]}


def steps(folder):
    return list(crosscut.read(folder / "run").table("steps").rows())


@pytest.mark.parametrize(("program", "count"), [
    ("for _ in range(10): passed(a), passed(b)", 10),
    ("for _ in range(10): passed(a, None, True)", 0),
    ("for _ in range(4): passed(a)\ndel a\nfor _ in range(4): passed(b)", 8),
    ("passed(a)\nfor _ in range(20): passed(b)", 1 + 18),
    ("for _ in range(4): guessed(a)\nfor _ in range(10): passed(b), guessed(a)", 4 + 10),
    ("passed(b)\nfor _ in range(20): guessed(a)", 1 + 5),
    ("for _ in range(5): passed(a)\n_record.forget_updates()\nfor _ in range(5): passed(b)", 10),
    ("passed(a)\n_record.steps_declared()\nfor _ in range(5): passed(a)", 1),
], ids=["two", "failed", "gone", "lost", "guess", "no update any more", "anew", "declared"])
def test_one_updater_of_a_process_makes_its_steps(tmp_path, program, count):
    operations(tmp_path, UPDATERS + program)
    assert [row["step"] for row in steps(tmp_path)] == list(range(count))


# Runs schedules of updates, one behind the other: {index of the update: the step that it began}.
SCHEDULES = UPDATERS + """
import json
hooked = []
_record.set_step_hook(hooked.append)
def run(schedule):
    _record.forget_updates()
    updaters, began = {}, []
    for index, name in enumerate(schedule):
        if name.startswith("drop "):
            updaters.pop(name[5:], None)
            continue
        passed(updaters.setdefault(name, Updater()))
        if hooked:
            began.append(index)
            hooked.clear()
    return began
print(json.dumps([run(schedule) for schedule in json.load(open(sys.argv[2]))]))
"""


def steps_of(folder, schedules):
    """The indices of the updates that end a step, by schedule."""
    script, drawn = folder / "program.py", folder / "schedules.json"
    script.write_text(HEAD + SCHEDULES)
    drawn.write_text(json.dumps(schedules))
    done = subprocess.run([sys.executable, script, folder / "run", drawn], check=True, timeout=60,
                          env=environment(PYTHONPATH=str(PACKAGE.parent)), stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def as_documented(schedule):
    """What docs/pytorch.md says of updates in one thread, word by word."""
    began, before, held, lives = [], [], {}, {}
    primary, since = None, 0
    for index, event in enumerate(schedule):
        if event.startswith("drop "):
            held.pop(lives.pop(event[5:], None), None)
            continue
        one = lives.setdefault(event, index)  # by its first update: another may have its name
        own = before[len(before) - since:].count(one) + 1
        again, is_new = held.get(one, 0) >= 3, one not in before
        if primary not in lives.values():
            takes = is_new or again or own >= 3
        else:
            behind_a_loop = is_new and before[-8:] == [primary] * 8
            takes = again or behind_a_loop or [*before, one][-3:] == [one] * 3 or own >= 16
        before.append(one)
        since += 1
        if one == primary or takes:
            held[one] = held[one] + 1 if one == primary else own
            primary, since = one, 0
            began.append(index)
    return began


def in_turn(*turns):
    """in_turn("D", 2, "G", 1) is D D G."""
    return [name for name, count in zip(turns[::2], turns[1::2]) for _ in range(count)]


SAC = in_turn("C", 2) + in_turn("A", 1, "alpha", 1) * 2


@pytest.mark.parametrize(("schedule", "count"), [
    (in_turn("D", 1, "G", 1) * 40, 40),
    (in_turn("D", 1, "G", 2) * 40, 40),
    (in_turn("D", 5, "G", 1) * 40, 200),
    (in_turn("G", 1, "D", 2) * 40, 40),
    (in_turn("G", 1, "D", 5) * 40, 1 + 3 + 39 * 5),
    ((in_turn("D", 1, "G", 1) * 4 + ["G"]) * 40, 160),  # one more, of a regularizer
    (in_turn("D", 40) + in_turn("D", 1, "G", 1) * 40, 80 + 1),  # the first G begins a loop, so far
    (in_turn("critic", 2, "actor", 1) * 40, 80),
    (in_turn("critic", 1, "actor", 1, "alpha", 1) * 40, 40),
    (SAC * 40, 80),
    ([f"layer {i}" for i in range(30)] * 40, 40),
    (in_turn("D", 25, "G", 25) * 20, 1000),
    (in_turn("D", 12, "G", 12) * 20, 480),
    (in_turn("D", 5, "G", 3) * 20, 160 - 2),  # what the first two of G are is not known yet
    (in_turn("all", 20) + (in_turn("D", 1, "G", 1) * 20 + in_turn("all", 20)) * 5, 20 + 5 * 40),
    ([f"fold {i // 60}" for i in range(480)], 480),
    (sum((in_turn(f"fold {i}", 60, f"drop fold {i}", 1) for i in range(8)), []), 480),
    (sum((in_turn(f"task {i}", 5, f"drop task {i}", 1, "meta", 1) for i in range(40)), []),
     5 + 1 + 3 + 38 * 5),
    (in_turn("D", 1, "G", 1) * 40 + ["drop D"] + in_turn("G", 40), 40 + 39),
], ids=["GAN", "G twice", "critic", "G first", "G first, critic", "regularized", "D ahead", "TD3",
        "SAC", "SAC, actor in rows", "by layer", "phases", "short phases", "shortest phases",
        "phases of a GAN", "folds", "dropped folds", "meta-learning", "D dropped"])
def test_a_pass_of_several_updaters_is_a_step_and_so_is_each_update_of_a_loop(
        tmp_path, schedule, count):
    (began,) = steps_of(tmp_path, [schedule])
    assert began == as_documented(schedule)
    assert len(began) == count


@pytest.mark.parametrize("seed", range(3))
def test_random_updaters_make_the_steps_that_the_documentation_says(tmp_path, seed):
    draw = random.Random(seed)

    def some():
        names = draw.sample("ABCDE", draw.randrange(1, 4))
        turns = [part for name in names for part in (name, draw.choice((1, 1, 2, 3, 4, 9, 20)))]
        drops = [f"drop {name}" for name in names if draw.random() < .1]
        return in_turn(*turns) * draw.choice((1, 2, 6, 20)) + drops

    schedules = [sum((some() for _ in range(draw.randrange(1, 6))), []) for _ in range(200)]
    assert steps_of(tmp_path, schedules) == list(map(as_documented, schedules))


def test_updates_of_two_threads_are_no_loops(tmp_path):
    operations(tmp_path, UPDATERS + """
import threading
def others():
    for _ in range(8): passed(b)
for _ in range(10):
    passed(a)
    thread = threading.Thread(target=others)
    thread.start(), thread.join()
""")
    assert len(steps(tmp_path)) == 10


def test_a_function_that_traces_an_update_makes_steps_and_others_none(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
train = Compiled(lambda **_: optimizer.apply(gradients=()))
measure = Compiled(lambda: None)
for _ in range(10):
    train(data=1)
    measure()
assert (thread.is_eager, word.value, _record.open_depth()) == (True, 0, 0)
assert len(asked) == 2  # each graph once
""")
    assert counts == {"compile": 2, "train_step": 9}
    assert len(steps(tmp_path)) == 10


BOTH = """
train = Compiled(lambda **how: optimizer.apply() if "training" in how else None)
"""


@pytest.mark.parametrize(("program", "train_steps"), [
    ("for _ in range(5): train()\nfor _ in range(10): train(training=1)", 10),
    # The first call is the one that compiles.
    ("for _ in range(10): train(training=1)\nfor _ in range(5): train()", 9),
    ("for _ in range(10): train(training=1), train()", 9),
], ids=["evaluates first", "trains first", "both in turn"])
def test_it_is_the_graph_that_makes_a_call_a_step(tmp_path, program, train_steps):
    counts = operations(tmp_path, FUNCTIONS + BOTH + program)
    assert counts == {"compile": 1, "train_step": train_steps}
    assert len(steps(tmp_path)) == 10


def test_steps_are_found_of_what_was_traced_before(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
on.value = 0
for cls, own in zip((Graph, Compiled), plain):
    ours, cls.__call__ = cls.__call__, own
    if cls is Graph: graph_call = ours
train, measure = Compiled(lambda: optimizer.apply()), Compiled(lambda: None)
train(), measure()
for function in (train, measure):
    function._variable_creation_config = "as TensorFlow has it then"
on.value, Graph.__call__, Compiled.__call__ = 1, graph_call, ours
for _ in range(10):
    train(), measure()
""")
    assert counts == {"train_step": 10}
    assert len(steps(tmp_path)) == 10


def test_two_threads_trace_at_once_and_each_has_its_own(tmp_path):
    counts = operations(tmp_path, FUNCTIONS.replace(
        "thread = types.SimpleNamespace(is_eager=True)", """
import threading
class Thread(threading.local):
    is_eager = True
thread = Thread()
""") + """
here = threading.Barrier(2)
def waits(updates):
    here.wait(20)
    if updates: optimizer.apply()
    here.wait(20)
train, measure = Compiled(lambda: waits(True)), Compiled(lambda: waits(False))
other = threading.Thread(target=measure)
other.start(), train(), other.join()
for _ in range(9): train(), measure()
""")
    assert counts["train_step"] == 9
    assert len(steps(tmp_path)) == 10


def test_functions_are_told_apart_by_what_they_are(tmp_path):
    operations(tmp_path, FUNCTIONS + """
class Equal(Compiled):
    def __eq__(self, other): raise KeyError("asked")
    def __hash__(self): raise KeyError("asked")
for _ in range(3):
    train, measure = Equal(lambda: optimizer.apply()), Equal(lambda: None)
    for _ in range(4): train(), measure()
""")
    assert len(steps(tmp_path)) == 12


def test_a_call_with_many_updates_is_one_step_where_it_ends(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
other, train = Optimizer(), Compiled(lambda: optimizer.apply())
def part():
    for _ in range(3): optimizer.apply(), other.apply(), train()
    assert _record.open_depth() == 1  # no step has ended in it
call = told_of(part, *_record.compiled_function(operation("compile"), operation("train_step"),
                                                None, False))
for _ in range(10): call()
on.value = 0
for _ in range(3): train()  # as in control steps
""")
    assert counts == {"compile": 1, "train_step": 9, "optimizer": 60}
    assert len(steps(tmp_path)) == 10 + 3


def test_replicas_make_one_step_together(tmp_path):
    operations(tmp_path, FUNCTIONS + """
import threading
class Replica(threading.Thread):
    def __init__(self, distribution, replica_id):
        super().__init__()
        self.distribution, self.replica_id = distribution, replica_id
    def run(self):
        optimizer.apply()
        train()
Replica.run = told_of(Replica.run, tells.replica_begins, tells.replica_ends)
def run(distribution):
    for replica in [Replica(distribution, number) for number in range(3)]:
        replica.start(), replica.join()
run = told_of(run, tells.replicas_begin, tells.replicas_end)
train = Compiled(lambda: optimizer.apply())
for _ in range(10): run(context)
""")
    found = steps(tmp_path)
    assert len(found) == 10 and len({row["thread"] for row in found if "thread" in row}) <= 1


def test_updates_outside_are_eager_ones_and_failed_calls_none(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
for _ in range(10):
    optimizer.apply(gradients=())
def fails():
    raise KeyError("x")
broken = Compiled(fails)
for _ in range(2):
    try:
        broken()
    except KeyError:
        pass
thread.is_eager = False
optimizer.apply(gradients=())
backward = _record.around(len, operation("backward"), ctypes.addressof(on), before=tells.eager)
backward("")
del context._context  # as before there is one
context.executing_eagerly = lambda: True
optimizer.apply()
backward("")
""")
    assert counts == {"compile": 2, "optimizer": 11, "backward": 1}
    assert len(steps(tmp_path)) == 11


def test_what_is_known_of_functions_lasts_and_their_objects_do_not(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
import gc
train = Compiled(lambda: optimizer.apply())
train()
tells = tell()  # as in a later window
Compiled.__call__ = told_of(plain[1], tells.call_begins, tells.call_ends)
train()
gone = []
for _ in range(5000):
    short = Compiled(lambda: None)
    short()
    gone.append(weakref.ref(short))
del short
asked.clear()
gc.collect()
assert not any(one() for one in gone)
""")
    assert counts == {"compile": 5001, "train_step": 1}


def test_one_function_is_compiled_once_and_is_not_kept_alive(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
import gc
class Trainer: pass
trainer = Trainer()
optimizers = [optimizer]
trainer.train = plain = lambda data: [one.apply() for one in optimizers]
for compiled in (False, True):  # two windows
    trainer.train = told_of(plain, *_record.compiled_function(
        operation("compile"), operation("train_step"), trainer, compiled))
    for number in range(5):
        optimizers = [Optimizer()] if number % 2 else []  # no matter whose the update is
        trainer.train(1)
evaluate = told_of(len, *_record.compiled_function(operation("compile"), operation("evaluate"),
                                                   None, False))
evaluate(""), evaluate("")
gone = weakref.ref(trainer), weakref.ref(plain)
del trainer, plain
gc.collect()
assert [one() for one in gone] == [None, None]
""")
    assert counts == {"compile": 2, "train_step": 9, "evaluate": 1, "optimizer": 4}
    assert len(steps(tmp_path)) == 10


ANNOTATIONS = """
class Annotation:
    def __init__(self, name, **_): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
plain = {name: vars(Annotation)[name] for name in ("__init__", "__enter__", "__exit__")}
def follow():
    made, begins, ends = _record.annotated_steps(_record.step, _record.step_end)
    for name, how in zip(plain, ({"before": made}, {"before": begins}, {"after": ends})):
        setattr(Annotation, name, _record.around(plain[name], **how))
late = Annotation("late")
late.__enter__()
follow()
"""


def test_the_outermost_annotation_is_a_step_of_its_name(tmp_path):
    operations(tmp_path, ANNOTATIONS + """
late.__exit__()
with late: pass
for number in range(3):
    with Annotation("train", step_num=number), Annotation(name="inner"):
        pass
    with Annotation(name="other") as last: pass
    assert vars(last) == {}
""")
    assert [row["kind"] for row in steps(tmp_path)] == ["step"] + ["train", "other"] * 3


@pytest.mark.parametrize("inside", ["""
import threading
thread = threading.Thread(target=trains)
thread.start(), thread.join()
""", "follow(), trains()"], ids=["thread", "window"])
def test_what_is_annotated_elsewhere_is_outermost_there(tmp_path, inside):
    operations(tmp_path, ANNOTATIONS + """
def trains():
    for _ in range(5):
        with Annotation("inside"): pass
outer = Annotation("outer")
outer.__enter__()
""" + inside)
    assert [row["kind"] for row in steps(tmp_path)].count("inside") == 5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eager", [False, True])
def test_what_is_annotated_in_a_task_is_outermost_there(tmp_path, seed, eager):
    if eager and sys.version_info < (3, 12):
        pytest.skip("this Python has no eager tasks")
    operations(tmp_path, ANNOTATIONS + f"""
import asyncio, contextlib, random
draw = random.Random({seed})
counts = dict.fromkeys(["outer", "inner"], 0)
async def annotate(depth):
    for _ in range(draw.randrange(1, 4)):
        kind = "inner" if depth else "outer"
        counts[kind] += 1
        with Annotation(kind):
            for _ in range(draw.randrange(3)):
                await asyncio.sleep(0)
            if depth < 3 and draw.random() < .6:
                await annotate(depth + 1)
        await asyncio.sleep(0)
async def main():
    if {eager}:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.gather(*[asyncio.create_task(annotate(0)) for _ in range(4)])
asyncio.run(main())
with Annotation("outer"):
    asyncio.run(annotate(1))
for _ in range(counts["outer"] + 1):
    with operation("expected"): pass
""")
    kinds = [row["kind"] for row in steps(tmp_path)]
    expected = crosscut.read(tmp_path / "run").table("operations").rows()
    assert kinds == ["outer"] * sum(row["count"] for row in expected if row["operation"])


def test_a_child_that_is_forked_in_an_annotation_has_steps_of_its_own(tmp_path):
    operations(tmp_path, ANNOTATIONS + """
import os
outer = Annotation("outer")
outer.__enter__()
child = os.fork()
if child == 0:
    for _ in range(5):
        with Annotation("inside"): pass
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
outer.__exit__()
""")
    assert sorted(row["kind"] for row in steps(tmp_path)) == ["inside"] * 5 + ["outer"]


def test_a_call_may_set_a_word_for_what_is_called_in_it(tmp_path):
    operations(tmp_path, FUNCTIONS + """
def call(depth=1):
    assert word.value == 7 * on.value
    return call(depth - 1) if depth else 1 / 0
call = _record.around(call, operation("part"), ctypes.addressof(on), word=inside, says=7)
for on.value in (1, 0):
    try:
        call()
    except ZeroDivisionError:
        assert word.value == 0
""")
