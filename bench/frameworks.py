"""What recording TensorFlow and JAX programs adds to a step, beside their own profilers.

Run under `crosscut record --control-steps=0` with the name of the framework and the rounds;
recording is switched by pause and resume, so every variant runs in the same process: as it is,
Crosscut by default (boundary, operations and the framework's own profile), and the framework's
profiler alone. With the argument `boundary` (and --sources=pycalls) Crosscut is measured without
that profile. "With collecting": the profile is taken from the framework at the end of the time
that is measured. Prints one JSON line per variant.
"""

import importlib
import os
import shutil
import statistics
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import crosscut
import harness


def steps(body, count):
    """Wall time of one of `count` steps, in the mean: collecting a profile counts."""
    def measure():
        begin = harness.wall_ns()
        for _ in range(count):
            body()
        return (harness.wall_ns() - begin) / count
    return measure


def middle(body, count):
    """Wall time of the middle one of `count` steps: what a step without collecting costs."""
    def measure():
        edges = [harness.wall_ns()]
        for _ in range(count):
            body()
            edges.append(harness.wall_ns())
        return statistics.median(b - a for a, b in zip(edges, edges[1:]))
    return measure


def keras_batches():
    """Batches of a Keras model as fit() runs them, on data of tf.data."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    x = tf.random.stateless_normal((64, 64), (1, 2))
    y = tf.random.stateless_uniform((64,), (3, 4), 0, 10, tf.int32)
    data = tf.data.Dataset.from_tensors((x, y)).repeat().prefetch(2)
    layers = [tf.keras.layers.Dense(256, "relu") for _ in range(4)]
    model = tf.keras.Sequential([tf.keras.Input((64,)), *layers, tf.keras.layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.make_train_function()
    batches = iter(data)

    def body():
        model.train_function(batches)
    return body


def custom_loop():
    import tensorflow as tf

    w = tf.Variable(tf.random.stateless_normal((256, 256), (1, 2)))
    optimizer = tf.keras.optimizers.SGD(0.001)
    x = tf.ones((64, 256))

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ w) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    return lambda: train(x)


def jax_loop():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def update(w, x):
        gradient = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
        return w - 0.001 * gradient

    state = [jnp.ones((256, 256)), jnp.ones((64, 256))]

    def body():
        state[0] = update(*state)
        state[0].block_until_ready()
    return body


def their_profile(framework):
    """Begins the framework's own profiler as its users do; returns what ends it."""
    folder = tempfile.mkdtemp()
    if framework == "jax":
        import jax

        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        stop = jax.profiler.stop_trace
    else:
        import tensorflow as tf

        tf.profiler.experimental.start(folder)
        stop = tf.profiler.experimental.stop

    def end():
        stop()
        shutil.rmtree(folder, ignore_errors=True)
    return end


def resume_with_profile(framework):
    """Resumes, and waits for the framework's profile, which rests for a while after a switch."""
    crosscut.resume()
    profile = importlib.import_module(f"crosscut.adapters.{framework}")._profile
    deadline = time.monotonic() + 5
    while profile is not None and not profile.running and time.monotonic() < deadline:
        time.sleep(0.01)


def comparison(group, framework, measure, rounds, with_theirs):
    def with_crosscut():
        resume_with_profile(framework)
        try:
            return measure()
        finally:
            crosscut.pause()

    def with_their_profile():
        end = their_profile(framework)
        try:
            return measure()
        finally:
            end()

    ours = "crosscut" if with_theirs else "crosscut, without their profile"
    variants = {"unprofiled": measure, "unprofiled again (A/A)": measure, ours: with_crosscut}
    if with_theirs:
        variants["their profiler"] = with_their_profile
    for line in harness.interleave(group, variants, rounds):
        print(line.to_json(), flush=True)


def collecting(group, framework, measure, rounds):
    """The same with the collecting: what a part of the profile costs over its length."""
    def with_crosscut():
        resume_with_profile(framework)
        begin = harness.wall_ns()
        measure()
        crosscut.pause()  # collects
        return (harness.wall_ns() - begin) / COUNT

    def with_their_profile():
        end = their_profile(framework)
        begin = harness.wall_ns()
        measure()
        end()
        return (harness.wall_ns() - begin) / COUNT

    for line in harness.interleave(group, {"unprofiled": measure, "crosscut": with_crosscut,
                                           "their profiler": with_their_profile}, rounds):
        print(line.to_json(), flush=True)


COUNT = 200


def main():
    """Arguments: tensorflow or jax, rounds, and `boundary` where the profile is left out."""
    crosscut.pause()
    framework, rounds = sys.argv[1], int(sys.argv[2])
    with_theirs = "boundary" not in sys.argv[3:]
    bodies = {"Keras batch": keras_batches, "custom loop": custom_loop}
    if framework == "jax":
        bodies = {"jitted update": jax_loop}
    for name, make in bodies.items():
        body = make()
        steps(body, COUNT)()  # compiles
        comparison(f"{framework} step: {name}", framework, middle(body, COUNT), rounds,
                   with_theirs)
        if with_theirs:
            collecting(f"{framework} step with collecting: {name}", framework,
                       steps(body, COUNT), max(5, rounds // 2))
    crosscut.resume()


if __name__ == "__main__":
    main()
