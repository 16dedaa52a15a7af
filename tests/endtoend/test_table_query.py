"""`crosscut table --where --sort --limit`, Parquet, and the summary for other programs."""

import json
import os
import subprocess
import sys

import pytest

import crosscut
from runs import CROSSCUT, record_script, table
from runs import crosscut as read

PROGRAM = """
import crosscut, time
for _ in range(12):
    crosscut.step()
    with crosscut.operation("load"): time.sleep(0.002)
    with crosscut.operation("solve"): time.sleep(0.006)
crosscut.step_end()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tmp_path_factory.mktemp("query") / "run"
    assert record_script(run, PROGRAM, "--plan=control=0,everything=100").returncode == 0
    return run


def rows(run, *flags):
    done = subprocess.run([CROSSCUT, "table", run, "overlap", "--format=json", *flags],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["columns"], done.stderr


def test_conditions_order_and_limit_choose_rows_of_the_whole_table(run):
    whole = table(run, "overlap")
    wanted = sorted((row for row in whole if row["operation"] == "solve" and row["ns"] > 100_000),
                    key=lambda row: -row["ns"])[:2]
    columns, said = rows(run, "--where=operation = solve", "--where=ns > 100us", "--sort=-ns",
                         "--limit=2")
    assert columns["ns"] == [row["ns"] for row in wanted]
    assert columns["layers"] == [row["layers"] for row in wanted]
    assert f"of {len(whole)} meet the conditions" in said


def test_python_chooses_the_same_rows(run):
    columns, _ = rows(run, "--where=ns >= 1us", "--sort=ns", "--limit=3")
    chosen = crosscut.read(run).table("overlap", where="ns >= 1us", sort="ns", limit=3)
    assert {name: chosen[name] for name in chosen.columns} == columns
    with pytest.raises(ValueError, match="limit=-1"):
        crosscut.read(run).table("overlap", limit=-1)


def test_a_file_has_the_format_of_its_name(run, tmp_path):
    read("table", run, "overlap", "--sort=-ns", "-o", tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["columns"]["ns"] == rows(
        run, "--sort=-ns")[0]["ns"]
    read("table", run, "overlap", "-o", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == read("table", run, "overlap")
    failed = subprocess.run([CROSSCUT, "table", run, "overlap", "--sort=nss", "-o",
                             tmp_path / "none.csv"], capture_output=True)
    assert failed.returncode == 2 and not (tmp_path / "none.csv").exists()


def test_parquet_has_the_same_cells(run, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    # The command lies in no environment: it takes the first Python.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    read("table", run, "overlap", "--sort=-ns", "--limit=4", "-o", tmp_path / "t.parquet")
    found = parquet.read_table(tmp_path / "t.parquet")
    columns, _ = rows(run, "--sort=-ns", "--limit=4")
    assert found.to_pydict() == columns
    assert found.schema.metadata[b"crosscut.table"] == b"overlap"
    whole = crosscut.read(run).table("overlap")
    assert whole.to_arrow().to_pydict() == {name: whole[name] for name in whole.columns}


def test_a_summary_is_short_and_all_its_numbers_are_cells(run):
    text = read("report", run, "--format=json", "--summary")
    assert len(text.encode()) <= 8192
    assert text == crosscut.read(run).report("summary")
    summary = json.loads(text)
    sections = [value for value in summary.values() if isinstance(value, dict) and "table" in value]
    assert {section["table"] for section in sections} >= {"processes", "step_summary"}
    for section in sections:
        whole = json.loads(read("table", run, section["table"], "--format=json"))
        assert section["rows_in_all"] == whole["rows"]
        cells = [dict(zip(whole["columns"], row)) for row in zip(*whole["columns"].values())]
        for row in section["rows"]:
            assert row in cells
    assert summary["gaps"]["count"] == len(crosscut.read(run).gaps)


def test_what_a_summary_says_to_ask_next_can_be_asked(run):
    questions = json.loads(read("report", run, "--summary"))["ask_next"]
    assert len(questions) >= 3
    for question in questions:
        words = question["command"].split()
        assert words[0] == "crosscut" and read(*words[1:])
