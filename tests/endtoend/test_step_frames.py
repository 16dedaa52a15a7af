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
def measure(step):
    for _ in range(16):
        step()
    counter.begin(sys.argv[2])
    for _ in range(1000):
        step()
    print(json.dumps(counter.end()))
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
""", "gymnasium": """
import gymnasium
environment = gymnasium.make("CartPole-v1")
environment.reset()
def step():
    if any(environment.step(0)[2:4]):
        environment.reset()
""", "jax": """
import jax
value = jax.numpy.ones(8)
update = jax.jit(lambda x: x * 0.5)
def step():
    global value
    value = update(value)
"""}


def python_of(module):
    if module == "gymnasium":
        python = ROOT / ".venv-rl" / "bin" / "python"
        return str(python) if python.exists() else pytest.skip("no Python here has gymnasium")
    return sys.executable if module == "torch" else python_with(module)


@pytest.mark.parametrize("module", PROGRAMS)
def test_a_step_runs_no_python_of_ours(module, tmp_path):
    python, counter = python_of(module), tmp_path / "counter.so"
    include = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{include}", HERE / "step_frames.c",
                    "-o", counter], check=True)
    program = tmp_path / "program.py"
    program.write_text(COUNTING + PROGRAMS[module] + "measure(step)\n")
    done = record(tmp_path / "run", [python, program, counter, f"{PACKAGE.resolve()}/crosscut"])
    assert done.returncode == 0, done.stderr
    # JAX's profile is made anew every few seconds, and rests in control steps.
    assert {name: count for name, count in json.loads(done.stdout).items() if count > 200} == {}
