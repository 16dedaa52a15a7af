"""A step runs no Python of Crosscut's: what adapters do at each of them is C. Counted where CPython
evaluates frames, since no tracer sees ours."""

import json
import pathlib
import subprocess
import sys

import pytest
from frameworks import python_with

from runs import PACKAGE, ROOT, record

HERE = pathlib.Path(__file__).resolve().parent
COUNTING = """
import ctypes, json, sys
counter = ctypes.PyDLL(sys.argv[1])
counter.begin.argtypes, counter.end.restype = [ctypes.py_object], ctypes.py_object
class Steps:
    def __init__(self, count, warm=16):
        self.done, self.count, self.warm = 0, count, warm
    def step_is_over(self):
        self.done += 1
        if self.done == self.warm:
            counter.begin(sys.argv[2])
        elif self.done == self.warm + self.count:
            print(json.dumps([self.count, counter.end()]))
            sys.stdout.flush()
def measure(step, count=1000):
    steps = Steps(count)
    for _ in range(steps.warm + count):
        step()
        steps.step_is_over()
"""
PROGRAMS = {"torch": """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
batches = iter(torch.utils.data.DataLoader(torch.randn(3000, 8)))
def step():
    optimizer.zero_grad()
    with torch.profiler.record_function("mine"):
        model(next(batches)).sum().backward()
    optimizer.step()
measure(step)
""", "gymnasium": """
import gymnasium
environment = gymnasium.make("CartPole-v1")
environment.reset()
def step():
    if any(environment.step(0)[2:4]):
        environment.reset()
measure(step)
""", "jax": """
import jax
value = jax.numpy.ones(8)
update = jax.jit(lambda x: x * 0.5)
def step():
    global value
    value = update(value)
measure(step)
""", "jax annotations": """
import jax
value = jax.numpy.ones(8)
update = jax.jit(lambda x: x * 0.5)
numbers = iter(range(2000))
def step():
    global value
    with jax.profiler.StepTraceAnnotation("train", step_num=next(numbers)):
        with jax.profiler.TraceAnnotation("update"):
            value = update(value)
measure(step)
""", "keras": """
import numpy, tensorflow as tf
steps = Steps(1000)
class Batches(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        steps.step_is_over()
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
x = numpy.ones((1020 * 2, 4), "float32")
model.fit(x, x[:, :1], batch_size=2, verbose=0, callbacks=[Batches()])
""", "keras-jax": """
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy, keras
steps = Steps(1000)
class Batches(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        steps.step_is_over()
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = numpy.ones((1020 * 2, 4), "float32")
model.fit(x, x[:, :1], batch_size=2, verbose=0, callbacks=[Batches()])
""", "tensorflow": """
import tensorflow as tf
w, optimizer = tf.Variable(tf.ones((4, 4))), tf.keras.optimizers.SGD(0.01)
@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
measure(step)
""", "tensorflow eager": """
import tensorflow as tf
w, optimizer = tf.Variable(tf.ones((4, 4))), tf.keras.optimizers.SGD(0.01)
batches = iter(tf.data.Dataset.from_tensors(tf.ones((4, 4))).repeat())
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * next(batches))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
measure(step)
""", "stable_baselines3": """
import torch
from stable_baselines3 import DQN
torch.set_num_threads(1)
steps = Steps(300)
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, train_freq=1, device="cpu")
def train(*arguments, after=model.train, **named):
    after(*arguments, **named)
    steps.step_is_over()
model.train = train
model.learn(450)
""", "trl": """
import os, tempfile
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
sys.path.insert(0, sys.argv[3])
from trl_grpo import WORDS, tokenizer
import torch
from datasets import Dataset, disable_progress_bars
from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
steps = Steps(50, warm=5)
class Count(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        steps.step_is_over()
disable_progress_bars()
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
    num_attention_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2))
with tempfile.TemporaryDirectory() as folder:
    GRPOTrainer(
        model=model, processing_class=tokenizer(), callbacks=[Count()],
        reward_funcs=lambda completions, **_: [float(len(text)) for text in completions],
        train_dataset=Dataset.from_dict({"prompt": ["w1 w2", "w3 w4", "w5 w6", "w7 w8"]}),
        args=GRPOConfig(
            output_dir=folder, per_device_train_batch_size=2, num_generations=2, max_steps=56,
            max_completion_length=2, report_to=[], save_strategy="no", use_cpu=True,
            logging_strategy="no", disable_tqdm=True, bf16=False)).train()
"""}
# What a program needs beside Python, and where that is.
MODULES = {"jax annotations": "jax", "keras": "tensorflow", "keras-jax": "jax",
           "tensorflow eager": "tensorflow"}
OF_RL = ("gymnasium", "stable_baselines3", "trl")


def python_of(program):
    if program in OF_RL:
        python = ROOT / ".venv-rl" / "bin" / "python"
        look = f"import importlib.util as it, sys; sys.exit(not it.find_spec({program!r}))"
        if python.exists() and subprocess.run([python, "-c", look]).returncode == 0:
            return str(python)
        pytest.skip(f"no Python here has {program}")
    return sys.executable if program == "torch" else python_with(MODULES.get(program, program))


def steps_and_frames(folder, python, program, **options):
    """How many steps a program counted, and how often each function of ours ran in them."""
    counter, script = folder / "counter.so", folder / "program.py"
    include = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{include}", HERE / "step_frames.c",
                    "-o", counter], check=True)
    script.write_text(COUNTING + program)
    done = record(folder / "run", [python, script, counter, f"{PACKAGE.resolve()}/crosscut",
                                   HERE / "on_ray"], **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0])


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_step_runs_no_python_of_ours(program, tmp_path):
    steps, frames = steps_and_frames(tmp_path, python_of(program), PROGRAMS[program])
    # The profiles of JAX and TensorFlow are made anew every few seconds, and rest in control steps:
    # a few frames each, and those that read what such a profile was.
    assert {name: count for name, count in frames.items()
            if count > steps // 5 and "/adapters/xspace.py:" not in name} == {}
