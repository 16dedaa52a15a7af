"""Pythons without a GIL, where one is built for: the boundary is out and that is told; all else is
recorded, from any number of threads, and the GIL does not come back."""

import collections
import json
import pathlib
import sys

import crosscut
import pytest
from recording import COMMAND, PACKAGE, environment

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pycalls"))
from pycalls_support import FREE_THREADED, INTERPRETERS  # noqa: E402

pytestmark = pytest.mark.skipif(not FREE_THREADED, reason="no Python without a GIL is built for")


@pytest.fixture(params=FREE_THREADED)
def python(request):
    return INTERPRETERS[request.param][0]


def _counts(run):
    """How often each operation ran on the lead threads of all processes."""
    counts = collections.Counter()
    for row in run.table("operations").rows():
        counts[row["operation"]] += row["count"]
    return +counts  # without time that is in none


def _exported(recorder, format):
    path = recorder.folder / "exported"
    done = recorder.plain(COMMAND, "export", recorder.run_dir, f"--to={format}", "-o", path)
    assert done.returncode == 0, done.stderr
    return path.read_text()


TOLD = """
import sys, threading, crosscut
assert crosscut.active()

def work():
    for _ in range(1000):
        with crosscut.operation("work"):
            pass

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("GIL", sys._is_gil_enabled())
"""


def test_what_is_left_out_is_told_and_operations_count_on_every_thread(recorder, python):
    done = recorder.record(python, "-W", "error", recorder.script("told.py", TOLD),
                           flags=("--control-steps=0",))
    assert (done.returncode, done.stdout) == (0, "GIL False\n"), done.stderr
    said = [line for line in done.stderr.splitlines() if "has no GIL" in line]
    assert len(said) == 1, done.stderr
    run = crosscut.read(recorder.run_dir)
    (pycalls,) = [row for row in run.table("sources").rows() if row["name"] == "pycalls"]
    assert pycalls["state"] == "missing" and "has no GIL" in pycalls["message"]
    spans = json.loads(_exported(recorder, "chrome"))["traceEvents"]
    works = collections.Counter(span["tid"] for span in spans if span["name"] == "work")
    assert sorted(works.values()) == [1000] * 8


START_STOP = """
import pathlib, random, sys, threading, crosscut
done, failed = [], []

def switch(seed):
    chance = random.Random(seed)
    for i in range(125):
        if crosscut.start(sys.argv[1], python=chance.choice(["boundary", "samples", "calls"])):
            with crosscut.operation("between"):
                crosscut.step()
            (crosscut.pause() and crosscut.resume())
        crosscut.stop()
        done.append(i)

def mark():
    import json.tool, email.parser  # noqa: F401  imports are followed
    while len(done) < 1000 and not failed:
        with crosscut.operation("beside"):
            crosscut.counter("marks", 1)
            crosscut.instant("mark")

def safely(function, *args):
    try:
        function(*args)
    except BaseException as error:
        failed.append(error)
        raise

threads = [threading.Thread(target=safely, args=(switch, seed)) for seed in range(8)]
threads += [threading.Thread(target=safely, args=(mark,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done), len(failed), sys._is_gil_enabled())
"""


def test_a_thousand_starts_and_stops_on_eight_threads(recorder, python):
    done = recorder.plain(python, "-W", "error", recorder.script("switch.py", START_STOP),
                          recorder.run_dir, timeout=600,
                          env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert (done.returncode, done.stdout) == (0, "1000 0 False\n"), done.stderr
    (process,) = crosscut.read(recorder.run_dir).table("processes").rows()
    assert process["complete"] and process["wall_ns"] > 0


ELSEWHERE = """
import threading, crosscut
left = [crosscut.operation("left").__enter__() for _ in range(50)]

def end():
    for operation in left: operation.__exit__(None, None, None)

thread = threading.Thread(target=end)
thread.start()
thread.join()
with crosscut.operation("behind"):
    pass
"""


def test_operations_may_end_on_another_thread(recorder, python):
    done = recorder.record(python, recorder.script("elsewhere.py", ELSEWHERE),
                           flags=("--control-steps=0",))
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    assert _counts(run) == {"left": 50, "behind": 1}
    assert any("operations were ended by other threads" in row["message"]
               for row in run.table("sources").rows())


FORKS = """
import os, threading, crosscut
stop = threading.Event()

def mark():
    while not stop.is_set():
        with crosscut.operation("beside"):
            pass

threads = [threading.Thread(target=mark) for _ in range(3)]
for thread in threads: thread.start()
for i in range(40):
    child = os.fork()
    if child == 0:
        with crosscut.operation("in the child"):
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
"""


def test_children_forked_beside_threads_that_mark_are_recorded(recorder, python):
    done = recorder.record(python, recorder.script("forks.py", FORKS),
                           flags=("--control-steps=0",), timeout=300)
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    assert len(list(run.table("processes").rows())) == 41
    assert _counts(run)["in the child"] == 40


SAMPLES = """
import threading, time

def burn(end):
    total = 0
    while time.perf_counter() < end:
        total += 1  # burns
    return total

def outer():
    together.wait()
    return burn(time.perf_counter() + 1)  # calls

together = threading.Barrier(3)
threads = [threading.Thread(target=outer, name=f"burner {i}") for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_samples_show_the_lines_that_every_thread_runs(recorder, python):
    script = recorder.script("samples.py", SAMPLES)
    done = recorder.record(python, script, flags=("--python=samples", "--control-steps=0"))
    assert done.returncode == 0, done.stderr
    lines = SAMPLES.splitlines()
    loop = {f"samples.py:{at} burn" for at, line in enumerate(lines, 1)
            if "while" in line or "# burns" in line}
    rows = [row for row in crosscut.read(recorder.run_dir).table("samples").rows()
            if row["line"].endswith(" burn")]
    assert {row["thread"] for row in rows} == {"burner 0", "burner 1", "burner 2"}
    inside = sum(row["count"] for row in rows if row["line"] in loop)
    assert inside > 0.95 * sum(row["count"] for row in rows), rows
    calls = lines.index("    return burn(time.perf_counter() + 1)  # calls") + 1
    assert f"samples.py:{calls} outer" in _exported(recorder, "collapsed-samples")
