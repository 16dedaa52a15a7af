"""The time of each line is what the program's own clock says. On a busy machine a thread that looks
comes late; own_clocks.py tells how near they are."""

import pytest
from own_clocks import NAMES, measure
from runs import table

NEEDS = {"network": "torch", "hooks": "torch", "inference": "torch", "loader": "torch",
         "loader_workers": "torch", "imports": "numpy", "greenlets": "gevent"}
# docs/samples.md says why they are told too little on a busy machine: a library that waits with no
# span, threads that take turns at a lock, and threads that live shorter than samples are apart.
TOLD_IN_PART = {"remote", "conditions", "short_threads"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TOLD_IN_PART])
def test_lines_have_the_time_of_the_programs_own_clock(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "sys"))
    wall, lines = measure(name, tmp_path)
    assert lines
    for key, line in lines.items():
        assert line.error <= max(0.1 * wall, 0.15), (key, line.clock, line.told)
    lives = {(row["process"], row["thread"]): row["life_ns"]
             for row in table(tmp_path / "run", "thread_lives")}
    sums = {}
    for row in table(tmp_path / "run", "lines"):
        thread = (row["process"], row["thread"])
        sums[thread] = sums.get(thread, 0) + row["ns"]
    assert sums and all(lives[thread] == ns for thread, ns in sums.items())


def test_the_end_of_the_interpreter_is_no_line(tmp_path):
    measure("finalisation", tmp_path)
    ends = [row for row in table(tmp_path / "run", "lines") if row["what"] == "exit"]
    assert sum(row["ns"] for row in ends) > 0.1e9
    work = [row for row in table(tmp_path / "run", "part_work") if row["what"] == "exit"]
    assert sum(row["ns"] for row in work) == sum(row["ns"] for row in ends)
