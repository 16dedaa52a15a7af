"""5 s of Python, 5 s in a wrapped native library, 5 s on a device: every metric of IML against the
program's own clocks. CROSSCUT_TEST_SECONDS says how long each is (1 s where it does not)."""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from runs import PACKAGE, record, table
from test_adds_up import check_sums

SECONDS = os.environ.get("CROSSCUT_TEST_SECONDS", "1")
HERE = pathlib.Path(__file__).parent
NATIVE = {"framework", "native", "simulator", "comm", "data"}
METRICS = ("GPUTimeSec", "CudaCppTimeSec", "FrameworkCppTimeSec", "PythonTimeSec", "Other")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The folder of five_native."""
    folder = tmp_path_factory.mktemp("five")
    file = folder / f"five_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}",
                    HERE / "five_native.c", "-o", file], check=True)
    return folder


def metric_of(row):
    """What a cell of `overlap` counts as: the first that matches."""
    layers = set(row["layers"].split("+"))
    return METRICS[0 if row["device"] else 1 if "runtime" in layers else
                   2 if layers & NATIVE else 3 if "python" in layers else 4]


def recorded(run, column):
    """{operation: {metric: ns}} by the table `overlap`."""
    found = {}
    for row in table(run, "overlap"):
        metrics = found.setdefault(row["operation"], dict.fromkeys(METRICS, 0))
        metrics[metric_of(row)] += row[column]
    return found


def expected(told):
    """The same by the program's own clocks: at each instant, what matches first of all that goes
    on, in the innermost operation."""
    layers = {"device": 0, "runtime": 1, "native": 2, "whole": 3}
    edges, found = [], {operation: dict.fromkeys(METRICS, 0) for operation in told}
    for operation, intervals in told.items():
        for what, spans in intervals.items():
            for begin, end in spans:
                # Inner operations begin later: the latest begin of the open ones is the innermost.
                mark = (layers[what], (begin, operation))
                edges += [(begin, 1, mark), (end, 0, mark)]
    active, last = [], 0
    for at, begins, mark in sorted(edges):
        whole = [place for layer, place in active if layer == 3]
        if whole:
            found[max(whole)[1]][METRICS[min(layer for layer, _ in active)]] += at - last
        active.append(mark) if begins else active.remove(mark)
        last = at
    return found


@pytest.mark.parametrize("variant", ["apart", "repeated", "nested", "overlapped"])
def test_every_metric_is_what_the_program_clocked(library, tmp_path, variant):
    pytest.importorskip("pyopencl")
    run = tmp_path / "run"
    result = record(run, [sys.executable, HERE / "five.py", SECONDS, variant],
                    "--wrap", "five_native:simulator",
                    env={"PYTHONPATH": f"{PACKAGE}{os.pathsep}{library}"})
    assert result.returncode == 0, result.stderr
    check_sums(run)
    intervals, waited_ns = json.loads(result.stdout)
    clocked = expected(intervals)
    # Another thread may have the processor between the program's clock and ours.
    within = 20e6 + waited_ns
    for column in ("ns", "corrected_ns"):
        measured = recorded(run, column)
        assert clocked
        for operation, metrics in clocked.items():
            assert metrics
            for metric, ns in metrics.items():
                assert measured[operation][metric] == pytest.approx(ns, rel=0.01, abs=within), (
                    operation, metric, column)
