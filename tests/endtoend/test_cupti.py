"""CUPTI's plugin in real recordings: with a simulated libcupti and device, and without either."""

import collections
import ctypes
import json
import os
import subprocess
import sys

import pytest
from runs import PACKAGE, ROOT, crosscut, record, record_script, table
from test_adds_up import check_sums

PLUGIN = PACKAGE / "crosscut" / "plugins" / "cupti" / "libcrosscut_cupti.so"
FAKE = ROOT / "build" / "release" / "plugins" / "cupti" / "libfake_cupti.so"


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="built without CUPTI's headers")

PROGRAM = f"""
import ctypes, time
import crosscut
cuda = ctypes.CDLL({str(FAKE)!r})
cuda.fake_launch.argtypes = [ctypes.c_char_p, ctypes.c_int64]
cuda.fake_launch_graph.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int64]
deadline = time.monotonic() + 10
while not cuda.fake_is_heard() and time.monotonic() < deadline:
    time.sleep(0.01)
"""
WORK = """
for _ in range(20):
    with crosscut.operation("forward"):
        for _ in range(5):
            cuda.fake_launch(b"_Z4gemmPf", 400_000)
        cuda.fake_synchronize()
    with crosscut.operation("backward"):
        cuda.fake_launch_graph(b"_Z4nodePf", 10, 100_000)
        cuda.fake_synchronize()
print("done")
"""


def plugin(options=""):
    return f"--plugin={PLUGIN},library={FAKE}{options}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cupti") / "run"
    result = record_script(folder, PROGRAM + WORK, plugin(), "--control-steps=0")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n"
    return folder


def source(run):
    return next(row for row in table(run, "sources") if "cupti" in row["name"])


def test_sums_hold_with_device_rows(run):
    check_sums(run)


def test_the_source_is_on(run):
    row = source(run)
    assert row["state"] == "on", row
    assert "300 spans of devices" in row["message"]


def test_device_time_belongs_to_the_operation_that_launched_it(run):
    rows = {row["launch_operations"]: row["ns"] for row in table(run, "device_by_launch")}
    assert set(rows) == {"forward", "backward"}, rows
    assert rows["forward"] == 20 * 5 * 400_000
    assert rows["backward"] == 20 * 10 * 100_000


def test_waiting_for_the_device_is_runtime_with_the_device_busy(run):
    rows = [row for row in table(run, "overlap") if row["operation"] == "forward"]
    busy = sum(row["ns"] for row in rows if row["device"] == 1)
    waits = sum(row["ns"] for row in rows if row["device"] == 1 and row["layers"] == "runtime")
    assert busy == pytest.approx(20 * 5 * 400_000, rel=0.02)
    assert waits > 0.9 * busy


def test_kernels_and_calls_have_their_names_and_counts(run):
    rows = {(row["layer"], row["name"]): row for row in table(run, "functions")}
    assert rows["device", "gemm(float*)"]["count"] == 100
    assert rows["device", "gemm(float*)"]["p50_ns"] == 400_000
    assert rows["device", "node(float*)"]["count"] == 200
    assert rows["runtime", "cudaLaunchKernel"]["count"] == 100
    assert rows["runtime", "cudaGraphLaunch"]["count"] == 20
    assert rows["runtime", "cudaDeviceSynchronize"]["count"] == 40


def test_the_clock_states_its_error(run):
    clocks = [row for row in table(run, "clocks") if "CUPTI" in row["clock"]]
    assert clocks and 0 < clocks[0]["error_ns"] < 1_000_000


def test_drops_are_in_the_table(tmp_path):
    result = record_script(tmp_path / "run", PROGRAM + "cuda.fake_drop(7)\n" + WORK, plugin())
    assert result.returncode == 0, result.stderr
    assert sum(row["count"] for row in table(tmp_path / "run", "drops")) == 7
    assert "CUPTI dropped 7 records" in source(tmp_path / "run")["message"]


@pytest.mark.parametrize("leave", ["os._exit(5)", "os.kill(os.getpid(), 9)"])
def test_what_a_device_did_before_a_sudden_end_is_a_gap(tmp_path, leave):
    result = record_script(tmp_path / "run", PROGRAM + "import os\n" + WORK + leave, plugin())
    assert result.returncode == (5 if "_exit" in leave else -9), result.stderr
    gaps = [row["message"] for row in table(tmp_path / "run", "gaps")]
    assert any("while cupti was recording" in gap for gap in gaps), gaps


@pytest.mark.parametrize("options", ["", f",library={FAKE}"])
def test_a_sudden_end_of_who_gave_a_device_nothing_is_no_gap(tmp_path, options):
    result = record_script(tmp_path / "run", "import os, time; time.sleep(0.5); os._exit(5)",
                           f"--plugin={PLUGIN}{options}")
    assert result.returncode == 5, result.stderr
    assert not [row for row in table(tmp_path / "run", "gaps") if "recording" in row["message"]]


def test_an_ordinary_end_is_no_gap(run):
    assert not [row for row in table(run, "gaps") if "was recording" in row["message"]]


def test_the_cupti_of_the_virtual_environment_is_found(tmp_path):
    """PyTorch loads that of its own environment; another version beside it may not go together."""
    library = tmp_path / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13" / "lib"
    library.mkdir(parents=True)
    (library / "libcupti.so.13").symlink_to(FAKE)
    (tmp_path / "libcuda.so.1").symlink_to(FAKE)  # a driver, as far as one looks for it
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    env = {"LD_LIBRARY_PATH": str(tmp_path), "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
    script = "import time, sys; time.sleep(0.5); print('done')"
    for command, path in ((str(tmp_path / "bin" / "python"), ""), ("python", tmp_path / "bin")):
        run = tmp_path / f"run-{bool(path)}"
        env["PATH"] = f"{path}:{os.environ['PATH']}"
        result = record(run, [command, "-S", "-c", script], f"--plugin={PLUGIN}", env=env)
        assert result.stdout == "done\n", result.stderr
        row = source(run)
        assert (row["state"], row["version"]) == ("on", "13.5 (API 130500)"), row


def test_another_subscriber_is_named_and_the_rest_is_recorded(tmp_path):
    program = f"""
import ctypes
cuda = ctypes.CDLL({str(FAKE)!r})
cuda.fake_owner(b"Nsight")
import time
import crosscut
crosscut.start({str(tmp_path / "run")!r})
time.sleep(0.3)
with crosscut.operation("forward"):
    time.sleep(0.1)
crosscut.stop()
"""
    script = tmp_path / "conflict.py"
    script.write_text(program)
    env = dict(os.environ, PYTHONPATH=str(PACKAGE),
               CROSSCUT_PLUGINS=f"{PLUGIN},library={FAKE}")
    subprocess.run([sys.executable, script], env=env, check=True, timeout=60)
    row = source(tmp_path / "run")
    assert row["state"] == "conflict", row
    assert '"Nsight"' in row["message"]
    assert any(row["operation"] == "forward" for row in table(tmp_path / "run", "operations"))


@pytest.mark.skipif(has_driver(),
                    reason="an NVIDIA driver is installed: tests/gpu is for this machine")
def test_without_a_driver_it_is_missing_and_says_so(tmp_path):
    result = record(tmp_path / "run", [sys.executable, "-c", "print('done')"],
                    f"--plugin={PLUGIN}")
    assert result.returncode == 0 and result.stdout == "done\n"
    row = source(tmp_path / "run")
    assert row["state"] == "missing", row
    assert "libcuda.so.1" in row["message"]


METRICS = "sm__cycles_elapsed.max+dram__bytes.sum"
COUNTERS = """
cuda.fake_counters.argtypes = [ctypes.c_double, ctypes.c_size_t]
cuda.fake_counters(1.51, {metrics_a_pass})
"""


def measured(folder, options="", metrics=METRICS, metrics_a_pass=64, before=""):
    counters = COUNTERS.format(metrics_a_pass=metrics_a_pass)
    done = record_script(folder / "run", PROGRAM + counters + before + WORK,
                         plugin(f",metrics={metrics}{options}"), "--control-steps=0")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    return folder / "run", "\n".join(row["message"] for row in table(folder / "run", "gaps"))


def counts(run):
    return {row["name"]: row["count"] for row in table(run, "kernels")}


@pytest.mark.parametrize("options, metrics_a_pass, passes", [
    ("", 64, 1), (",metrics_replay=on", 64, 1), (",metrics_replay=on", 1, 2)])
def test_metrics_of_kernels_are_what_the_counters_said(tmp_path, options, metrics_a_pass, passes):
    run, gaps = measured(tmp_path, options, metrics_a_pass=metrics_a_pass)
    rows = {(row["kernel"], row["metric"]): row for row in table(run, "kernel_metrics")}
    assert set(rows) == {("gemm(float*)", "sm__cycles_elapsed.max"),
                         ("gemm(float*)", "dram__bytes.sum")}  # no node of a graph
    cycles, size = (rows["gemm(float*)", name] for name in ("sm__cycles_elapsed.max",
                                                            "dram__bytes.sum"))
    assert (cycles["count"], cycles["unit"], size["count"], size["unit"]) == (
        100, "cycles", 100, "bytes")
    assert {float(cycles[of]) for of in ("mean", "min", "max")} == {604}
    assert {float(size[of]) for of in ("mean", "min", "max")} == {0.125}
    assert counts(run) == {"gemm(float*)": 100, "node(float*)": 200}
    assert "times of this run are not comparable" in gaps
    assert ("up to 2 times" in gaps) == (passes == 2)
    crosscut("export", run, "--to", "chrome", "-o", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [event["args"] for event in events if event.get("cat") == "kernel"]
    assert collections.Counter(args.get("dram__bytes.sum") for args in kernels) == {
        0.125: 100, None: 200}
    again = tmp_path / "trace.json"
    assert table(again, "kernel_metrics") == table(run, "kernel_metrics")


def test_metrics_of_a_window_are_those_of_all_kernels(tmp_path):
    run, gaps = measured(tmp_path, ",metrics_per=window")
    rows = {row["metric"]: row for row in table(run, "kernel_metrics")}
    assert {row["kernel"] for row in rows.values()} == {"(all of a window)"}
    assert float(rows["sm__cycles_elapsed.max"]["mean"]) == 100 * 604
    assert float(rows["dram__bytes.sum"]["mean"]) == 100 * 0.125
    assert "times of this run are not comparable" in gaps and "ran alone" not in gaps


@pytest.mark.parametrize("function, code, metrics, words", [
    ("RangeProfilerEnable", 35, METRICS, "NVreg_RestrictProfilingToAdminUsers=0"),
    ("RangeProfilerSetConfig", 26, METRICS, "holds the device's performance counters"),
    ("", 0, "sm__of_tomorrow.sum", "no metric sm__of_tomorrow.sum")])
def test_where_no_metrics_are_to_be_had_a_gap_says_why_and_the_rest_is_recorded(
        tmp_path, function, code, metrics, words):
    run, gaps = measured(tmp_path, metrics=metrics,
                         before=f"cuda.fake_refuse({function.encode()!r}, {code})\n")
    assert "Source cupti: a conflict in" in gaps and words in gaps
    assert "not comparable" not in gaps
    assert table(run, "kernel_metrics") == []
    assert counts(run) == {"gemm(float*)": 100, "node(float*)": 200}


@pytest.mark.skipif(has_driver(), reason="this machine has a driver")
def test_metrics_without_a_driver_are_told_to_be_missing(tmp_path):
    done = record_script(tmp_path / "run", "print('done')", f"--plugin={PLUGIN},metrics={METRICS}")
    assert done.stdout == "done\n"
    gaps = " ".join(row["message"] for row in table(tmp_path / "run", "gaps"))
    assert "no NVIDIA driver on this machine" in gaps
    assert "so there are no hardware metrics either" in gaps
