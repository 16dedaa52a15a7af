"""Real JAX programs under `crosscut record`."""

import os
import subprocess

import pytest
from frameworks import check_sums, counts, layers, python_with, record_program, source
from runs import PACKAGE, record, table

HEAD = """
import glob, os, sys
import jax
import jax.numpy as jnp
@jax.jit
def update(w, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w)) ** 2))(w)
    return w - 0.1 * gradient, loss
@jax.jit
def init(key):
    return jax.random.normal(key, (64, 64))
w, x = init(jax.random.PRNGKey(0)), jnp.ones((8, 64))
"""

LOOP = HEAD + """
for i in range(100):
    w, loss = update(w, x)
print("%.6f" % float(loss))
sys.exit(5)
"""

ANNOTATED = HEAD + """
for i in range(30):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        w, loss = update(w, x)
    jnp.sum(w).block_until_ready()
print("%.6f" % float(loss))
"""

RECOMPILED = HEAD + """
for i in range(20):
    w, loss = update(w, x)
    if i == 9:
        x = jnp.ones((16, 64))
print("%.6f" % float(loss))
"""

OWN_PROFILE = HEAD + """
import shutil
folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
for name in ("one", "two"):
    for i in range(30):
        if i == 10: jax.profiler.start_trace(f"{folder}/{name}")
        w, loss = update(w, x)
        if i == 20:
            loss.block_until_ready()
            try:
                jax.profiler.start_trace(f"{folder}/three")
            except RuntimeError:
                print("one at a time")
            jax.profiler.stop_trace()
found = glob.glob(folder + "/*/plugins/profile/*/*.xplane.pb")
print(sorted(path[len(folder):].split("/")[1] for path in found))
for path in found:
    assert b"PjitFunction(update)" in open(path, "rb").read(), path
"""

DROPPED = """
import gc, weakref
import jax
import jax.numpy as jnp
references = []
for i in range(20):
    @jax.jit
    def short_lived(x):
        return x + i
    short_lived(jnp.ones(3))
    short_lived(jnp.ones(3))
    references.append(weakref.ref(short_lived))
del short_lived
jax.clear_caches()
gc.collect()
print(sum(reference() is not None for reference in references))
@jax.jit
def called(x, *, n):
    return x * n
print(type(called).__name__, called.__name__, called.lower(jnp.ones(3), n=2).as_text()[:6])
print(jax.vmap(called, in_axes=0)(jnp.ones(3), n=jnp.arange(3)).tolist())
try:
    called()
except TypeError:
    print("refused")
class Model:
    @jax.jit
    def method(self):
        return 1
jax.tree_util.register_pytree_node(Model, lambda m: ((), None), lambda _, c: Model())
print(int(Model().method()))
"""


@pytest.fixture(scope="module")
def python():
    return python_with("jax")


def test_a_loop_steps_with_the_function_that_is_called_most_often(python, tmp_path):
    run = tmp_path / "run"
    assert record_program(run, python, LOOP, "--control-steps=0").returncode == 5
    assert len(table(run, "steps")) == 99  # the first call compiles and belongs to no step
    seen = counts(run)
    assert seen["train_step"] == 99
    assert seen["compile"] >= 2
    check_sums(run)
    known = layers(run)
    assert "framework" in known["jax.jit(update)"]
    # XLA's own events; which of them there are hangs on what runs on whose thread.
    assert any("framework" in of for name, of in known.items() if name.startswith("Thunk"))
    assert not any(name.startswith("end: ") for name in known)
    assert source(run, "jax")["state"] == "on"


ANEW = HEAD + """
plain = lambda w, x: jnp.mean(jnp.tanh(x @ w))
for i in range(30):
    f = jax.jit(jax.grad(lambda w, x: plain(w, x) * 2))
    w = w - 0.1 * f(w, x)
    %s
print("%%.6f" %% float(w[0, 0]))
"""


@pytest.mark.parametrize("also", ("pass", "jax.jit(plain)(w, x)", "jax.jit(lambda w: w + 1)(w)"))
def test_a_function_that_is_made_anew_each_time_makes_a_step_each_time(python, tmp_path, also):
    run = tmp_path / "run"
    record_program(run, python, ANEW % also, "--control-steps=0")
    assert len(table(run, "steps")) == 29  # the first is the one before all steps


CALLED = HEAD + """
def host(value):
    return value + sum([i & 7 for i in range(400_000)])
for i in range(30):
    CALLS
jax.effects_barrier()
"""


@pytest.mark.parametrize("calls", (
    "jax.jit(lambda v: jax.pure_callback(host, v, v))(jnp.float32(i)).block_until_ready()",
    "jax.experimental.io_callback(host, w[0, 0], w[0, 0])",
    "jax.debug.callback(host, w[0, 0])"))
def test_python_that_a_compiled_function_calls_is_python(python, tmp_path, calls):
    run = tmp_path / "run"
    program = CALLED.replace("CALLS", calls).replace("import jax\n", "import jax\n"
                                                     "import jax.experimental\n", 1)
    record_program(run, python, program, "--control-steps=0", "--plan=full")
    called = next(row for row in table(run, "functions") if row["name"] == "callback")
    assert called["layer"] == "python"
    assert called["count"] == 30


def test_annotations_are_the_steps_where_the_program_has_them(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, ANNOTATED, "--control-steps=0")
    steps = [row for row in table(run, "steps") if row["kind"] == "train"]
    assert len(steps) == 30 == len(table(run, "steps"))
    check_sums(run)


def test_a_later_compilation_is_an_operation_too(python, tmp_path):
    run, once = tmp_path / "run", tmp_path / "once"
    record_program(run, python, RECOMPILED, "--control-steps=0")
    record_program(once, python, RECOMPILED.replace("(16, 64)", "(8, 64)"), "--control-steps=0")
    assert counts(run)["compile"] > counts(once)["compile"]
    assert counts(run)["train_step"] == counts(once)["train_step"] == 19


def test_control_steps_keep_counting_and_are_without_the_profile(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, LOOP.replace("100", "400"), "--control-steps=20")
    steps = table(run, "steps")
    assert len(steps) == 399
    assert sum(row["control"] for row in steps) > 20
    check_sums(run)


def test_the_programs_own_profiles_work_as_without_us(python, tmp_path):
    run = tmp_path / "run"
    result = record_program(run, python, OWN_PROFILE, "--control-steps=0",
                            arguments=[tmp_path / "logs"])
    assert result.stdout.endswith("['one', 'two']\n")
    assert "while the program profiles itself" in source(run, "jax")["message"]


def test_jitted_functions_behave_and_are_dropped_as_without_us(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, DROPPED, "--control-steps=0")


# Whoever writes to what was freed changes blocks that the program has got since.
STOPPED_AMID = """
import ctypes, sys, threading
import crosscut
assert crosscut.start(), crosscut.error()
import jax
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
here, go_on = threading.Event(), threading.Event()
blocks, others = [], [jax.jit(lambda x, i=i: x + i) for i in range(16)]
for other in others:
    other(1.0)
@jax.jit
def traced(x):
    here.set()
    assert go_on.wait(300)
    return x
def take_memory():
    assert here.wait(300)
    print(crosscut.stop())
    for size in range(24, 104, 8):
        for _ in range(500):
            block = libc.malloc(size)
            ctypes.memset(block, 0, size)
            blocks.append((block, size))
    go_on.set()
thread = threading.Thread(target=take_memory)
thread.start()
print(float(traced(2.0)))
thread.join()
print(sum(ctypes.string_at(block, size) != bytes(size) for block, size in blocks))
assert crosscut.start(), crosscut.error()
for _ in range(3):
    traced(2.0)
assert crosscut.stop()
"""


def test_a_window_may_end_while_a_jitted_function_is_called(python, tmp_path):
    run = tmp_path / "run"
    script = tmp_path / "program.py"
    script.write_text(STOPPED_AMID)
    done = record(run, [python, script], "--dormant", env={"MALLOC_ARENA_MAX": "1"})
    assert (done.returncode, done.stdout) == (0, "True\n2.0\n0\n"), done.stderr


ELSEWHERE = """
import inspect, sys, threading
import crosscut
import jax
update, init = jax.jit(lambda w: w * 0.5), jax.jit(lambda key: jax.random.normal(key, (8, 8)))
w = update(init(jax.random.PRNGKey(0)))
assert crosscut.start(sys.argv[2], control_percent=0), crosscut.error()
for key in range(3 if sys.argv[1] == "thread" else 0):
    init(jax.random.PRNGKey(key))
def train():
    global w
    for _ in range(100):
        w = update(w)
if sys.argv[1] == "thread":
    thread = threading.Thread(target=train)
    thread.start(), thread.join()
else:
    train()
assert "def " in inspect.getsource(jax.profiler.StepTraceAnnotation.__init__)
assert crosscut.stop()
"""


@pytest.mark.parametrize("where", ["thread", "here"])
def test_steps_are_found_of_what_was_compiled_before_on_any_thread(python, tmp_path, where):
    run, script = tmp_path / "run", tmp_path / "program.py"
    script.write_text(ELSEWHERE)
    done = subprocess.run([python, script, where, run], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"})
    assert done.returncode == 0, done.stderr
    seen, first = counts(run), 3 if where == "thread" else 0  # steps of the main thread
    assert "compile" not in seen
    assert 100 - first <= len(table(run, "steps")) <= 100 + first
    assert 100 - first <= seen["train_step"] <= 100 + first
