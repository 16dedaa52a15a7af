"""The plugins of this tree where others load them: real TensorFlow, real JAX; and a plugin that was
built against TensorFlow's header in a program that has TensorFlow in it."""

import os
import pathlib
import subprocess

from frameworks import python_with, record_program, source
from runs import ROOT, table
from test_plugins import DEMO, PLAIN

TENSORFLOW = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
tf.profiler.experimental.start(sys.argv[1])
tf.reduce_sum(tf.ones((64, 64)) @ tf.ones((64, 64))).numpy()
time.sleep(0.2)
tf.profiler.experimental.stop()
"""

JAX = """
import ctypes, sys, time
import jax, jax.numpy as jnp
from jax._src.lib import _profiler
library = ctypes.CDLL(sys.argv[2])
library.GetPjrtApi.restype = ctypes.c_void_p
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
_profiler.register_plugin_profiler(capsule(library.GetPjrtApi(), b"pjrt_c_api", None))
for round in range(2):
    jax.profiler.start_trace(f"{sys.argv[1]}/{round}")
    jnp.ones(8).sum().block_until_ready()
    time.sleep(0.1)
    jax.profiler.stop_trace()
"""


def profiles(folder):
    return sorted(pathlib.Path(folder).glob("**/*.xplane.pb"))


def kernels(profile):
    return {row["name"]: row for row in table(profile, "functions") if row["layer"] == "device"}


def test_the_demo_that_crosscut_loads_is_the_demo_that_tensorflow_loads(tmp_path):
    python = python_with("tensorflow")
    env = dict(os.environ, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(DEMO),
               CROSSCUT_PLUGIN_PERIOD_US="4000", CROSSCUT_PLUGIN_BUSY_US="1000")
    subprocess.run([python, "-c", TENSORFLOW, tmp_path], env=env, check=True, timeout=300,
                   capture_output=True)
    profile, = profiles(tmp_path)
    kernel = kernels(profile)["demo_kernel"]
    assert kernel["p50_ns"] == 1_000_000 and kernel["count"] >= 40  # 200 ms
    # It stands inside the profile's own time.
    process, = table(profile, "processes")
    assert process["wall_ns"] < 60e9


def test_a_plugin_that_tensorflow_finds_is_recorded_without_a_flag(tmp_path, monkeypatch):
    """By TensorFlow's own profiler, which runs beside in every recorded program."""
    python = python_with("tensorflow")
    monkeypatch.setenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", str(DEMO))
    monkeypatch.setenv("CROSSCUT_PLUGIN_PERIOD_US", "4000")
    monkeypatch.setenv("CROSSCUT_PLUGIN_BUSY_US", "1000")
    program = TENSORFLOW.replace("tf.profiler.experimental.start(sys.argv[1])", "") \
                        .replace("tf.profiler.experimental.stop()", "print('done')")
    record_program(tmp_path / "run", python, program)
    kernel = kernels(tmp_path / "run")["demo_kernel"]
    assert kernel["p50_ns"] == 1_000_000 and kernel["count"] >= 40  # 200 ms


def test_jax_takes_the_demos_profiler_too(tmp_path):
    python = python_with("jax")
    subprocess.run([python, "-c", JAX, tmp_path, DEMO.with_name("libdemo_pjrt.so")], check=True,
                   timeout=300, capture_output=True)
    assert len(profiles(tmp_path)) == 2
    for profile in profiles(tmp_path):
        assert kernels(profile)["demo_kernel"]["count"] >= 10


def test_a_plugin_with_tf_setstatus_undefined_loads_beside_tensorflow(tmp_path):
    python = python_with("tensorflow")
    (tmp_path / "plain.c").write_text(PLAIN)
    library = tmp_path / "libplain.so"
    # Once with nothing named, once with TensorFlow's library as its dependency.
    needed = tmp_path / "libneeds.so"
    common = ["-shared", "-fPIC", tmp_path / "plain.c", ROOT / "plugins/demo/xspace.c",
              "-I", ROOT / "include", "-I", ROOT / "plugins/demo"]
    subprocess.run(["cc", "-o", library, *common], check=True)
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "stub.c").write_text("void TF_SetStatus(void) {}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", stub / "libtensorflow_framework.so.2",
                    "-Wl,-soname,libtensorflow_framework.so.2", stub / "stub.c"], check=True)
    subprocess.run(["cc", "-o", needed, *common, "-L", stub, "-l:libtensorflow_framework.so.2"],
                   check=True)
    program = TENSORFLOW.replace("tf.profiler.experimental.start(sys.argv[1])", "") \
                        .replace("tf.profiler.experimental.stop()", "print('done')")
    run = tmp_path / "run"
    record_program(run, python, program, "--plugin", library, "--plugin", needed)
    for name in ("plain", "needs"):
        assert source(run, name)["state"] == "on", source(run, name)
    assert len(list(pathlib.Path(run).glob("*.plain-*.xplane.pb"))) == 1
