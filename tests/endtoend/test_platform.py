"""What must hold on every processor: a C++ program, a Python program and a kill, counted. Under an
emulator tools/check_arm64.sh runs this."""

import pytest
from runs import PACKAGE, crosscut, record, record_script, table

QUICKSTART = PACKAGE.parent / "examples" / "quickstart"
WHOLE = "--control-steps=0"


def counts(run, name, key):
    return {row[key]: row["count"] for row in table(run, name)}


@pytest.mark.skipif(not QUICKSTART.exists(), reason="an installed package has no examples")
def test_what_a_cpp_program_marks_is_counted(tmp_path):
    ended = record(tmp_path / "run", [QUICKSTART], WHOLE)
    assert ended.returncode == 0, ended.stderr
    assert "after 120 steps" in ended.stdout
    operations = counts(tmp_path / "run", "operations", "operation")
    assert (operations["act"], operations["train"]) == (120, 120)
    spans = counts(tmp_path / "run", "functions", "name")
    assert (spans["simulate"], spans["fit"]) == (240, 120)
    assert len(table(tmp_path / "run", "steps")) == 120
    assert table(tmp_path / "run", "drops") == []


def test_operations_native_calls_and_python_functions_are_counted(tmp_path):
    ended = record_script(tmp_path / "run", """
import time
import crosscut

def pause():
    time.sleep(0.001)

for step in range(10):
    crosscut.step()
    with crosscut.operation("rest"):
        for _ in range(7):
            pause()
""", WHOLE, "--python=calls")
    assert ended.returncode == 0, ended.stderr
    assert counts(tmp_path / "run", "operations", "operation")["rest"] == 10
    rows = table(tmp_path / "run", "functions")
    sleeps, = [row for row in rows if row["name"] == "time.sleep"]
    assert (sleeps["layer"], sleeps["count"]) == ("idle", 70)
    assert sleeps["total_ns"] >= 70_000_000
    pauses, = [row for row in rows if row["name"].startswith("pause (run.py:")]
    assert (pauses["layer"], pauses["count"]) == ("python", 70)


def test_a_kill_loses_nothing(tmp_path):
    ended = record_script(tmp_path / "run", """
import os
import signal
import crosscut

for number in range(20_000):
    with crosscut.operation("done"):
        pass
with crosscut.operation("last"):
    os.kill(os.getpid(), signal.SIGKILL)
""")
    assert ended.returncode == -9, ended.stderr
    assert counts(tmp_path / "run", "operations", "operation")["done"] == 20_000
    assert [row["name"] for row in table(tmp_path / "run", "spans")].count("last") == 1
    assert table(tmp_path / "run", "drops") == []
    assert "it ended without stopping" in " ".join(crosscut("report", tmp_path / "run").split())
