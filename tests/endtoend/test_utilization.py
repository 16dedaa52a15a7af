"""What processes take of CPU and memory, looked at while they record."""

import json
import sys

import pytest
from runs import record_script, table

BURN_THEN_SLEEP = """
import json, time
import crosscut
kept = bytearray(b"x") * (64 << 20)
looks = []
statm = open("/proc/self/statm", "rb", buffering=0)
def look():
    pages = int(statm.read().split()[1])
    statm.seek(0)
    looks.append([time.monotonic_ns(), time.process_time_ns(), 4096 * pages])
look()
crosscut.phase("burn")
while looks[-1][1] - looks[0][1] < 1_200_000_000:
    sum(range(1000))
    look()
del kept
for _ in range(170):
    time.sleep(0.01)
    look()
print(json.dumps(looks))
"""

KILLED = """
import os, signal, time
time.sleep(1.2)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_cpu_time_and_memory_are_what_the_program_says(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, BURN_THEN_SLEEP)
    assert result.returncode == 0, result.stderr
    looks = json.loads(result.stdout)
    rows = table(run, "utilization")
    (process,) = table(run, "processes")
    assert {row["process"] for row in rows} == {process["process"]}
    assert rows[0]["begin_ns"] >= process["start_ns"]
    # The last look may come a moment behind the window's end.
    assert rows[-1]["begin_ns"] < process["start_ns"] + process["wall_ns"]
    for before, after in zip(rows, rows[1:]):
        assert before["end_ns"] == after["begin_ns"]
    for row in rows[:-1]:
        assert row["end_ns"] - row["begin_ns"] >= 490_000_000, "but once more at the end"
    for row in rows:
        assert row["device_busy_ns"] == row["device_percent"] == ""
    # The program looks at its own clock, too, often: of each row, what it saw between the looks
    # next to its ends. Who looks may lose the processor meanwhile.
    (burn,) = [row for row in table(run, "phases") if row["phase"] == "burn"]
    ours = [(at + burn["begin_ns"] - looks[0][0], cpu, size) for at, cpu, size in looks]

    def own(row):
        seen = [cpu for at, cpu, _ in ours if row["begin_ns"] <= at <= row["end_ns"]]
        return seen[-1] - seen[0] if seen else 0

    within = [row for row in rows if ours[0][0] <= row["begin_ns"] and row["end_ns"] <= ours[-1][0]]
    assert len(within) >= 3
    for row in within:
        assert row["cpu_ns"] == pytest.approx(own(row), rel=0.02, abs=50_000_000)
    assert sum(row["cpu_ns"] for row in within) == pytest.approx(sum(map(own, within)), rel=0.05)
    for row in rows:
        assert float(row["cpu_percent"]) == pytest.approx(
            100 * row["cpu_ns"] / (row["end_ns"] - row["begin_ns"]), abs=0.06)
    # Of its memory each row has what the program saw at its end, without what is Crosscut's own,
    # of which there is no more at one end than at another.
    apart = [next(size for at, _, size in ours if at >= row["end_ns"]) - row["resident_bytes"]
             for row in within]
    assert max(apart) - min(apart) < 1 << 20 and 0 < min(apart) < 4 << 20
    sizes = [row["resident_bytes"] for row in within]
    # Its looks have taken some by the time that it gives 64 MiB back.
    assert max(sizes) > 64 << 20 and max(sizes) - min(sizes) > 32 << 20
    assert float(within[-1]["cpu_percent"]) < 50, "it sleeps"


BURST = """
import json, os, resource, subprocess, sys, time
kept = bytearray(b"x") * (300 << 20)
del kept
small = "import resource, time; time.sleep(0.4); "
show = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
subprocess.run([sys.executable, "-c", small + show], check=True)
time.sleep(float(os.environ["WAIT"]))
exec(show)
"""


@pytest.mark.parametrize("wait", [0, 1.2])
def test_the_most_memory_is_that_of_the_program_however_short_it_is(tmp_path, wait):
    run = tmp_path / "run"
    result = record_script(run, BURST, env={"WAIT": str(wait)})
    child_kib, kib = map(int, result.stdout.split())
    peaks = {row["process"]: 0 for row in table(run, "processes")}
    assert len(peaks) == 2
    for row in table(run, "utilization"):
        peaks[row["process"]] = max(peaks[row["process"]], row["peak_bytes"] or 0)
    parent, child = (peaks[row["process"]] for row in table(run, "processes"))
    # Without the ring, of which the program's own figure has some MiB.
    assert 0 <= (kib << 10) - parent < 8 << 20
    # The kernel's figure of a child is its parent's, if it was begun while that was large.
    assert child < min(100 << 20, child_kib << 10)
    assert {row["process"] for row in table(run, "utilization")} == set(peaks), "short ones, too"


def test_a_killed_process_keeps_what_was_seen(tmp_path):
    run = tmp_path / "run"
    assert record_script(run, KILLED).returncode == -9
    assert len(table(run, "utilization")) >= 1


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
