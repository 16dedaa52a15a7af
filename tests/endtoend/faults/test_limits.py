"""Progress and what it extrapolates to; recordings that end before their program."""

import subprocess
import sys

import pytest
from runs import CROSSCUT, record_script, table

PROGRESS = """
import time, crosscut
begin = time.perf_counter_ns()
crosscut.progress(0)
for i in range(1, 31):
    crosscut.step()
    with crosscut.operation("learn"):
        sum(range(200_000))
    if i == 20:
        paused = time.perf_counter_ns()
        crosscut.pause()
        time.sleep(0.05)
        crosscut.progress(0.5)  # recorded in a pause, too
        excluded = time.perf_counter_ns() - paused
        crosscut.resume()
print(paused - begin, excluded)
"""


def test_progress_extrapolates_what_was_recorded(tmp_path):
    result = record_script(tmp_path / "run", PROGRESS, "--sources=none")
    assert result.returncode == 0, result.stderr
    own, excluded = map(int, result.stdout.split())
    rows = table(tmp_path / "run", "progress")
    assert [row["operation"] for row in rows][0] == "(all)"
    assert {"learn", ""} <= {row["operation"] for row in rows}
    for row in rows:
        assert (float(row["from_fraction"]), float(row["to_fraction"])) == (0, 0.5)
        classes = [row[f"{name}_ns"]
                   for name in ("python", "framework_cpp", "cuda_cpp", "gpu", "other")]
        assert row["total_ns"] == sum(classes)
        assert abs(row["total_ns"] - 2 * row["recorded_ns"]) <= len(classes)
    assert rows[0]["recorded_ns"] == sum(row["recorded_ns"] for row in rows[1:])

    # By the program's own clock, less what lies between its calls and ours; the pause would be
    # twice as long in the whole program.
    assert own - 1_000_000 - own // 10 <= rows[0]["recorded_ns"] <= own + excluded - 50_000_000
    assert 2 * 50_000_000 <= rows[0]["excluded_ns"] <= 2 * excluded


STEPS = """
import os, sys, crosscut
child = os.fork()
for i in range(50):
    assert crosscut.step() == i  # counts on when nothing is recorded any more
    with crosscut.operation("learn"):
        sum(range(1000))
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("all 50", crosscut.active())
sys.exit(7)
"""


def test_recording_stops_after_steps_and_the_program_goes_on(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, STEPS, "--stop-after-steps=12", "--sources=none")
    assert (result.returncode, result.stdout) == (7, "all 50 False\n"), result.stderr
    steps = table(run, "steps")
    processes = {row["process"]: row["complete"] for row in table(run, "processes")}
    assert list(processes.values()) == [1, 1]
    for process in processes:  # the forked child counts its own
        assert [row["step"] for row in steps if row["process"] == process] == list(range(12))
    windows = table(run, "windows")
    assert sorted(row["steps"] for row in windows) == [12, 12]


SECONDS = """
import os, subprocess, sys, time, crosscut
end = time.monotonic() + 60
while crosscut.active():
    crosscut.step()
    sum(range(1000))
    assert time.monotonic() < end
after = time.monotonic_ns()
while time.monotonic_ns() < int(os.environ["CROSSCUT_STOP_AT"]):
    time.sleep(0.001)
subprocess.run([sys.executable, "-c", "import crosscut; print(crosscut.active())"], check=True)
for i in range(20):
    crosscut.step()
print(os.environ["CROSSCUT_STOP_AT"], after)
"""
CLOCKS_NS = 1_000_000  # far more than the recorder's clock is off


def test_recording_stops_after_seconds_in_all_processes(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, SECONDS, "--stop-after-seconds=6", "--sources=none")
    assert result.returncode == 0, result.stderr
    active, stop_at, after = result.stdout.split()
    assert active == "False"
    (process,) = table(run, "processes")  # the one begun later left nothing
    assert process["complete"] == 1
    (window,) = table(run, "windows")
    assert int(stop_at) - CLOCKS_NS <= window["end_ns"] <= int(after) + CLOCKS_NS
    assert len(table(run, "steps")) > 1


@pytest.mark.parametrize("option", ["--stop-after-steps=3", "--stop-after-seconds=1"])
def test_a_dormant_process_takes_its_limits_from_start(tmp_path, option):
    result = subprocess.run([CROSSCUT, "record", "-o", tmp_path / "run", "--dormant", option, "--",
                             sys.executable, "-c", "print('ran')"],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "--dormant" in result.stderr
