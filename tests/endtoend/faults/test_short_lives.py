"""Processes that live for milliseconds, while `crosscut record` looks for rings of ended ones."""

from runs import record_script, table

CHILDREN = 150
PROGRAM = f"""
import os, threading, crosscut
stop = threading.Event()

def mark():
    while not stop.is_set():
        with crosscut.operation("beside"):
            pass

threads = [threading.Thread(target=mark) for _ in range(3)]
for thread in threads: thread.start()
for _ in range({CHILDREN}):
    child = os.fork()
    if child == 0:
        with crosscut.operation("in the child"):
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
"""


def test_no_child_loses_what_it_recorded_however_short_it_lives(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, PROGRAM, "--control-steps=0", "--memory=256")
    assert done.returncode == 0, done.stderr
    assert len(table(run, "processes")) == CHILDREN + 1
    assert sum(row["count"] for row in table(run, "operations")
               if row["operation"] == "in the child") == CHILDREN
    assert not table(run, "gaps")
