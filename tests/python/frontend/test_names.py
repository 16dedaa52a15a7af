"""A program that makes more names than there is memory for: what it marks stays, and the report
says what it could not name."""

import sys

import crosscut

PROGRAM = """
import crosscut
for i in range(60_000):
    with crosscut.operation(f"made up as it goes {i}"): pass
for i in range(100):
    crosscut.step()
    crosscut.counter(f"late counter {i % 3}", i)
    with crosscut.operation("late"): pass
"""


def test_marks_stay_where_names_find_no_room(recorder):
    done = recorder.record(sys.executable, recorder.script("names.py", PROGRAM),
                           flags=("--control-steps=0", "--memory=8"))
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    operations = {row["operation"]: row["count"] for row in run.table("operations").rows()}
    # Of the first step on: nothing is lost but names.
    assert len(list(run.table("steps").rows())) == 100
    assert operations["(unnamed)"] >= 100 and "made up as it goes 0" in operations
    assert sum(count for name, count in operations.items() if name != "(no operation)") == 60_100
    lost = {row["reason"]: row["count"] for row in run.table("drops").rows()}
    assert set(lost) == {"names"} and 0 < lost["names"] < 60_100
    gaps = [row["message"] for row in run.table("gaps").rows()]
    assert any(f"{lost['names']} new names of" in gap and "found no room" in gap for gap in gaps)
