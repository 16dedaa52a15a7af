"""examples/dqn: the agent in C++ under `crosscut record`, and that its twin in Python is one."""

import re
import subprocess
import sys

import pytest
from runs import ROOT, record, table

FOLDER = ROOT / "examples" / "dqn"
AGENT = ROOT / "build" / "release" / "examples" / "dqn" / "dqn"
SETTINGS = FOLDER / "cartpole.txt"
# 500 updates after 1,000 steps.
SHORT = ["steps=3000", "evaluate_period=3000", "evaluate_episodes=3", "final_episodes=2"]

pytestmark = pytest.mark.skipif(not AGENT.exists(), reason="LibTorch was not found")


def printed(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True,
                          text=True, timeout=300).stdout


def test_the_agent_in_cpp_tells_its_operations_steps_and_phases(tmp_path):
    run = tmp_path / "run"
    result = record(run, [AGENT, SETTINGS, *SHORT], "--control-steps=0")
    assert result.returncode == 0, result.stderr
    assert re.search(r"seed 1: 3000 steps in .* over 2 episodes", result.stdout)

    process, = table(run, "processes")
    assert (process["name"], process["complete"]) == ("dqn (C++)", 1)
    counts = {row["operation"]: row["count"] for row in table(run, "operations")}
    assert counts["backprop"] == 500
    assert counts["replay"] == 3000 + 500  # adding and sampling
    # Evaluations decide and step as often as each other; training also resets.
    assert counts["simulate"] > counts["inference"] > 3000
    steps = [row["kind"] for row in table(run, "steps")]
    assert (steps.count("learn"), steps.count("collect")) == (500, 2500)

    cells = table(run, "overlap")
    assert sum(row["ns"] for row in cells) == process["wall_ns"]
    layers = {operation: {row["layers"] for row in cells if row["operation"] == operation}
              for operation in counts}
    assert layers["simulate"] == {"native", "simulator"}
    assert layers["inference"] == layers["backprop"] == {"native", "framework"}
    assert layers["replay"] == {"native"}


def evaluations(output):
    """Step, mean return and loss of each evaluation."""
    return re.findall(r"step +(\d+)  return +([\d.]+) .* loss ([\d.]+)", output)


def test_the_agent_in_python_is_the_same(tmp_path):
    pytest.importorskip("gymnasium")
    # Before the first update, and with one: the same weights, random numbers, transitions, sample.
    for steps in (1000, 1004):
        arguments = [SETTINGS, "seed=3", f"steps={steps}", "evaluate_period=1000",
                     "evaluate_episodes=5", "final_episodes=1"]
        in_cpp = evaluations(printed(AGENT, *arguments))
        in_python = evaluations(printed(sys.executable, FOLDER / "dqn.py", *arguments))
        assert in_cpp == in_python
        assert len(in_cpp) == (1 if steps == 1000 else 2)
    assert float(in_cpp[-1][2]) > 0


def test_what_is_wrong_is_told_in_a_line(tmp_path):
    result = subprocess.run([AGENT, SETTINGS, "environment=chess"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr == 'dqn: no environment is called "chess"\n'
    assert subprocess.run([AGENT], capture_output=True).returncode == 2
