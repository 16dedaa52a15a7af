"""Steps that change over the run: where, how much and at which line, by the program's own clock."""

import json
import pathlib
import statistics
import sys

import pytest
from runs import crosscut, record, table

PROGRAM = pathlib.Path(__file__).parent / "programs" / "changing.py"
LINE = 1 + PROGRAM.read_text().splitlines().index("    time.sleep(seconds)  # the extra")
# Of each shape, where the longer steps lie; None: the last third.
LONGER = {
    "begins": range(140, 200),
    "ends": range(90),
    "spell": range(80, 140),
    "alternates": [step for step in range(200) if step // 40 % 2],
    "grows": None,
}
MOST_TRIES = 8


def run_of(shape, tmp_path):
    """A run, recorded by default, in which nine of ten steps took as long as planned (others on the
    machine change steps, too), and their lengths by the program's own clock."""
    for attempt in range(MOST_TRIES):
        run, out = tmp_path / f"run{attempt}", tmp_path / "lengths.json"
        result = record(run, [sys.executable, PROGRAM, shape, out], env={"CROSSCUT_PLAN": ""})
        assert result.returncode == 0, result.stderr
        lengths = json.loads(out.read_text())
        if sum(took - planned > 4e6 for planned, took in lengths) <= len(lengths) / 10:
            break
    return run, [took for _, took in lengths]


@pytest.mark.parametrize("shape", LONGER)
def test_a_change_is_told_with_its_step_and_line(shape, tmp_path):
    run, clock = run_of(shape, tmp_path)
    rows = table(run, "step_changes")
    assert [row["shape"] for row in rows] == [shape], rows
    row = rows[0]
    if shape == "grows":
        third = len(clock) // 3
        usual, changed = clock[:third], clock[-third:]
    else:
        longer = set(LONGER[shape])
        usual = [ns for step, ns in enumerate(clock) if step not in longer]
        changed = [clock[step] for step in longer]
        assert abs(row["first_step"] - min(longer)) <= 5
        assert abs(row["last_step"] - max(longer)) <= 5
    true = statistics.median(changed) / statistics.median(usual)
    assert row["changed_ns"] / row["usual_ns"] == pytest.approx(true, rel=0.15)
    assert row["line"].split(" ")[0].endswith(f"changing.py:{LINE}"), row
    assert row["finding"] in " ".join(crosscut("report", run).split())
    told = [found["message"] for found in table(run, "findings")
            if found["table"] == "step_changes"]
    assert told == [row["finding"]], row


def test_no_word_of_steps_that_stay_as_they_are(tmp_path):
    run, _ = run_of("stable", tmp_path)
    assert table(run, "step_changes") == []
