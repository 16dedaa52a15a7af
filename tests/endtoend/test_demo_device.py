"""The demo as `make demo` runs it: the training with an OpenCL device beside it."""

import sys

import pytest
from runs import ROOT, crosscut, record, table
from test_adds_up import check_sums

STEPS = 30


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    run = tmp_path_factory.mktemp("demo") / "run"
    result = record(run, [sys.executable, str(ROOT / "examples" / "train.py"), "--augment",
                          "--steps", str(STEPS)], "--control-steps=0")
    assert result.returncode == 0, result.stderr
    return run


def test_the_devices_work_stands_beside_the_operations_and_adds_up(demo):
    check_sums(demo)
    device = {row["name"]: row for row in table(demo, "functions") if row["layer"] == "device"}
    assert device["augment"]["count"] == STEPS
    assert device["Memcpy HtoD"]["count"] == device["Memcpy DtoH"]["count"] == STEPS
    runtime = {row["name"]: row["count"] for row in table(demo, "functions")
               if row["layer"] == "runtime"}
    assert runtime["clEnqueueNDRangeKernel"] == STEPS
    # The device works on the next batch while this one is in use: under other operations.
    lead = max(table(demo, "processes"), key=lambda row: row["wall_ns"])["process"]
    busy = {row["operation"]: row["overlap_ns"] + row["device_ns"]
            for row in table(demo, "operations") if row["process"] == lead}
    assert sum(busy.values()) == pytest.approx(sum(row["total_ns"] for row in device.values()),
                                               rel=0.01)
    assert busy["forward"] + busy["data"] + busy["backward"] > 0


def test_the_report_names_the_device(demo):
    report = " ".join(crosscut("report", demo).split())
    assert "opencl 0.1 (" in report and "right to +-" in report


def test_hta_breaks_the_exported_traces_time_down(demo, tmp_path):
    import hta.trace_analysis as hta
    folder = tmp_path / "traces"
    folder.mkdir()
    crosscut("export", demo, "--to=chrome", "-o", folder / "rank0.json.gz")
    analysis = hta.TraceAnalysis(trace_dir=str(folder))
    frame = analysis.t.get_trace(0)
    symbols = analysis.t.symbol_table.get_sym_table()
    assert frame["stream"].max() >= 1
    steps = [name for name in map(symbols.__getitem__, frame["name"])
             if name.startswith("ProfilerStep#")]
    assert len(steps) >= 3
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    row = breakdown.iloc[0]
    # Microseconds, each start and end rounded by HTA.
    device = [row for row in table(demo, "functions") if row["layer"] == "device"]
    in_all = sum(row["total_ns"] for row in device)
    busy_us = row["compute_time(us)"] + row["non_compute_time(us)"]
    assert busy_us == pytest.approx(in_all / 1000, rel=0.05)
    assert row["idle_time(us)"] > 0
