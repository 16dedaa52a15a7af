"""The main job on a real program: examples/train.py under `crosscut record`, every view of it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from runs import ROOT, crosscut, record, table
from test_adds_up import check_sums

STEPS = 60


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    times = folder / "times.json"
    result = record(folder / "run", [sys.executable, str(ROOT / "examples" / "train.py"),
                                     "--steps", str(STEPS), "--times", str(times)])
    assert result.returncode == 0, result.stderr
    return folder / "run", json.loads(times.read_text()), result


def main_process(run):
    return max(table(run, "processes"), key=lambda row: row["wall_ns"])["process"]


def test_output_is_the_programs_own(demo, tmp_path):
    plain = subprocess.run([sys.executable, str(ROOT / "examples" / "train.py"), "--steps",
                            str(STEPS), "--times", str(tmp_path / "t.json")],
                           capture_output=True, text=True, check=True)
    losses = [line for line in plain.stdout.splitlines() if "loss" in line and "ms" not in line]
    assert losses
    assert [line for line in demo[2].stdout.splitlines() if line in losses] == losses
    assert len(demo[2].stderr.splitlines()) <= 10


def test_demo_adds_up(demo):
    processes = check_sums(demo[0])
    assert len(processes) >= 3  # the trainer and two DataLoader workers
    assert all(row["complete"] == 1 for row in processes.values())


def test_operations_and_steps_are_found_without_an_edit(demo):
    run = demo[0]
    process = main_process(run)
    rows = {row["operation"]: row for row in table(run, "operations")
            if row["process"] == process}
    for name in ("data", "forward", "backward", "optimizer"):
        assert rows[name]["count"] > 0.7 * STEPS, name
    steps = [row for row in table(run, "steps") if row["process"] == process]
    assert STEPS - 1 <= len(steps) <= STEPS + 2
    workers = {row["process"] for row in table(run, "operations") if row["operation"] == "fetch"}
    assert len(workers) == 2 and process not in workers


def test_layers_are_told_apart(demo):
    run = demo[0]
    process = main_process(run)
    layers = {}
    for row in table(run, "overlap"):
        if row["process"] == process:
            layers[row["layers"]] = layers.get(row["layers"], 0) + row["ns"]
    assert layers["framework"] > 0 and layers["python"] > 0


def test_every_view_opens(demo, tmp_path):
    run = demo[0]
    assert "forward" in crosscut("report", run)
    assert "forward" in crosscut("report", run, "--format=markdown")
    assert json.loads(crosscut("report", run, "--format=json"))
    page = tmp_path / "report.html"
    crosscut("report", run, "--format=html", "-o", page)
    text = page.read_text()
    assert text.startswith("<!doctype html>") and len(text) < 5_000_000
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text


def test_chrome_export_is_json(demo, tmp_path):
    out = tmp_path / "trace.json"
    crosscut("export", demo[0], "--to=chrome", "-o", out)
    events = json.loads(out.read_text())["traceEvents"]
    names = {event["name"] for event in events if event["ph"] == "X"}
    assert {"forward", "backward", "optimizer"} <= names
    assert any(name.startswith("aten::") for name in names)
    assert any(name.startswith("ProfilerStep#") for name in names)


def test_chrome_export_loads_in_hta(demo, tmp_path):
    import hta.trace_analysis as hta
    folder = tmp_path / "traces"
    folder.mkdir()
    crosscut("export", demo[0], "--to=chrome", "-o", folder / "rank0.json.gz")
    analysis = hta.TraceAnalysis(trace_dir=str(folder))
    frame = analysis.t.get_trace(0)
    symbols = analysis.t.symbol_table.get_sym_table()
    names = {symbols[i] for i in frame["name"].unique()}
    assert "forward" in names and any(name.startswith("aten::") for name in names)


def test_a_run_is_read_where_it_lies(demo):
    assert os.path.exists(pathlib.Path(demo[0]) / "run.json")
    assert "train.py" in crosscut("info", demo[0])
    pids = {row["pid"] for row in table(demo[0], "processes")}
    rings = [f for f in os.listdir("/dev/shm") if f.startswith("crosscut-")]
    assert len(pids) >= 3 and not [f for f in rings if int(f.split("-")[2]) in pids]
