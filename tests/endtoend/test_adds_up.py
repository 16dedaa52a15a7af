"""Promise 1: for every process, the partition tables sum to the window, to the nanosecond."""

import sys

import pytest
from runs import record_script, table

THREADS = """
import threading, time, crosscut
def work(n):
    for i in range(20):
        with crosscut.operation(f"work {n % 7}"):
            sum(range(2000))
            time.sleep(0.001)
threads = [threading.Thread(target=work, args=(n,)) for n in range(64)]
[t.start() for t in threads]
[t.join() for t in threads]
"""

PAUSED = """
import time, crosscut
for i in range(5):
    with crosscut.operation("on"):
        time.sleep(0.01)
    crosscut.pause()
    time.sleep(0.02)
    crosscut.resume()
"""

KILLED = """
import multiprocessing, os, signal, time, crosscut
def child(ready):
    with crosscut.operation("child"):
        ready.set()
        while True:
            sum(range(1000))
if __name__ == "__main__":
    children = []
    for _ in range(4):
        ready = multiprocessing.Event()
        children.append(multiprocessing.Process(target=child, args=(ready,)))
        children[-1].start()
        ready.wait()
    time.sleep(0.2)
    for c in children:
        os.kill(c.pid, signal.SIGKILL)
        c.join()
"""

FORKED = """
import os, crosscut
if os.fork() == 0:
    for i in range(1000):
        with crosscut.operation("child"):
            pass
    os._exit(0)
os.wait()
"""

STEPS = """
import time, crosscut
for i in range(400):
    crosscut.step()
    with crosscut.operation("a"):
        sum(range(3000))
        with crosscut.operation("b"):
            time.sleep(0.0005)
"""


def sums(rows, key):
    total = {}
    for row in rows:
        total[row["process"]] = total.get(row["process"], 0) + row[key]
    return total


def check_sums(run):
    processes = {row["process"]: row for row in table(run, "processes")}
    windows = {key: row["wall_ns"] for key, row in processes.items()}
    assert sums(table(run, "overlap"), "ns") == windows
    operations = table(run, "operations")
    assert sums(operations, "wall_ns") == windows
    for row in operations:
        parts = ("host_ns", "overlap_ns", "device_ns", "idle_ns", "unknown_ns", "control_ns")
        assert row["wall_ns"] == sum(row[part] for part in parts)
    parts = table(run, "window_parts")
    assert sums(parts, "wall_ns") == windows
    steps = {row["process"]: row["wall_ns"] for row in parts if row["part"] == "steps"}
    assert sums(table(run, "step_overlap"), "ns") == steps
    for row in table(run, "overlap"):
        assert 0 <= row["corrected_ns"] <= row["ns"] or row["operation"] == "unplaced"
    return processes


@pytest.mark.parametrize("program, flags", [(THREADS, ()), (PAUSED, ()), (KILLED, ()),
                                            (STEPS, ("--control-steps=20",))])
def test_tables_sum_to_the_window(tmp_path, program, flags):
    run = tmp_path / "run"
    result = record_script(run, program, *flags)
    assert result.returncode == 0, result.stderr
    processes = check_sums(run)
    killed = 4 if program is KILLED else 0
    assert sum(row["complete"] == 0 for row in processes.values()) == killed


def test_threads_sum_to_each_threads_observed_life(tmp_path):
    run = tmp_path / "run"
    assert record_script(run, THREADS).returncode == 0
    rows = table(run, "threads")
    threads = {row["thread"] for row in rows}
    assert len(threads) >= 65
    workers = [row for row in rows if row["operation"].startswith("work ")]
    assert len({row["thread"] for row in workers}) == 64
    assert {row["operation"] for row in workers} == {f"work {n}" for n in range(7)}


def test_paused_time_is_excluded(tmp_path):
    run = tmp_path / "run"
    assert record_script(run, PAUSED).returncode == 0
    (process,) = table(run, "processes")
    assert 5 * 20_000_000 <= process["excluded_ns"] <= 5 * 200_000_000


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))


def test_a_forked_child_knows_what_its_parents_probes_cost(tmp_path):
    run = tmp_path / "run"
    assert record_script(run, FORKED).returncode == 0
    probe = next(row for row in table(run, "overhead") if row["probe"] == "operation (Python)")
    assert probe["count"] == 1000
    assert probe["total_ns"] > 1000 * 10
    # Between the stamps there is a return to the interpreter, around them the rest of `with`.
    assert probe["total_ns"] / 20 < probe["inside_ns"] < probe["total_ns"] * 19 / 20
