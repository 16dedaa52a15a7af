"""What processes take of CPU and memory, looked at while they record."""

import json
import sys

import pytest
from runs import record_script, table

BURN_THEN_SLEEP = """
import json, time
kept = bytearray(b"x") * (64 << 20)
begin = time.process_time_ns()
while time.process_time_ns() - begin < 1_200_000_000:
    sum(range(1000))
burnt = time.process_time_ns() - begin
time.sleep(1.7)
print(json.dumps([burnt, time.process_time_ns()]))
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
    burnt, whole = json.loads(result.stdout)
    rows = table(run, "utilization")
    (process,) = table(run, "processes")
    assert {row["process"] for row in rows} == {process["process"]}
    assert rows[0]["begin_ns"] >= process["start_ns"]
    assert rows[-1]["end_ns"] <= process["start_ns"] + process["wall_ns"]
    for before, after in zip(rows, rows[1:]):
        assert before["end_ns"] == after["begin_ns"]
    for row in rows:
        assert row["end_ns"] - row["begin_ns"] >= 490_000_000, "never more often"
        assert row["device_busy_ns"] == row["device_percent"] == ""
    # The first look may be late, but not by half of the work.
    assert burnt / 2 < sum(row["cpu_ns"] for row in rows) < whole
    assert float(rows[-1]["cpu_percent"]) < 50, "it sleeps"
    assert max(row["resident_bytes"] for row in rows) > 64 << 20


def test_a_killed_process_keeps_what_was_seen(tmp_path):
    run = tmp_path / "run"
    assert record_script(run, KILLED).returncode == -9
    assert len(table(run, "utilization")) >= 1


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
