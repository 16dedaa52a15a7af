"""Operations that Python functions begin and end across each other, at level `calls`."""

import collections
import json
import pathlib
import struct
import subprocess
import sys

import crosscut
import pytest
from recording import COMMAND

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pycalls"))
from pycalls_support import INTERPRETERS, SERVED  # noqa: E402

PROGRAM = """
import contextlib, crosscut
assert crosscut.active()

def leaf():
    return sum(i for i in [1, 2, 3])

@contextlib.contextmanager
def scope():
    with crosscut.operation("managed"):
        yield

def with_manager():
    with scope():
        leaf()

def begin(stack):
    stack.enter_context(crosscut.operation("stacked"))

def with_stack():
    with contextlib.ExitStack() as stack:
        begin(stack)
        leaf()

def main():
    for _ in range(10):
        with_manager()
        with_stack()

main()
"""


@pytest.mark.parametrize("version", SERVED)
def test_functions_and_operations_may_end_across_each_other(recorder, version):
    script = recorder.script("program.py", PROGRAM)
    done = recorder.record(INTERPRETERS[version][0], script,
                           flags=("--python=calls", "--control-steps=0"))
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    operations = {row["operation"]: row["count"] for row in run.table("operations").rows()}
    assert operations["managed"] == operations["stacked"] == 10
    counts = {row["name"].split(" ")[0]: row["count"] for row in run.table("functions").rows()
              if "program.py" in row["name"]}
    assert counts["leaf"] == 20
    assert counts["with_manager"] == counts["begin"] == counts["with_stack"] == 10
    assert counts["scope"] == 20  # up to its yield, and from there on
    assert counts["main"] == 1
    inside = operations_around(recorder.run_dir, "leaf")
    assert inside == {("managed", "with_manager"): 10, ("stacked", "with_stack"): 10}


def operations_around(run_dir, function):
    """{(operation, Python function around): how many slices of `function`} of a Chrome export."""
    out = run_dir.parent / "trace.json"
    subprocess.run([str(COMMAND), "export", str(run_dir), "--to=chrome", "-o", str(out)],
                   check=True, capture_output=True)
    slices = [event for event in json.loads(out.read_text())["traceEvents"] if event["ph"] == "X"]

    def around(inner, accepts):
        found = [s for s in slices if accepts(s["name"]) and s["tid"] == inner["tid"]
                 and s["ts"] <= inner["ts"] and s["ts"] + s["dur"] >= inner["ts"] + inner["dur"]
                 and s is not inner]
        return min(found, key=lambda s: s["dur"])["name"].split(" ")[0] if found else ""

    return collections.Counter(
        (around(s, lambda name: name in ("managed", "stacked")),
         around(s, lambda name: "program.py" in name))
        for s in slices if s["name"].startswith(function + " "))


ENDS_OF_OTHERS = """
import json, sys, threading, time, crosscut
run, restarts = sys.argv[1], sys.argv[2] == "restart"
entered, going = threading.Event(), threading.Event()
def other():
    with crosscut.operation("train"):
        entered.set()
        going.wait()
if restarts:
    assert crosscut.start(run)
thread = threading.Thread(target=other)
thread.start()
entered.wait()
if restarts:
    crosscut.stop()
assert crosscut.start(run)
with crosscut.operation("train"):
    going.set()
    thread.join()
    with crosscut.operation("after"): pass
    late = time.monotonic_ns()
crosscut.stop()
print(late)
"""


@pytest.mark.parametrize("how", ["restart", "before"])
def test_the_end_of_what_this_session_has_not_seen_begin_ends_nothing(tmp_path, how):
    done = subprocess.run([sys.executable, "-c", ENDS_OF_OTHERS, tmp_path / "run", how],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    run = crosscut.read(tmp_path / "run")
    ends = [row["end_ns"] for row in run.table("spans").rows()
            if row["name"] == "train" and row["thread"] == "main"]
    assert len(ends) == 1 and ends[0] > int(done.stdout)
    assert not [row for row in run.table("gaps").rows() if "other thread" in row["message"]]


MANY = """
import crosscut, threading
assert crosscut.active()
operations = [crosscut.operation(f"of many {i}") for i in range(600)]

for each in operations:
    each.__enter__()
for each in operations:
    each.__exit__(None, None, None)

# The same by another thread, which leaves them to this one.
for each in operations:
    each.__enter__()
other = threading.Thread(target=lambda: [each.__exit__(None, None, None) for each in operations])
other.start()
other.join()
with crosscut.operation("behind"):
    pass
assert crosscut._record.open_depth() == 0
"""


def test_many_that_end_in_the_order_of_their_begins_are_no_square_of_events(recorder):
    """Each end that cut those above it would be 360,000 events of several words."""
    script = recorder.script("program.py", MANY)
    done = recorder.record(sys.executable, script, flags=("--control-steps=0",))
    assert done.returncode == 0, done.stderr
    last_chunks = [file.read_bytes()[-32:] for file in recorder.run_dir.glob("*.crosscut")]
    assert sum(struct.unpack("<4Q", chunk)[2] for chunk in last_chunks) < 50_000  # words
    run = crosscut.read(recorder.run_dir)
    counts = {row["operation"]: row["count"] for row in run.table("operations").rows()}
    assert all(counts[f"of many {i}"] == 2 for i in range(600))
    assert counts["behind"] == 1
    assert len(run.table("drops")) == 0
