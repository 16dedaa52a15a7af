"""The readers that a file was made for say the same of it after it was imported and exported again:
HolisticTraceAnalysis of Kineto's files, XProf's tools of an XSpace. On our own recordings always,
on real traces where CROSSCUT_TRACE_CORPUS names a folder of them.

    python tests/endtoend/formats/test_readers.py    the table of docs/round-trip.md"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from crosscut import read
from frameworks import python_with
from runs import ROOT, crosscut, record, record_script

HERE = pathlib.Path(__file__).parent
CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
KINETO = sorted(CORPUS.glob("kineto-*.json.gz"))
XSPACES = sorted(CORPUS.glob("*.xplane.pb"))
SAXPY = ROOT / "build" / "release" / "examples" / "opencl_saxpy"

# What XProf says otherwise of one file read twice.
UNSTEADY = {"memory_profile", "pod_viewer", "trace_viewer"}
# HTA breaks ties between equal times by the order of the file, and a few events of these rows do
# not stand there in the order of their begins.
BY_ORDER = {"kineto-a100-nccl-rank0.json": {"gpu_kernels_with_user_annotations",
                                            "queue_length_summary", "queue_length_time_series"}}


def said(python, script, *arguments):
    done = subprocess.run([python, HERE / script, *map(str, arguments)], capture_output=True,
                          text=True, timeout=900, env={**os.environ, "PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def hta(path):
    return said(sys.executable, "hta_results.py", path)


def xprof(path):
    return said(python_with("tensorflow"), "xprof_results.py", path)


def again(path, folder, to, name):
    crosscut("import", path, "-o", folder / "run")
    crosscut("export", folder / "run", f"--to={to}", "-o", folder / name)
    return folder / name


needs_hta = pytest.mark.skipif(importlib.util.find_spec("hta") is None,
                               reason="HolisticTraceAnalysis is not installed")


def differing(one, other):
    assert set(one) == set(other)
    return {name for name in one if one[name] != other[name]}


@needs_hta
@pytest.mark.skipif(not KINETO, reason="CROSSCUT_TRACE_CORPUS names no folder of traces")
@pytest.mark.parametrize("path", KINETO, ids=lambda path: path.stem)
def test_hta_says_the_same_of_real_traces(path, tmp_path):
    out = again(path, tmp_path, "chrome", "out.json")
    one, other = hta(path), hta(out)
    assert len(one) == 18
    assert differing(one, other) <= BY_ORDER.get(path.stem, set())


@pytest.mark.skipif(not XSPACES, reason="CROSSCUT_TRACE_CORPUS names no folder of traces")
@pytest.mark.parametrize("path", XSPACES, ids=lambda path: path.stem)
def test_xprof_says_the_same_of_real_profiles(path, tmp_path):
    out = again(path, tmp_path, "xspace", "out.xplane.pb")
    assert out.read_bytes() == path.read_bytes()
    one = xprof(path)
    assert differing(one, xprof(out)) <= UNSTEADY
    for tool in ("kernel_stats", "hlo_stats"):
        assert sum(one[tool]["rows"]) > 0


TRAINING = """
import crosscut, torch
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())
for _ in range(4):
    crosscut.step()
    with crosscut.operation("forward"):
        loss = model(torch.ones(4, 16)).sum()
    with crosscut.operation("backward"):
        loss.backward()
"""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readers")
    record_script(folder / "cpu", TRAINING, "--control-steps=0")
    record(folder / "opencl", [SAXPY])
    return {"cpu": folder / "cpu", "opencl": folder / "opencl"}


@needs_hta
@pytest.mark.parametrize("which", ["cpu", "opencl"])
def test_hta_says_the_same_of_our_recordings(which, recordings, tmp_path):
    first = tmp_path / "first.json"
    crosscut("export", recordings[which], "--to=chrome", "-o", first)
    one, other = hta(first), hta(again(first, tmp_path, "chrome", "out.json"))
    assert not differing(one, other)


@pytest.mark.parametrize("which", ["cpu", "opencl"])
def test_xprof_says_the_same_of_our_recordings(which, recordings, tmp_path):
    first = tmp_path / "first.xplane.pb"
    crosscut("export", recordings[which], "--to=xspace", "-o", first)
    other = xprof(again(first, tmp_path, "xspace", "out.xplane.pb"))
    assert differing(xprof(first), other) <= UNSTEADY


STEPS = """
import crosscut, random, time
draw = random.Random({seed})
held = None
with crosscut.operation("run"):
    for i in range(4):
        crosscut.step()
        if held is not None and draw.random() < 0.5:
            held.__exit__(None, None, None)  # it began in an earlier step
            held = None
        for name in draw.sample("abc", 2):
            with crosscut.operation(name):
                with crosscut.operation("inner"):
                    time.sleep(0.002)
        if held is None and draw.random() < 0.5:
            held = crosscut.operation("crosses")
            held.__enter__()
        if draw.random() < 0.3:
            crosscut.step_end()
"""

STEPS_OF_XPROF = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "input_pipeline_analyzer", {})
(table,) = [t for t in json.loads(data) if "Step number" in [c["label"] for c in t.get("cols", [])]]
at = [column["label"] for column in table["cols"]].index("tooltip")
print(json.dumps([[row["c"][0]["v"], row["c"][at]["v"]] for row in table["rows"]]))
"""


@pytest.mark.parametrize("seed", range(3))
def test_xprof_finds_the_steps_that_were_recorded(seed, tmp_path):
    run, path = tmp_path / "run", tmp_path / "host.xplane.pb"
    record_script(run, STEPS.format(seed=seed), "--control-steps=0")
    crosscut("export", run, "--to=xspace", "-o", path)
    done = subprocess.run([python_with("tensorflow", "xprof"), "-c", STEPS_OF_XPROF, path],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {name.split()[-1]: float(re.search("duration: ([0-9.]+) ms", said).group(1))
             for name, said in json.loads(done.stdout.splitlines()[-1])}
    steps = [row for row in read(run).table("steps").rows()]
    assert len(steps) == 4
    assert found == {str(row["step"]): pytest.approx(row["wall_ns"] / 1e6, abs=0.006)
                     for row in steps}


@needs_hta
def test_hta_joins_launches_and_queues_of_opencl_under_cudas_names(recordings, tmp_path):
    """HTA knows launches by CUDA's names alone."""
    path = tmp_path / "cuda.json"
    crosscut("export", recordings["opencl"], "--to=chrome-cuda", "-o", path)
    events = json.loads(path.read_text())["traceEvents"]
    work = [e for e in events if e["ph"] == "X" and e["cat"] in ("kernel", "gpu_memcpy",
                                                                 "gpu_memset")]
    results = hta(path)
    (_, (_, launches)), = results["cuda_kernel_launch_stats"]
    assert len(launches) == len(work) > 20
    (_, (_, lengths)), = results["queue_length_time_series"]
    assert len(lengths) == 2 * len(work)


def table():
    """Of each file: how many of a reader's results are the same."""
    for path in KINETO + XSPACES:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            if path in KINETO:
                one, other = hta(path), hta(again(path, folder, "chrome", "out.json"))
            else:
                one, other = xprof(path), xprof(again(path, folder, "xspace", "out.xplane.pb"))
        left = sorted(differing(one, other))
        print(f"| {path.name} | {len(one) - len(left)} of {len(one)} | {', '.join(left)} |",
              flush=True)


if __name__ == "__main__":
    table()
