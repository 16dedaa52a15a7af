"""Steps and operations that are found by calls, as adapters of compiling frameworks find them."""

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
import ctypes, types
on, word = ctypes.c_int32(1), ctypes.c_int32(0)
@ctypes.CFUNCTYPE(ctypes.c_void_p)
def of_thread():
    return ctypes.addressof(word)
inside = ctypes.cast(of_thread, ctypes.c_void_p).value
def outer(function, before, after):
    return _record.around(function, None, ctypes.addressof(on), inside=inside, nests=True,
                          always=True, before=before, after=after)
thread = types.SimpleNamespace(is_eager=True)
context = types.SimpleNamespace(_context=types.SimpleNamespace(_thread_local_data=thread))
begins, ends, traced, applied = _record.compiled_functions(
    *map(operation, ("compile", "train_step", "optimizer")), context)
class Optimizer:
    def apply(self, **_): pass
Optimizer.apply = _record.around(outer(Optimizer.apply, applied, _record.update_passed),
                                 before=traced)
optimizer = Optimizer()
class Compiled:
    def __init__(self, function):
        self.function, self.is_compiled = function, False
    def __call__(self, **named):
        if self.is_compiled:
            return
        self.is_compiled, thread.is_eager = True, False
        try:
            self.function(**named)
        finally:
            thread.is_eager = True
Compiled.__call__ = outer(Compiled.__call__, begins, ends)
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
    ("passed(a)\nfor _ in range(20): passed(b)", 1 + 5),
    ("for _ in range(4): guessed(a)\nfor _ in range(10): passed(b), guessed(a)", 4 + 10),
    ("passed(b)\nfor _ in range(20): guessed(a)", 1 + 5),
    ("for _ in range(5): passed(a)\n_record.forget_updates()\nfor _ in range(5): passed(b)", 10),
    ("passed(a)\n_record.steps_declared()\nfor _ in range(5): passed(a)", 1),
], ids=["two", "failed", "gone", "lost", "guess", "no update any more", "anew", "declared"])
def test_one_updater_of_a_process_makes_its_steps(tmp_path, program, count):
    operations(tmp_path, UPDATERS + program)
    assert [row["step"] for row in steps(tmp_path)] == list(range(count))


def test_a_function_that_traces_an_update_makes_steps_and_others_none(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
train = Compiled(lambda **_: optimizer.apply(gradients=()))
measure = Compiled(lambda: None)
for _ in range(10):
    train(data=1)
    measure()
assert (thread.is_eager, word.value, _record.open_depth()) == (True, 0, 0)
""")
    assert counts == {"compile": 2, "train_step": 9}
    assert len(steps(tmp_path)) == 10


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
        broken.is_compiled = False
thread.is_eager = False
optimizer.apply(gradients=())
del context._context  # as before there is one
context.executing_eagerly = lambda: True
optimizer.apply()
""")
    assert counts == {"compile": 2, "optimizer": 11}
    assert len(steps(tmp_path)) == 11


def test_what_is_known_of_functions_lasts_and_their_objects_do_not(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
import gc, weakref
train = Compiled(lambda: optimizer.apply())
train()
begins, ends, _, _ = _record.compiled_functions(  # as in a later window
    *map(operation, ("compile", "train_step", "optimizer")), context)
Compiled.__call__ = outer(_record.around.function.__get__(vars(Compiled)["__call__"]), begins, ends)
train()
gone = []
for _ in range(5000):
    short = Compiled(lambda: None)
    short()
    gone.append(weakref.ref(short))
del short
gc.collect()
assert not any(one() for one in gone)
""")
    assert counts == {"compile": 5001, "train_step": 1}


def test_one_function_updates_what_has_it_and_keeps_neither_alive(tmp_path):
    counts = operations(tmp_path, FUNCTIONS + """
import gc, weakref
class Trainer: pass
trainer = Trainer()
trainer.train = lambda data: trainer
plain = trainer.train
for _ in range(2):  # two windows
    trainer.train = outer(plain, *_record.compiled_function(
        operation("compile"), operation("train_step"), plain, trainer))
    for _ in range(5):
        trainer.train(1)
evaluate = outer(len, *_record.compiled_function(operation("compile"), operation("evaluate"), len,
                                                 None))
evaluate(""), evaluate("")
gone = weakref.ref(trainer), weakref.ref(plain)
del trainer, plain
gc.collect()
assert [one() for one in gone] == [None, None]
""")
    assert counts == {"compile": 2, "train_step": 9, "evaluate": 1}
    assert len(steps(tmp_path)) == 10


def test_the_outermost_annotation_is_a_step_of_its_name(tmp_path):
    operations(tmp_path, """
class Annotation:
    def __init__(self, name, **_): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
made, begins, ends = _record.annotated_steps(_record.step, _record.step_end)
late = Annotation("late")
late.__enter__()
Annotation.__init__ = _record.around(Annotation.__init__, before=made)
Annotation.__enter__ = _record.around(Annotation.__enter__, before=begins)
Annotation.__exit__ = _record.around(Annotation.__exit__, after=ends)
late.__exit__()
with late: pass
for number in range(3):
    with Annotation("train", step_num=number), Annotation(name="inner"):
        pass
    with Annotation(name="other"): pass
""")
    assert [row["kind"] for row in steps(tmp_path)] == ["step"] + ["train", "other"] * 3


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
