"""examples/dqn: the agent in C++ under `crosscut record`, and that its twin in Python is one."""

import csv
import os
import re
import subprocess

import pytest
from runs import PACKAGE, ROOT, record, table
from test_rl import python  # noqa: F401

FOLDER = ROOT / "examples" / "dqn"
AGENT = ROOT / "build" / "release" / "examples" / "dqn" / "dqn"
SETTINGS = FOLDER / "cartpole.txt"
# 500 updates after 1,000 steps.
SHORT = ["steps=3000", "evaluate_period=3000", "evaluate_episodes=3", "final_episodes=2"]

pytestmark = pytest.mark.skipif(not AGENT.exists(), reason="LibTorch was not found")


def printed(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True,
                          text=True, timeout=1200, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)}).stdout


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
    return re.findall(r"step +(\d+)  return +(-?[\d.]+) .* loss ([\d.]+)", output)


def test_the_agent_in_python_is_the_same(python):
    # Before the first update, and with one: the same weights, random numbers, transitions, sample.
    for steps in (1000, 1004):
        arguments = [SETTINGS, "seed=3", f"steps={steps}", "evaluate_period=1000",
                     "evaluate_episodes=5", "final_episodes=1"]
        in_cpp = evaluations(printed(AGENT, *arguments))
        in_python = evaluations(printed(python, FOLDER / "dqn.py", *arguments))
        assert in_cpp == in_python
        assert len(in_cpp) == (1 if steps == 1000 else 2)
    assert float(in_cpp[-1][2]) > 0


def test_what_is_wrong_is_told_in_a_line(tmp_path):
    result = subprocess.run([AGENT, SETTINGS, "environment=chess"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr == 'dqn: no environment is called "chess"\n'
    assert subprocess.run([AGENT], capture_output=True).returncode == 2


PONG = FOLDER / "pong.txt"
ROM = ROOT / "build" / "ale" / "pong.bin"


@pytest.fixture
def pong():
    """Skips where the agent was built without the emulator: examples/dqn/get_ale.sh."""
    if not ROM.exists():
        pytest.skip(f"{ROM} is not there")
    result = subprocess.run([AGENT, PONG, "rom="], capture_output=True, text=True)
    if "without the Arcade Learning Environment" in result.stderr:
        pytest.skip("dqn was built before build/ale was there")


def test_the_agent_plays_pong_on_the_emulator(pong, tmp_path):
    run = tmp_path / "run"
    result = record(run, [AGENT, PONG, f"rom={ROM}", "steps=400", "learn_start=200",
                          "evaluate_period=400", "evaluate_episodes=1", "final_episodes=1"],
                    "--control-steps=0")
    assert (result.returncode, result.stderr.count("A.L.E")) == (0, 0), result.stderr
    (_, value, _), = evaluations(result.stdout)
    assert -21 <= float(value) <= 21

    counts = {row["operation"]: row["count"] for row in table(run, "operations")}
    assert counts["backprop"] == 200  # learn_period
    # An episode takes 21 points, and a point takes more than ten steps.
    assert counts["inference"] > 400 + 2 * 21 * 10
    functions = {row["name"]: row for row in table(run, "functions")}
    assert functions["environment"]["layer"] == "simulator"
    assert functions["environment"]["count"] == counts["simulate"]


def learning(command, folder, name):
    """The rows of the curve of 80 updates on Pong."""
    curve = folder / name
    printed(*command, PONG, f"rom={ROM}", "steps=580", "learn_start=500", "evaluate_period=580",
            "evaluate_episodes=1", "final_episodes=1", f"curve={curve}")
    with curve.open() as file:
        return list(csv.DictReader(file))


def test_both_agents_see_the_same_pong(pong, tmp_path, python):
    in_cpp, = learning([AGENT], tmp_path, "cpp.csv")
    in_python, = learning([python, FOLDER / "dqn.py"], tmp_path, "python.csv")
    # The loss is of the pictures, the actions and the weights of 80 updates.
    assert float(in_cpp["loss"]) == pytest.approx(float(in_python["loss"]), rel=1e-3)
    assert float(in_cpp["loss"]) > 0


def test_a_file_that_is_not_pong_is_named(pong, tmp_path):
    other = tmp_path / "other.bin"
    other.write_bytes(ROM.read_bytes()[::-1])
    for rom, why in ((tmp_path / "none.bin", "no such file"), (other, "no game that ALE knows")):
        result = subprocess.run([AGENT, PONG, f"rom={rom}"], capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (1, f"dqn: rom = {rom}: {why}\n")
