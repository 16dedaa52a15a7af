"""A program that forks while its other threads call operators: its children do not hang."""

import sys

import pytest
from runs import record_script, table

FORKS = 300
# The thread interns all the time: each of its sizes is new. So is each child's.
PROGRAM = f"""
import itertools, os, signal, threading, time
import torch

go, ended, sizes = threading.Event(), False, itertools.count(1)

def call_operators():
    while not ended:
        go.wait()
        for size in itertools.islice(sizes, 60):
            torch.empty(size % 3000 + 1, size // 3000 + 1)
        go.clear()

threading.Thread(target=call_operators, daemon=True).start()
killed = 0
for number in range({FORKS}):
    go.set()
    time.sleep(0.0002 * (number % 5))
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for size in range(1, 4):
            torch.empty(7, 3001 + number, size)
        os._exit(0)
    killed += os.waitpid(child, 0)[1] != 0
    if killed == 3:
        break
ended = True
go.set()
print(killed, "children were killed")
"""


def test_children_call_operators_whatever_other_threads_did_at_the_fork(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, PROGRAM, "--shapes", timeout=600)
    assert done.stdout == "0 children were killed\n"
    assert len(table(run, "processes")) == 1 + FORKS


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
