"""Programs that profile themselves while they are recorded: CUPTI is theirs as long as they do."""

import pathlib

import pytest
from frameworks import python_with
from runs import record, table
from test_cupti import FAKE, plugin, source

pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="built without CUPTI's headers")

PROGRAM = f"""
import ctypes, time
cuda = ctypes.CDLL({str(FAKE)!r})
cuda.fake_launch.argtypes = [ctypes.c_char_p, ctypes.c_int64]

def work(name):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(name))  # kernels are called so to the very end
    for _ in range(5):
        cuda.fake_launch(name, 100_000)
    cuda.fake_synchronize()

def await_ours():
    deadline = time.monotonic() + 60
    while not cuda.fake_is_heard() and time.monotonic() < deadline:
        time.sleep(0.01)
"""
TORCH = """
import torch

def profiled(name):
    profile = torch.autograd.profiler.profile(use_kineto=True)
    # As where there is a CUDA device, which this PyTorch may not know of.
    profile.kineto_activities.add(torch.profiler.ProfilerActivity.CUDA)
    with profile:
        work(name)
"""
JAX = """
import jax, tempfile

def profiled(name):
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder)
        work(name)
        jax.profiler.stop_trace()
"""
RUN = """
await_ours()
work(b"_Z6beforePf")
for _ in range(2):
    profiled(b"_Z6insidePf")
    await_ours()
    time.sleep(0.3)  # work is recorded behind the calls
work(b"_Z5afterPf")
print("done")
"""


def record_with(framework, run, program):
    script = pathlib.Path(f"{run}.py")
    script.write_text(program)
    return record(run, [python_with(framework), script], plugin(), "--sources=cupti,jax",
                  "--python=off", "--control-steps=0")


@pytest.mark.parametrize("own, who", [(TORCH, "torch.profiler"), (JAX, "jax.profiler")])
def test_devices_are_the_programs_while_it_profiles_itself(tmp_path, own, who):
    result = record_with(who.partition(".")[0], tmp_path / "run", PROGRAM + own + RUN)
    assert result.returncode == 0 and result.stdout.endswith("done\n"), result.stderr
    assert "Exception" not in result.stderr, result.stderr
    rows = {row["name"]: row["count"] for row in table(tmp_path / "run", "functions")}
    assert rows["before(float*)"] == rows["after(float*)"] == 5
    assert "inside(float*)" not in rows
    row = source(tmp_path / "run")
    assert row["state"] == "conflict"
    assert f"the program's own {who} had CUPTI (2 times)" in row["message"], row
    lost = [row for row in table(tmp_path / "run", "drops") if row["reason"] == "plugin"]
    assert len(lost) == 2 and all(row["begin_ns"] < row["end_ns"] for row in lost), lost
    assert sum(row["count"] for row in lost) == 10  # what was launched was recorded
    assert rows["cudaLaunchKernel"] == 20
    gaps = [row["message"] for row in table(tmp_path / "run", "gaps")]
    assert any("crosscut import" in gap and who in gap for gap in gaps), gaps


def test_a_profile_of_the_processor_leaves_devices_alone(tmp_path):
    program = PROGRAM + """
import torch
await_ours()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    work(b"_Z6insidePf")
"""
    result = record_with("torch", tmp_path / "run", program)
    assert result.returncode == 0, result.stderr
    assert source(tmp_path / "run")["state"] == "on"
    rows = {row["name"]: row["count"] for row in table(tmp_path / "run", "functions")}
    assert rows["inside(float*)"] == 5


def test_a_profile_that_cannot_start_or_is_dropped_gives_devices_back(tmp_path):
    program = PROGRAM + JAX + """
import gc
await_ours()
jax.profiler.start_trace(tempfile.mkdtemp())
try:
    jax._src.profiler._profiler.ProfilerSession()  # there is one
except Exception as error:
    print("refused")
jax.profiler.stop_trace()
session = jax._src.profiler._profiler.ProfilerSession()
del session
gc.collect()
time.sleep(2)
work(b"_Z5afterPf")
print("done")
"""
    result = record_with("jax", tmp_path / "run", program)
    assert result.returncode == 0 and result.stdout.endswith("done\n"), result.stderr
    rows = {row["name"]: row["count"] for row in table(tmp_path / "run", "functions")}
    assert rows["after(float*)"] == 5
