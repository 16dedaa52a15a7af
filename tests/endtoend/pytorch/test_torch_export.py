"""Exports of PyTorch programs, held by their readers' own rules: PyTorch's validator, HTA."""

import gzip
import json
import pathlib
import subprocess
import sys

import pytest
import torch
from runs import ROOT, crosscut, record, table

HERE = pathlib.Path(__file__).parent

COLLECTIVE = """
import ctypes, sys, torch
from {module} import profile
backend = ctypes.CDLL(sys.argv[2])
with profile() as prof:
    torch.ones(2) + 1
    for sequence in (5, 6):
        backend.backend_collective(ctypes.c_int64(sequence))
prof.export_chrome_trace(sys.argv[1])
"""
TOLD = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Rank",
        "Process Group Name", "Process Group Description")


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    folder = pathlib.Path(torch.__file__).parent
    library = tmp_path_factory.mktemp("backend") / "backend.so"
    subprocess.run(["c++", "-std=c++20", "-O1", "-DNDEBUG", "-fPIC", "-shared", "-isystem",
                    folder / "include", HERE / "collective_backend.cc", "-o", library,
                    f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10"], check=True)
    return library


def collectives(tmp_path, module, backend):
    path = tmp_path / f"{module}.json"
    text = COLLECTIVE.replace("{module}", module)
    done = subprocess.run([sys.executable, "-c", text, path, backend], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return path, [event["args"] for event in json.loads(path.read_text())["traceEvents"]
                  if event.get("name") == "record_param_comms"]


def test_collectives_tell_their_group_and_sizes_as_torch_profiler_tells_them(tmp_path, backend):
    path, ours = collectives(tmp_path, "crosscut.torch", backend)
    _, theirs = collectives(tmp_path, "torch.profiler", backend)
    assert len(ours) == len(theirs) == 2
    assert [{key: args[key] for key in TOLD} for args in ours] == [
        {key: args[key] for key in TOLD} for args in theirs]
    assert ours[0]["In split size"] == [3, 7] and ours[0]["Out split size"] == []
    assert violations(path) == []


STRANGE = 'a "group"\\ of\n\t\x01\x7f π'


def test_a_collectives_group_is_called_what_the_program_calls_it(tmp_path, backend):
    text = COLLECTIVE.replace("{module}", "crosscut.torch").replace(
        "backend.backend_collective(ctypes.c_int64(sequence))",
        f"backend.backend_collective_of(ctypes.c_int64(sequence), {STRANGE!r}.encode())")
    done = subprocess.run([sys.executable, "-c", text, tmp_path / "trace.json", backend],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [event["args"] for event in json.loads((tmp_path / "trace.json").read_text())
            ["traceEvents"] if event.get("name") == "record_param_comms"]
    assert [args["Process Group Description"] for args in told] == [STRANGE] * 2
    assert [args["In msg nelems"] for args in told] == [10, 10]


def violations(path):
    """Of the rules by which PyTorch checks its own traces."""
    from torch.profiler._trace_validator import validate_trace
    passed, found = validate_trace(str(path))
    assert passed == (not found)
    return [str(violation) for violation in found]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The training example with its device, with shapes: the run, and the folder of its export."""
    folder = tmp_path_factory.mktemp("demo")
    result = record(folder / "run", [sys.executable, str(ROOT / "examples" / "train.py"),
                                     "--augment", "--steps", "12"], "--control-steps=0", "--shapes")
    assert result.returncode == 0, result.stderr
    (folder / "traces").mkdir()
    crosscut("export", folder / "run", "--to=chrome", "-o", folder / "traces" / "rank0.json.gz")
    return folder / "run", folder / "traces"


def test_pytorchs_own_rules_hold_for_the_training_with_a_device(demo):
    assert violations(demo[1] / "rank0.json.gz") == []


def test_hta_finds_in_the_training_with_a_device_what_our_tables_have(demo):
    import hta.trace_analysis as hta
    run, traces = demo
    analysis = hta.TraceAnalysis(trace_dir=str(traces))

    def near(ns, events):
        """HTA rounds the begin and the end of each event to us."""
        return pytest.approx(ns / 1000, abs=2 * events)

    (theirs,) = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    (ours,) = table(run, "temporal_breakdown")
    kernels = {row["name"]: row for row in table(run, "kernels")}
    count = sum(row["count"] for row in kernels.values())
    for name in ("compute", "non_compute", "idle"):
        assert theirs[f"{name}_time(us)"] == near(ours[f"{name}_ns"], count), name
    _, found = analysis.get_gpu_kernel_breakdown(visualize=False)
    assert set(found["name"]) == set(kernels) == {"augment", "Memcpy HtoD", "Memcpy DtoH"}
    for row in found.to_dict("records"):
        assert row["sum (us)"] == near(kernels[row["name"]]["total_ns"], 12)
        assert row["max (us)"] == near(kernels[row["name"]]["max_ns"], 1)
        assert kernels[row["name"]]["count"] == 12, "one for each step"
    idle, _ = analysis.get_idle_time_breakdown(visualize=False)
    their_causes = {row["idle_category"]: row["idle_time"] for row in idle.to_dict("records")}
    causes = {row["cause"]: row["total_ns"] for row in table(run, "idle_causes")}
    assert causes
    # Rounded, a gap may have no time, lie on the other side of the 30 us up to which it is said to
    # be the kernels' own, or begin on the other side of the launch that ends it.
    with gzip.open(traces / "rank0.json.gz", "rt") as file:
        events = json.load(file)["traceEvents"]
    on_device = ("kernel", "gpu_memcpy", "gpu_memset")
    launched = {event["args"]["correlation"]: event["ts"] for event in events
                if "correlation" in event.get("args", {}) and event.get("cat") not in on_device}
    work = sorted((event["tid"], event["ts"], event["ts"] + event["dur"],
                   launched.get(event["args"]["correlation"], 0))
                  for event in events if event.get("cat") in on_device)
    gaps = [(after[1] - before[2], abs(after[3] - before[2]))
            for before, after in zip(work, work[1:]) if after[0] == before[0]]
    doubtful = sum(gap for gap, apart in gaps if 28 <= gap <= 32 or apart <= 2)
    for cause in their_causes.keys() | causes.keys():
        assert their_causes.get(cause, 0) == pytest.approx(
            causes.get(cause, 0) / 1000, abs=2 * count + doubtful), cause
    (overlap,) = analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"]
    assert overlap != overlap, "not a number: nothing communicates"
    (launches,) = analysis.get_cuda_kernel_launch_stats(visualize=False).values()
    assert len(launches) == 0, "it knows CUDA's alone"
    copies = {row["kind"]: row for row in table(run, "copies")}
    summary = analysis.get_memory_bw_summary()["memory_bw_gbps"]
    assert list(summary["count"]) == [row["count"] for row in copies.values()] == [12, 12]
    for most, row in zip(summary["max"], sorted(copies.values(), key=lambda row: row["kind"])):
        assert most == pytest.approx(float(row["max_bytes_per_s"]) / 1e9, abs=0.001)  # as written
    assert analysis.get_profiler_steps() == list(range(11)), "the last one does not end"
    # Launches and annotations of other devices than CUDA's have names that it does not know.
    assert analysis.get_queue_length_summary() is None
    assert analysis.get_gpu_user_annotation_breakdown(visualize=False) is None
