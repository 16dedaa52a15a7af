"""What CUPTI itself adds to calls: measured with and without work of devices, and subtracted."""

import subprocess
import sys

import pytest
from runs import record_script, table
from test_adds_up import check_sums
from test_cupti import FAKE, PLUGIN, PROGRAM, plugin, source

from crosscut import cupti_cost

pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="built without CUPTI's headers")

LAUNCH_NS, COPY_NS, CALLS = 60_000, 25_000, 300
CALLING = PROGRAM + f"""
cuda.fake_inflate.argtypes = [ctypes.c_int64, ctypes.c_int64]
cuda.fake_inflate({LAUNCH_NS}, {COPY_NS})
for _ in range({CALLS}):
    with crosscut.operation("work"):
        cuda.fake_launch(b"kernel", 1_000)
        cuda.fake_copy()
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The file, and by kind what was printed."""
    folder = tmp_path_factory.mktemp("cost")
    script, file = folder / "program.py", folder / "deep" / "cost"
    script.write_text(CALLING)
    done = subprocess.run(
        [sys.executable, "-m", "crosscut.cupti_cost", "--pairs=4",
         f"--plugin={PLUGIN},library={FAKE}", "-o", file, "--", sys.executable, script],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head == "kind,ns,low_ns,high_ns,calls"
    return file, {kind: list(map(int, numbers)) for kind, *numbers in
                  (row.split(",") for row in rows)}


def test_what_was_planted_is_found_by_kind(measured):
    _, found = measured
    for kind, planted in (("launch", LAUNCH_NS), ("copy", COPY_NS)):
        ns, low, high, calls = found[kind]
        assert 0.8 * planted < ns < 2 * planted, (kind, found)  # other work stretches medians
        assert low <= ns <= high and calls == 4 * CALLS
    assert found["launch"][0] > found["copy"][0]


def test_it_is_subtracted_from_the_programs_time(measured, tmp_path):
    file, found = measured
    run = tmp_path / "run"
    result = record_script(run, CALLING, plugin(f",inflation={file}"), "--control-steps=0")
    assert result.returncode == 0, result.stderr
    check_sums(run)
    rows = {row["probe"]: row for row in table(run, "overhead")}
    subtracted = 0
    for kind, probe in (("launch", "CUDA launch"), ("copy", "CUDA copy")):
        row = rows[f"{probe}, also in control steps"]
        assert row["count"] == CALLS
        for column, per_call in (("subtracted_ns", 0), ("low_ns", 1), ("high_ns", 2)):
            assert row[column] == pytest.approx(CALLS * found[kind][per_call], rel=0.01)
        subtracted += row["subtracted_ns"]
    cells = [row for row in table(run, "overlap") if row["operation"] == "work"]
    raw, corrected = (sum(row[column] for row in cells) for column in ("ns", "corrected_ns"))
    assert raw - corrected > 0.8 * subtracted
    assert corrected < raw - 0.7 * CALLS * (LAUNCH_NS + COPY_NS)


def test_a_measurement_of_another_cupti_is_not_used_and_that_is_said(measured, tmp_path):
    file, _ = measured
    other = tmp_path / "other"
    other.write_text(file.read_text().replace("cupti 130500", "cupti 130400"))
    run = tmp_path / "run"
    record_script(run, CALLING, plugin(f",inflation={other}"))
    assert "measured with another CUPTI" in source(run)["message"]
    assert not [row for row in table(run, "overhead") if "also in" in row["probe"]]


def test_without_a_difference_nothing_is_written(tmp_path):
    pairs = [{"launch": (ns, 10), "copy": (1000.0, 10)} for ns in (5.0, -6.0, 2.0)]
    assert set(cupti_cost.costs(pairs)) == {"copy"}
    assert cupti_cost.costs(pairs)["copy"] == (1_000_000, 1_000_000, 1_000_000, 30)
    assert cupti_cost.costs(pairs[:1]) == {}  # of one pair no interval is known
    off = {("launch", "a"): (10.0, 5), ("launch", "b"): (20.0, 5)}
    on = {("launch", "a"): (12.0, 30), ("launch", "b"): (26.0, 10), ("launch", "c"): (9.0, 99)}
    assert cupti_cost.difference(off, on) == {"launch": (3.0, 40)}
