"""The verdict names a planted fault, and does not name it in the twin without it. The short ones of
planted.py; all of them, often: docs/verdict.md."""

import pytest
from planted import CASES
from runs import crosscut, sees_native, table


def judge(case, folder, planted):
    """What is wrong with the verdict; "": it is right, the second time at least. On a machine that
    is busy with other things one in twenty is wrong (docs/verdict.md)."""
    first = case.wrong(case.run(folder, planted), planted)
    return first and case.wrong(case.run(folder, planted), planted)


@pytest.mark.parametrize("name", ["input", "python", "gc", "disk", "process", "threads", "workers",
                                  "gil-called", "threads-joined", "native-select",
                                  "opencl-copies", "engine"])
def test_the_verdict_names_the_fault_and_its_line(name, tmp_path):
    for folder, planted in (("planted", True), ("twin", False)):
        assert judge(CASES[name], tmp_path / folder, planted) == ""


@pytest.mark.parametrize("name", ["child", "tenth-sleep", "one-slow"])
def test_a_place_has_the_time_of_all_its_causes_by_the_programs_own_clock(name, tmp_path):
    case = CASES[name]
    rows = case.run(tmp_path / "planted", True)
    assert case.wrong(rows, True) == ""
    off, _ = case.gain(rows)
    assert abs(off) <= 0.15, f"clock {case.clock}, {rows[0]}"
    places = table(tmp_path / "planted", "places")
    of_first = [row for row in places
                if (row["process"], row["place"]) == (rows[0]["process"], rows[0]["blame"])]
    assert sum(row["ns"] for row in of_first) == of_first[0]["place_ns"]


def test_native_code_that_nothing_wraps_is_told_where_it_releases_the_gil(tmp_path):
    assert judge(CASES["unwrapped"], tmp_path / "planted", True) == ""


@pytest.mark.skipif(not sees_native(), reason="perf_event_open is refused")
def test_native_code_that_keeps_the_gil_is_told_by_samples_of_it(tmp_path):
    case = CASES["keeps"]
    assert judge(case, tmp_path / "planted", True) == ""
    case.flags = ()
    rows = case.run(tmp_path / "without", True)
    assert rows[0]["cause"] == "python" and "--python=samples tells them apart" in rows[0]["action"]


def test_a_report_opens_with_the_verdict_and_its_evidence(tmp_path):
    run = tmp_path / "run"
    rows = CASES["sleep"].run(run, True)
    lines = crosscut("report", run).splitlines()
    title = next(i for i, line in enumerate(lines) if line.startswith(CASES["sleep"].program.name))
    block = lines[title + 1:lines.index("", title)]
    assert block[0].strip() == rows[0]["headline"]
    assert len(block) <= 12
    assert rows[0]["blame"] in " ".join(line.strip() for line in block)
    assert "The whole window: start-up" in " ".join(line.strip() for line in block)
    assert float(rows[0]["gain_low_share"]) <= float(rows[0]["share"])


def test_time_outside_operations_has_the_programs_lines(tmp_path):
    run = tmp_path / "run"
    CASES["python"].run(run, True)
    work = [row for row in table(run, "part_work") if row["part"] == "steps"]
    whole = sum(row["ns"] for row in work)
    unnamed = sum(row["ns"] for row in work if row["what"] == "none")
    assert unnamed <= 0.05 * whole
    assert any(row["what"] == "line" and "train.py:" in row["work"] for row in work)
