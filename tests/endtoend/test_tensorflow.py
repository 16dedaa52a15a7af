"""Real TensorFlow programs under `crosscut record`, and Crosscut inside TensorFlow's profiler."""

import json
import os
import subprocess

import pytest
from frameworks import check_sums, counts, layers, python_with, record_program, source
from runs import CROSSCUT, PACKAGE, table

HEAD = """
import glob, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
"""

KERAS_FIT = HEAD + """
x = np.random.rand(640, 20).astype("float32")
y = np.random.randint(0, 10, 640)
data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2, b)).batch(16).prefetch(2)
model = tf.keras.Sequential([tf.keras.Input((20,)), tf.keras.layers.Dense(32, "relu"),
                             tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(data, epochs=3, verbose=0)
print(["%.6f" % loss for loss in history.history["loss"]])
print("%.6f" % model.evaluate(data, verbose=0))
model.predict(data, verbose=0)
sys.exit(7)
"""

CUSTOM = HEAD + """
w = tf.Variable(tf.random.stateless_normal((64, 64), (1, 2)))
optimizer = tf.keras.optimizers.SGD(0.01)
@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
@tf.function
def measure(x):
    return tf.reduce_sum(x @ w)
data = tf.data.Dataset.from_tensors(tf.ones((8, 64))).repeat(50)
for i, x in enumerate(data):
    loss = train(x)
    if i % 10 == 0:
        measure(x)
print("%.6f" % float(loss))
"""

EAGER = HEAD + """
w = tf.Variable(tf.random.stateless_normal((64, 64), (1, 2)))
optimizer = tf.keras.optimizers.SGD(0.01)
for i in range(30):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.ones((8, 64)) @ w) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
print("%.6f" % float(loss))
"""

OWN_PROFILE = HEAD + """
import shutil
folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
@tf.function
def work(x):
    return tf.reduce_sum(x @ x)
def rounds(n):
    for _ in range(n):
        work(tf.ones((64, 64)))
for name in ("one", "two"):
    rounds(10)
    tf.profiler.experimental.start(f"{folder}/{name}")
    rounds(10)
    try:
        tf.profiler.experimental.start(f"{folder}/three")
    except tf.errors.AlreadyExistsError:
        print("one at a time")
    tf.profiler.experimental.stop()
with tf.profiler.experimental.Profile(f"{folder}/four"):
    rounds(10)
rounds(10)
found = sorted(glob.glob(folder + "/*/plugins/profile/*/*.xplane.pb"))
from tensorflow.tsl.profiler.protobuf import xplane_pb2
for path in found:
    for plane in xplane_pb2.XSpace.FromString(open(path, "rb").read()).planes:
        names = [plane.event_metadata[event.metadata_id].name
                 for line in plane.lines for event in line.events]
        print(plane.name, names.count("EagerExecute"), names.count("work"), len(plane.stats))
print([path[len(folder):].split("/")[1] for path in found])
"""


@pytest.fixture(scope="module")
def python():
    return python_with("tensorflow")


@pytest.fixture(scope="module")
def keras_run(python, tmp_path_factory):
    run = tmp_path_factory.mktemp("keras") / "run"
    result = record_program(run, python, KERAS_FIT, "--control-steps=10")
    assert result.returncode == 7
    return run


def test_keras_fit_has_a_step_per_batch_and_adds_up(keras_run):
    steps = table(keras_run, "steps")
    assert len(steps) == 3 * 40
    check_sums(keras_run)
    seen = counts(keras_run)
    assert seen["train_step"] > 80
    # What follows the training belongs to its last step, of which a control step tells nothing.
    evaluations = seen.get("evaluate", 0) + seen.get("predict", 0)
    assert evaluations >= 60 or (evaluations == 0 and steps[-1]["control"])
    assert seen["compile"] >= 3


def test_tensorflows_own_events_are_there_with_their_layers(keras_run):
    known = layers(keras_run)
    assert "framework" in known["tensorflow.TFE_Py_Execute"]
    assert any(name.startswith("Iterator::") and "data" in of for name, of in known.items())
    assert "framework" in known["ExecutorState::Process"]
    assert not any(name.startswith("ThreadpoolListener") for name in known)
    state = source(keras_run, "tensorflow")
    assert state["state"] == "on" and "parts" in state["message"]
    (clock,) = [row for row in table(keras_run, "clocks") if "tensorflow" in row["clock"]][:1]
    assert 0 < clock["error_ns"] <= 10_000
    assert {row["layers"] for row in table(keras_run, "overlap")} & {"data", "data+framework",
                                                                     "data+python"}


def test_what_switching_the_profile_took_counts_as_overhead(keras_run):
    assert layers(keras_run)["tensorflow: switch"] == {"overhead"}


def test_a_custom_loop_steps_where_gradients_are_applied(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, CUSTOM, "--control-steps=0")
    assert len(table(run, "steps")) == 50
    seen = counts(run)
    assert seen["train_step"] == 49  # the first is compile
    assert seen["data"] == 51
    check_sums(run)


def test_an_eager_loop_steps_where_gradients_are_applied(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, EAGER, "--control-steps=0")
    assert len(table(run, "steps")) == 30
    assert counts(run)["optimizer"] == counts(run)["backward"] == 30
    check_sums(run)


def test_the_programs_own_profiles_work_as_without_us(python, tmp_path):
    run = tmp_path / "run"
    result = record_program(run, python, OWN_PROFILE, "--control-steps=0",
                            arguments=[tmp_path / "logs"])
    assert result.stdout.endswith("['four', 'one', 'two']\n")
    assert "while the program profiles itself" in source(run, "tensorflow")["message"]


def test_a_list_of_sources_without_it_leaves_the_profile_out(python, tmp_path):
    run = tmp_path / "run"
    record_program(run, python, CUSTOM, "--control-steps=0", "--sources=pycalls")
    assert "tensorflow" not in {row["name"] for row in table(run, "sources")}
    assert len(table(run, "steps")) == 50


INSIDE = HEAD + """
import time
import crosscut
tf.profiler.experimental.start(sys.argv[1])
for i in range(20):
    with tf.profiler.experimental.Trace("theirs", step_num=i, _r=1):
        with crosscut.operation("ours"):
            tf.reduce_sum(tf.ones((64, 64)))
            time.sleep(0.002)
tf.profiler.experimental.stop()
"""

CONVERT = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "trace_viewer@", {})
print("\\n" + json.dumps(json.loads(data)["traceEvents"]))
"""


def inside_tensorflow(python, folder, **environment):
    """Runs INSIDE without `record`; the path of its profile."""
    done = subprocess.run([python, "-c", INSIDE, folder], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(PACKAGE), **environment),
                          timeout=300)
    assert done.returncode == 0, done.stderr
    (profile,) = folder.glob("plugins/profile/*/*.xplane.pb")
    return profile


def viewer_events(python, profile):
    out = subprocess.run([python, "-c", CONVERT, profile], capture_output=True, text=True,
                         timeout=300, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout.splitlines()[-1])


def check_viewer(python, profile):
    """XProf lists our plane, and our events lie inside theirs that they ran in."""
    events = viewer_events(python, profile)
    planes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    ours = sorted((e for e in events if e.get("name") == "ours"), key=lambda e: e["ts"])
    theirs = sorted((e for e in events if str(e.get("name")).startswith("theirs")),
                    key=lambda e: e["ts"])
    assert len(ours) == len(theirs) == 20
    for inner, outer in zip(ours, theirs):
        assert planes[inner["pid"]].endswith("/host:CPU-crosscut")
        assert outer["ts"] - 5 <= inner["ts"]  # us
        assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 5


def test_inside_tensorflow_our_planes_stand_beside_theirs_at_the_right_times(tmp_path):
    python = python_with("tensorflow", "xprof")
    plugin = PACKAGE / "crosscut" / "lib" / "libcrosscut_tensorflow.so"
    check_viewer(python, inside_tensorflow(python, tmp_path / "logs",
                                           TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(plugin)))


def test_a_device_of_another_plugin_has_its_plane_with_times_inside_the_profile(tmp_path):
    python = python_with("tensorflow", "xprof")
    library = PACKAGE / "crosscut"
    profile = inside_tensorflow(
        python, tmp_path / "logs",
        TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(library / "lib" / "libcrosscut_tensorflow.so"),
        CROSSCUT_PLUGINS=str(library / "plugins" / "demo" / "libdemo.so"),
        CROSSCUT_PLUGIN_PERIOD_US="2000", CROSSCUT_PLUGIN_BUSY_US="1000")
    events = viewer_events(python, profile)
    check_viewer(python, profile)
    planes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    kernels = sorted((e for e in events if e.get("name") == "demo_kernel"), key=lambda e: e["ts"])
    theirs = [e for e in events if str(e.get("name")).startswith("theirs")]
    assert {planes[e["pid"]].split("/device:")[1] for e in kernels} == {"CUSTOM:crosscut:100"}
    assert {round(e["dur"]) for e in kernels} == {1000}  # us
    gaps = {round(b["ts"] - a["ts"]) // 2000 for a, b in zip(kernels, kernels[1:])}
    assert gaps <= {1, 2}  # every 2 ms; it may come late
    last = max(e["ts"] + e["dur"] for e in theirs)
    # On a busy machine the profile ends some time after their last event.
    assert kernels[0]["ts"] > 0 and abs(last - kernels[-1]["ts"]) < 20_000


OWN_SESSION = HEAD + """
import crosscut
tf.profiler.experimental.start(sys.argv[1])
with tf.profiler.experimental.Trace("theirs"):
    with crosscut.operation("in their profile"):
        tf.reduce_sum(tf.ones((64, 64)))
assert crosscut.stop() and crosscut.start(sys.argv[2], control_percent=0)
with crosscut.operation("in ours"):
    tf.reduce_sum(tf.ones((64, 64)))
tf.profiler.experimental.stop()
assert crosscut.active()
with crosscut.operation("behind"):
    pass
assert crosscut.stop()
"""


def test_the_end_of_their_profile_leaves_a_recording_that_the_program_began_in_it(tmp_path):
    python = python_with("tensorflow")
    plugin = PACKAGE / "crosscut" / "lib" / "libcrosscut_tensorflow.so"
    done = subprocess.run([python, "-c", OWN_SESSION, tmp_path / "logs", tmp_path / "run"],
                          capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=str(PACKAGE),
                                   TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(plugin)))
    assert done.returncode == 0, done.stderr
    (profile,) = (tmp_path / "logs").glob("plugins/profile/*/*.xplane.pb")
    assert {"theirs", "in their profile"} <= {row["name"] for row in table(profile, "functions")}
    assert {"in ours", "behind"} <= counts(tmp_path / "run").keys()
    assert "in their profile" not in counts(tmp_path / "run")


def test_the_verb_puts_the_plugin_where_tensorflow_looks(tmp_path):
    outer = python_with("tensorflow", "xprof")
    subprocess.run([outer, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    real = subprocess.run([outer, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                          check=True, capture_output=True, text=True).stdout.strip()
    for entry in os.listdir(real):  # links: TensorFlow in a site-packages of its own
        if entry not in ("tensorflow-plugins", "__pycache__") and not (site / entry).exists():
            (site / entry).symlink_to(os.path.join(real, entry))

    def verb(action, code):
        done = subprocess.run([CROSSCUT, "tensorflow", action, "--python", python],
                              capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    assert "is not installed" in verb("status", 1)
    assert "is installed" in verb("install", 0)
    check_viewer(str(python), inside_tensorflow(python, tmp_path / "logs"))
    assert "is installed" in verb("status", 0)
    verb("remove", 0)
    assert not (site / "tensorflow-plugins").exists()


WINDOWS = """
import sys
import crosscut
assert crosscut.arm(sys.argv[1], control_percent=0) and crosscut.start(), crosscut.error()
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((32, 4), "float32"), np.ones((32, 1), "float32")
for window in range(2):
    assert crosscut.active() or crosscut.start(), crosscut.error()
    model.fit(x, y, batch_size=8, epochs=1, verbose=0, shuffle=False)
    inside = type(vars(model)["train_function"]).__name__
    assert crosscut.stop()
    print(inside == type(vars(model)["train_function"]).__name__)
"""


def test_a_model_that_is_kept_has_its_own_function_between_windows(python, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(WINDOWS)
    done = subprocess.run([python, script, tmp_path / "run"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"})
    assert (done.returncode, done.stdout) == (0, "False\nFalse\n"), done.stderr
    assert counts(tmp_path / "run")["train_step"] == 7  # of 8 the first is `compile`


FUNCTION_WINDOWS = """
import sys
import crosscut
assert crosscut.arm(sys.argv[1], control_percent=0) and crosscut.start(), crosscut.error()
import tensorflow as tf
w, optimizer = tf.Variable(tf.ones((4, 4))), tf.keras.optimizers.SGD(0.01)
@tf.function
def train():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
for window in range(2):
    assert crosscut.active() or crosscut.start(), crosscut.error()
    for _ in range(5):
        train()
    assert crosscut.stop()
"""


def test_a_function_that_trains_makes_steps_in_each_window(python, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(FUNCTION_WINDOWS)
    done = subprocess.run([python, script, tmp_path / "run"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"})
    assert done.returncode == 0, done.stderr
    assert counts(tmp_path / "run")["train_step"] == 9  # the first is `compile`
    assert len(table(tmp_path / "run", "steps")) == 10


TRAINS_AT_TIMES = """
import random
import tensorflow as tf
draw = random.Random(1)
trained = functions = 0
for _ in range(8):
    w, optimizer = tf.Variable(tf.ones((4, 4))), tf.keras.optimizers.SGD(0.01)
    optimizer.build([w])
    @tf.function
    def call(training):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        if training:
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss
    calls = [draw.random() < 0.5 for _ in range(draw.randrange(2, 9))]
    for training in [True] * draw.randrange(1, 4) + calls:
        call(training)
        trained += training
    functions += 1
print(trained, trained - functions)
"""


def test_only_the_calls_that_train_are_train_steps(python, tmp_path):
    done = record_program(tmp_path / "run", python, TRAINS_AT_TIMES, "--control-steps=0")
    steps, train_steps = map(int, done.stdout.split())  # each function's first call is `compile`
    assert len(table(tmp_path / "run", "steps")) == steps
    assert counts(tmp_path / "run")["train_step"] == train_steps


LATE = """
import inspect, sys
import crosscut
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
def begin():
    assert crosscut.start(sys.argv[2], control_percent=0), crosscut.error()
def parts(optimizer):
    w = tf.Variable(tf.ones((4, 4)))
    @tf.function
    def both(x, training):
        if not training:
            return tf.reduce_sum(x @ w)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x @ w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss
    return w, both
sgd, x = tf.keras.optimizers.SGD(0.01), tf.ones((2, 4))
if sys.argv[1] in ("tf.function", "kernels"):
    w, both = parts(tf.compat.v1.train.AdamOptimizer(0.01) if sys.argv[1] == "kernels" else sgd)
    for training in (True, False):
        both(x, training)
    begin()
    for _ in range(10):
        both(x, True), both(x, False)
    both(tf.ones((3, 4)), False)  # is traced again: the gradient in it is no operation
    both.get_concrete_function(tf.ones((3, 4)), True)
    for function in (tf.keras.optimizers.SGD.apply, tf.GradientTape.gradient):
        assert "def " in inspect.getsource(function)
elif sys.argv[1] == "fit":
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    class Fifth(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 4:
                begin()
    data = tf.ones((80, 4)), tf.ones((80, 1))
    model.fit(*data, batch_size=8, verbose=0, callbacks=[Fifth()])
    model.fit(*data, batch_size=16, verbose=0)
    model.evaluate(*data, batch_size=8, verbose=0)
else:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    begin()
    with strategy.scope():
        w, _ = parts(sgd)
        sgd = tf.keras.optimizers.SGD(0.01)
    def replica():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x @ w)
        sgd.apply_gradients([(tape.gradient(loss, w), w)])
    for _ in range(10):
        strategy.run(replica)
assert crosscut.stop()
"""


@pytest.mark.parametrize(("program", "steps"), [
    ("tf.function", 10), ("kernels", 10), ("fit", 5 + 5), ("replicas", 10)])
def test_what_was_traced_before_the_session_makes_steps(python, tmp_path, program, steps):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text(LATE)
    done = subprocess.run([python, script, program, run], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"})
    assert done.returncode == 0, done.stderr
    assert len(table(run, "steps")) == steps
    assert "backward" not in counts(run)
