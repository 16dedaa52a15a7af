"""experimental_config=_ExperimentalConfig(profiler_metrics=...) of crosscut.torch.profile, on a
simulated CUPTI and device: alone, and inside a recording."""

import json
import os
import subprocess
import sys

import pytest
from runs import PACKAGE, ROOT, record_script

CUPTI = PACKAGE / "crosscut" / "plugins" / "cupti" / "libcrosscut_cupti.so"
FAKE = ROOT / "build" / "release" / "plugins" / "cupti" / "libfake_cupti.so"

pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="built without CUPTI's headers")

PROGRAM = f"""
import ctypes, json, time, warnings
import torch
from crosscut.torch import profile, schedule, _ExperimentalConfig
cuda = ctypes.CDLL({str(FAKE)!r})
cuda.fake_launch.argtypes = [ctypes.c_char_p, ctypes.c_int64]
cuda.fake_counters.argtypes = [ctypes.c_double, ctypes.c_size_t]
cuda.fake_counters(1.51, 1)
def launch(name, count):
    deadline = time.monotonic() + 10
    while not cuda.fake_is_heard() and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(count):
        cuda.fake_launch(name, 100_000)
    cuda.fake_synchronize()
def told(prof):
    return [[row["kernel"], row["metric"], row["count"], row["mean"]]
            for row in prof.run.table("kernel_metrics").rows()]
def measures(metrics, per_kernel):
    return profile(experimental_config=_ExperimentalConfig(
        profiler_metrics=metrics, profiler_measure_per_kernel=per_kernel))
warnings.simplefilter("error")
"""

TWO = """
with measures(["sm__cycles_elapsed.max", "dram__bytes.sum"], True) as first:
    launch(b"_Z4gemmPf", 5)
with profile() as without:
    launch(b"_Z4gemmPf", 3)
with measures(["dram__bytes.sum"], False) as second:
    launch(b"_Z4gemmPf", 4)
counts = [[row["count"] for row in prof.run.table("kernels").rows()]
          for prof in (first, without, second)]
gaps = [any("not comparable" in gap for gap in prof.run.gaps)
        for prof in (first, without, second)]
print(json.dumps([told(first), told(without), told(second), counts, gaps]))
"""


def alone(folder, text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          env=dict(os.environ, CROSSCUT_PLUGINS=f"{CUPTI},library={FAKE}"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(folder, text):
    done = record_script(folder / "run", text, f"--plugin={CUPTI},library={FAKE}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("recorded", [alone, inside])
def test_each_profile_has_the_metrics_that_it_asked_for(tmp_path, recorded):
    first, without, second, counts, gaps = json.loads(recorded(tmp_path, PROGRAM + TWO))
    assert first == [["gemm(float*)", "dram__bytes.sum", 5, 0.125],
                     ["gemm(float*)", "sm__cycles_elapsed.max", 5, 151]]
    assert without == []
    assert second == [["(all of a window)", "dram__bytes.sum", 1, 4 * 0.125]]
    assert counts == [[5], [3], [4]]
    assert gaps == [True, False, True]
