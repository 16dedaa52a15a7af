"""What others do to the interpreter that is recorded: fork it amid locks, end it, have more of its
kind; and who has the GIL meanwhile."""

import pathlib
import sys

import crosscut
import pytest
from recording import PACKAGE, environment

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pycalls"))
from pycalls_support import INTERPRETERS, SERVED, compile_c  # noqa: E402


@pytest.fixture(params=SERVED)
def itself(request, recorder):
    """Runs code that records itself, in each interpreter; what it prints."""
    def run(code, *arguments, timeout=60):
        script = recorder.script("itself.py", code)
        done = recorder.plain(INTERPRETERS[request.param][0], script, recorder.run_dir, *arguments,
                              env=environment(PYTHONPATH=str(PACKAGE.parent)), timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout
    run.version = request.param
    return run


# The hooks before a fork run from the last that was registered to the first.
FORKS_AMID_A_LOCK = """
import os, sys, threading
import crosscut

lock, held, forks = threading.Lock(), threading.Event(), threading.Event()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
os.register_at_fork(before=forks.set)
assert crosscut.start(sys.argv[1], python="off", control_percent=0)

def mark(name):
    with crosscut.operation(name):
        pass

def hold():
    with lock:
        held.set()
        forks.wait()  # the fork waits for the lock, behind all that we do before it
        beside = threading.Thread(target=mark, args=("beside",))
        beside.start()
        beside.join()

holder = threading.Thread(target=hold)
holder.start()
held.wait()
child = os.fork()
if child == 0:
    mark("in the child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
holder.join()
"""


def test_a_fork_waits_for_a_lock_of_the_programs_while_its_threads_mark(itself, recorder):
    itself(FORKS_AMID_A_LOCK)
    names = {row["operation"] for row in crosscut.read(recorder.run_dir).table("threads").rows()}
    assert {"beside", "in the child"} <= names


STEPS_AFTER_THE_END = """
import ctypes, pathlib, crosscut
library = ctypes.CDLL(str(pathlib.Path(crosscut.__file__).parent / "lib" / "libcrosscut.so.1"))
step = ctypes.cast(library.crosscut_step, ctypes.c_void_p)
for _ in range(5):
    assert ctypes.CDLL(None).__cxa_atexit(step, None, None) == 0
crosscut.step()
"""


@pytest.mark.parametrize("version", SERVED)
def test_a_window_that_ends_after_the_interpreter_harms_nothing(recorder, version):
    script = recorder.script("late.py", STEPS_AFTER_THE_END)
    done = recorder.record(INTERPRETERS[version][0], script, flags=("--stop-after-steps=3",))
    assert done.returncode == 0, done.stderr


ENDS_AMID_A_SWITCH = """
import os, sys, threading, time
import crosscut
from crosscut import _record

inside = threading.Event()

def set_level(level):
    if level == 0:
        inside.set()
        for _ in range(3):
            time.sleep(0)  # others have the GIL
        os.write(1, b"whole")

assert crosscut.start(sys.argv[1], python="off", control_percent=0)
assert _record.add_source("mine", "1", set_level)
threading.Thread(target=crosscut.pause, daemon=True).start()
inside.wait()
"""


def test_the_interpreter_ends_behind_what_runs_for_us(itself):
    assert itself(ENDS_AMID_A_SWITCH) == "whole"


PENDING = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>

__attribute__((visibility("default"))) int starts_amid_an_exception(int (*start)(void*)) {
  PyErr_SetString(PyExc_KeyError, "mine");
  const int code = start(NULL);
  const int is_there = PyErr_ExceptionMatches(PyExc_KeyError);
  PyErr_Clear();
  return code == 0 && is_there;
}
"""
STARTS_AMID_AN_EXCEPTION = """
import ctypes, os, pathlib, sys
os.environ["CROSSCUT_RUN"] = sys.argv[1]
import crosscut
library = ctypes.CDLL(str(pathlib.Path(crosscut.__file__).parent / "lib" / "libcrosscut.so.1"))
start = ctypes.cast(library.crosscut_start, ctypes.c_void_p)
print(ctypes.PyDLL(sys.argv[2]).starts_amid_an_exception(start))
"""


def test_an_exception_that_is_pending_outlives_a_start(itself, tmp_path):
    (tmp_path / "pending.c").write_text(PENDING)
    include = INTERPRETERS[itself.version][2]
    compile_c(tmp_path / "pending.c", tmp_path / "pending.so", f"-I{include}")
    assert itself(STARTS_AMID_AN_EXCEPTION, tmp_path / "pending.so") == "1\n"


PAUSES_BESIDE_A_START = """
import sys, threading, time
import crosscut
from crosscut import _record

under_way, goes_on, pauses = threading.Event(), threading.Event(), threading.Event()

def set_level(level):
    if level != 0 and not under_way.is_set():
        under_way.set()
        goes_on.wait()

def pause():
    pauses.set()
    paused.append(crosscut.pause())

paused = []
assert _record.add_source("mine", "1", set_level)
starter = threading.Thread(target=crosscut.start, args=(sys.argv[1],), kwargs={"python": "off"})
starter.start()
under_way.wait()
pauser = threading.Thread(target=pause)
pauser.start()
pauses.wait()
time.sleep(0.05)  # to where it waits for the start
goes_on.set()
pauser.join()
starter.join()
print(paused)
"""


def test_a_pause_that_waits_for_a_start_lets_others_run(itself):
    assert itself(PAUSES_BESIDE_A_START) == "[True]\n"


ANOTHER_INTERPRETER = """
import sys, zlib
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import crosscut

assert crosscut.start(sys.argv[1], python=sys.argv[2], plan="full", control_percent=0)
zlib.crc32(b"x" * 100_000)
other = interpreters.create()
failure = interpreters.run_string(other, '''
import time, zlib
import crosscut
assert not crosscut.active() and "subinterpreter" in crosscut.error()
with crosscut.operation("elsewhere"):
    for _ in range(100): time.sleep(0)
assert not crosscut.start("other")
''')
assert failure is None, failure
interpreters.destroy(other)
import time
time.sleep(0)
assert crosscut.stop()
"""


@pytest.mark.parametrize("level", ["boundary", "calls"])
def test_of_another_interpreter_nothing_is_recorded_and_that_is_told(itself, recorder, level):
    itself(ANOTHER_INTERPRETER, level)
    run = crosscut.read(recorder.run_dir)
    rows = {row["name"]: row for row in run.table("sources").rows()}
    assert rows["sub-interpreters"]["state"] == "missing"
    assert any("sub-interpreters" in row["message"] for row in run.table("gaps").rows())
    counts = {row["name"]: row["count"] for row in run.table("functions").rows()}
    assert counts["time.sleep"] == 1
    assert "elsewhere" not in {row["operation"] for row in run.table("operations").rows()}


STEPS_IN_ANOTHER_INTERPRETER = """
import pathlib, sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import crosscut

library = pathlib.Path(crosscut.__file__).parent / "lib" / "libcrosscut.so.1"
assert crosscut.start(sys.argv[1], plan="control=50,everything=50")
crosscut.step()
# CPython 3.12 has ctypes in interpreters that share the GIL alone.
shares = {"isolated": False} if sys.version_info[:2] == (3, 12) else {}
other = interpreters.create(**shares)
failure = interpreters.run_string(other, f'''
import ctypes
library = ctypes.PyDLL({str(library)!r})  # its functions keep the GIL
for _ in range(40): library.crosscut_step(0)
''')
assert failure is None, failure
interpreters.destroy(other)
assert crosscut.stop()
"""


def test_another_interpreter_steps_with_the_gil(itself, recorder):
    itself(STEPS_IN_ANOTHER_INTERPRETER)
    assert len(list(crosscut.read(recorder.run_dir).table("steps").rows())) > 20


EAGER_TASKS = """
import asyncio, sys
import crosscut

if not hasattr(asyncio, "eager_task_factory"):
    sys.exit()

async def child(turn):
    with crosscut.operation("child"):
        await turn.wait()
        with crosscut.operation("part of child"):
            pass

async def main():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    turn = asyncio.Event()
    task = asyncio.create_task(child(turn))
    with crosscut.operation("main"):
        turn.set()
    await task

assert crosscut.start(sys.argv[1], python="off", control_percent=0)
asyncio.run(main())
assert crosscut.stop()
print("eager")
"""


def test_what_an_eager_task_has_open_counts_while_it_runs(itself, recorder):
    if itself(EAGER_TASKS) != "eager\n":
        return
    rows = [row for row in crosscut.read(recorder.run_dir).table("spans").rows()
            if row["kind"] == "operation"]
    of = {row["name"]: row["parent"] for row in rows}
    child = [row["span"] for row in rows if row["name"] == "child"]
    assert of["main"] is None and of["part of child"] == child[-1] and len(child) == 2


EAGER_REQUESTS = """
import asyncio, sys, time

if not hasattr(asyncio, "eager_task_factory"):
    sys.exit()

ran = {"waits": 0, "ends": 0, "makes": 0}

def busy(name):
    begin = time.perf_counter_ns()
    while time.perf_counter_ns() - begin < 10_000_000:
        pass
    ran[name] += time.perf_counter_ns() - begin

async def waits():
    busy("waits")
    await asyncio.sleep(0.001)

async def ends():
    busy("ends")

async def makes():
    await asyncio.gather(asyncio.create_task(waits()), asyncio.create_task(ends()))

async def main():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    for _ in range(10):
        begin = time.perf_counter_ns()
        task = asyncio.create_task(makes())
        ran["makes"] += time.perf_counter_ns() - begin
        await task

asyncio.run(main())
print(*ran.values())
"""


@pytest.mark.parametrize("version", SERVED)
def test_an_eager_task_runs_while_it_is_made_and_not_what_made_it(recorder, version):
    done = recorder.record(INTERPRETERS[version][0], "-c", EAGER_REQUESTS, timeout=60)
    assert done.returncode == 0, done.stderr
    if not done.stdout:
        return
    waits, ends, makes = map(int, done.stdout.split())
    rows = {row["request"]: row for row in crosscut.read(recorder.run_dir).table("requests").rows()}
    assert {name: row["count"] for name, row in rows.items() if name != "main"} == {
        "waits": 10, "ends": 10, "makes": 10}
    assert 10 * rows["waits"]["running_ns"] >= waits - 5000
    assert 10 * rows["ends"]["running_ns"] >= ends - 5000
    # Beside what the program measured there are its later slices.
    assert 10 * rows["makes"]["running_ns"] < makes - waits - ends + 100_000_000
