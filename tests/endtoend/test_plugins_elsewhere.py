"""The plugins of this tree where others load them: real TensorFlow, real JAX; and a plugin that was
built against TensorFlow's header in a program that has TensorFlow in it."""

import os
import pathlib
import subprocess
import sys

from frameworks import python_with, record_program, source
from runs import PACKAGE, ROOT, crosscut, record, table
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


def test_a_plugin_that_tensorflow_has_loaded_is_no_gap(tmp_path):
    python = python_with("tensorflow")
    folder = tmp_path / "site" / "tensorflow-plugins"  # where TensorFlow itself does not look
    folder.mkdir(parents=True)
    (folder / "libchip.so").symlink_to(DEMO)
    script = tmp_path / "launch.py"
    script.write_text("""
import subprocess, sys
if len(sys.argv) == 1:
    sys.exit(subprocess.run([sys.executable, __file__, "worker"]).returncode)
import tensorflow as tf
print(tf.reduce_sum(tf.ones(8)).numpy())
""")
    result = record(tmp_path / "run", [python, script],
                    env={"PYTHONPATH": f"{PACKAGE}:{folder.parent}"})
    assert (result.returncode, result.stdout) == (0, "8.0\n"), result.stderr
    said = [(row["state"], row["message"].partition(":")[0])
            for row in table(tmp_path / "run", "sources") if row["name"] == "tensorflow-plugins"]
    assert sorted(said) == [("not asked for", "libchip.so"), ("on", "libchip.so")]
    assert "Source tensorflow-plugins" not in crosscut("report", tmp_path / "run")


CHIPS = {"CHIP_A": "/device:CUSTOM:CHIP_A", "CHIP_B": "/device:CUSTOM:CHIP_B", "CHIP_IDLE": ""}
SESSIONS = 5

# Both wait for what the plugins say, however slow the machine is.
IN_TENSORFLOW = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
for session in range(int(sys.argv[1])):
    tf.profiler.experimental.start(sys.argv[2])
    tf.reduce_sum(tf.ones(8)).numpy()
    tf.profiler.experimental.stop()
"""
IN_CROSSCUT = """
import os, sys, time, crosscut
def await_calls(call, times):
    said = lambda chip: open(f"{os.environ['CALLS']}.{chip}").read().count(call + " ")
    while not all(said(chip) >= times for chip in sys.argv[2:]):
        time.sleep(0.001)
for session in range(1, int(sys.argv[1]) + 1):
    if session > 1:
        crosscut.start()
    await_calls("start", session)
    crosscut.stop()
    await_calls("size", session)
"""


def calls_of(log, chip):
    return pathlib.Path(f"{log}.{chip}").read_text().splitlines()


def test_crosscut_calls_plugins_as_tensorflow_does(tmp_path):
    python = python_with("tensorflow")
    folder = tmp_path / "plugins"
    folder.mkdir()
    for chip, plane in CHIPS.items():
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", f'-DCHIP="{chip}"',
                        f'-DPLANE="{plane}"', "-o", folder / f"lib{chip.lower()}.so",
                        ROOT / "tests/endtoend/calls_plugin.c", "-I", ROOT / "include"], check=True)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    env = dict(os.environ, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(folder), CALLS=str(theirs))
    subprocess.run([python, "-c", IN_TENSORFLOW, str(SESSIONS), tmp_path / "profile"], env=env,
                   check=True, timeout=300, capture_output=True)
    script = tmp_path / "program.py"
    script.write_text(IN_CROSSCUT)
    named = [word for chip in CHIPS for word in ("--plugin", folder / f"lib{chip.lower()}.so")]
    result = record(tmp_path / "run", [sys.executable, script, str(SESSIONS), *CHIPS], *named,
                    env={"CALLS": str(ours), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert result.returncode == 0, result.stderr
    for chip, plane in CHIPS.items():
        session = ["start 1", "stop 1", "size 1"] + [f"bytes {len(plane) + 4}"] * bool(plane)
        destroyed = ["destroy 1", "destroy_fns 1"]
        # TensorFlow destroys copies, at once. Crosscut tries a registration in a process before.
        assert calls_of(theirs, chip) == ["init 1", *2 * destroyed, *SESSIONS * session], chip
        assert calls_of(ours, chip) == [*2 * ["init 1"], *SESSIONS * session, *destroyed], chip


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
