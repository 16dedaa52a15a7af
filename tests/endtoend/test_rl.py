"""Reinforcement learning as people have it: Gymnasium, the Arcade Learning Environment,
Stable-Baselines3 with environments in processes of their own. In .venv-rl (tools/setup.sh tests).
"""

import json
import os
import pathlib
import subprocess

import pytest
from runs import ROOT, crosscut, record, table
from test_adds_up import check_sums


@pytest.fixture(scope="module")
def python():
    """CROSSCUT_RL_PYTHON or .venv-rl; skips without."""
    found = pathlib.Path(os.environ.get("CROSSCUT_RL_PYTHON") or
                         ROOT / ".venv-rl" / "bin" / "python")
    if not found.exists():
        pytest.skip(f"{found} is not there")
    return str(found)


def run_script(run, python, text, *flags, bare=True):
    """Records a script; its stdout, which must be that of the script without Crosscut."""
    script = pathlib.Path(f"{run}.py")
    script.write_text(text)
    recorded = record(run, [python, script], *flags)
    assert recorded.returncode == 0, recorded.stderr
    if bare:
        alone = subprocess.run([python, script], capture_output=True, text=True, timeout=300)
        assert (alone.returncode, alone.stdout) == (0, recorded.stdout), alone.stderr
    return recorded.stdout


def operations_of(run, process):
    return {row["operation"]: row["count"] for row in table(run, "operations")
            if row["process"] == process}


# Both clocks look at the same calls: what the program's own sees more is its own reading and ours,
# some 0.2 us of a call of 100 us and more. Being suspended lengthens both alike, unless it falls
# between their readings; so the sums of thousands of calls agree on any machine.
ALE = """
import gc, json, os, time
import ale_py
from ale_py import roms

ale = ale_py.ALEInterface()
ale.setInt("random_seed", 7)
ale.setInt("frame_skip", 4)
ale.loadROM(roms.get_rom_path("pong"))
actions = ale.getMinimalActionSet()
clock = time.perf_counter_ns
ns = calls = 0
gc.disable()
for i in range(3000):
    begin = clock()
    ale.act(actions[i % len(actions)])
    ns += clock() - begin
    calls += 1
    if ale.game_over():
        ale.reset_game()
if "CROSSCUT_RUN" in os.environ:
    open(__file__ + ".json", "w").write(json.dumps([calls, ns]))
print(ale.getFrameNumber(), ale.lives(), int(ale.getRAM().sum()))
"""


def test_ale_takes_the_simulator_time_that_its_own_clock_says(tmp_path, python):
    run = tmp_path / "run"
    run_script(run, python, ALE, "--wrap", "ale_py:simulator", "--control-steps=0")
    calls, ns = json.loads(pathlib.Path(f"{run}.py.json").read_text())
    functions = {row["name"]: row for row in table(run, "functions")}
    act = functions["ale_py.ALEInterface.act"]
    assert (act["layer"], act["count"]) == ("simulator", calls)
    assert act["total_ns"] <= ns
    assert act["total_ns"] >= 0.98 * ns, (act["total_ns"], ns)
    assert functions["ale_py.ALEInterface.loadROM"]["layer"] == "simulator"
    (wrapped,) = [row for row in table(run, "sources") if row["name"] == "wrap"]
    assert wrapped["state"] == "on" and "ale_py as simulator" in wrapped["message"]
    check_sums(run)


USAGE = """
import copy, inspect, pickle
import ale_py
import gymnasium
from ale_py import roms
from ale_py import ALEInterface, ALEState

gymnasium.register_envs(ale_py)
env = gymnasium.make("ALE/Pong-v5", frameskip=4)
observation, info = env.reset(seed=3)
total = sum(float(env.step(i % 6)[1]) for i in range(50))
ale = env.unwrapped.ale
state = ale.cloneState()
assert isinstance(ale, ALEInterface) and isinstance(state, ALEState)
assert type(ale) is ALEInterface and ALEInterface.act is ALEInterface.__dict__["act"]
assert pickle.loads(pickle.dumps(state)) == state
before = ale.getRAM().tolist()
env.step(2)
ale.restoreState(state)
assert ale.getRAM().tolist() == before
print(total, observation.shape, ALEInterface.act.__doc__, ALEInterface.__name__,
      str(inspect.signature(type(env.unwrapped).step)), ALEInterface.act.__name__)
try:
    ale.act("no action", "at all")
except TypeError as error:
    print(type(error), "incompatible" in str(error))
"""


def test_ale_is_used_as_ever(tmp_path, python):
    run = tmp_path / "run"
    run_script(run, python, USAGE, "--wrap", "ale_py:simulator")
    functions = {row["name"]: row["layer"] for row in table(run, "functions")}
    assert functions["ale_py.ALEInterface.act"] == functions["AtariEnv.step"] == "simulator"
    (process,) = {row["process"] for row in table(run, "operations")}
    assert operations_of(run, process)["simulate"] == 1 + 50 + 1
    check_sums(run)


ENVIRONMENTS = """
import pickle
import gymnasium

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(100)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        "One step."
        self.at += int(action)
        return self.at, 1.0, self.at > 5, False, {}

own = Walk.step
env = gymnasium.wrappers.TimeLimit(Walk(), 10)
env.reset(seed=1)
for _ in range(7):
    env.step(1)
try:
    env.step("x")
except ValueError as error:
    print(error)
assert Walk.step is own and Walk.step.__doc__ == "One step." and isinstance(env.unwrapped, Walk)
assert pickle.loads(pickle.dumps(env.unwrapped)).at == 7
envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
envs.reset(seed=1)
for _ in range(20):
    rewards = envs.step(envs.action_space.sample() * 0)[1]
envs.close()
print(env.unwrapped.at, rewards)
"""


def test_gymnasium_environments_are_operations_and_a_layer(tmp_path, python):
    run = tmp_path / "run"
    script = "if __name__ == '__main__':\n" + "".join(f"    {line}\n"
                                                      for line in ENVIRONMENTS.splitlines())
    run_script(run, python, script)
    processes = check_sums(run)
    assert all(row["complete"] for row in processes.values())
    (main,) = [key for key, row in processes.items() if row["name"] == "run.py"]
    assert operations_of(run, main)["simulate"] == 1 + 8 + 1 + 20
    functions = {row["name"]: row for row in table(run, "functions")}
    assert functions["Walk.step"]["layer"] == functions["CartPoleEnv.step"]["layer"] == "simulator"
    assert functions["Walk.step"]["count"] == 8
    workers = {key: row for key, row in processes.items() if "AsyncVectorEnv" in row["name"]}
    (parent,) = {row["parent"] for row in workers.values()}
    assert len(workers) == 2  # from Python 3.14 on a fork server starts them
    assert parent == main or processes[parent]["parent"] == main
    for key in workers:
        assert operations_of(run, key)["simulate"] >= 21


PPO = """
import os, signal, sys
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

KILL = {kill}

class Killer(BaseCallback):
    def _on_step(self):
        if KILL and self.n_calls == 40:
            for worker in self.training_env.processes[1:3]:
                os.kill(worker.pid, signal.SIGKILL)
                worker.join()
        return True

if __name__ == "__main__":
    torch.set_num_threads(1)
    env = make_vec_env("CartPole-v1", n_envs=4, seed=0, vec_env_cls=SubprocVecEnv)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=2, seed=0, device="cpu")
    try:
        model.learn(256, callback=Killer())
    except (EOFError, OSError) as error:
        print("lost", flush=True)
        os._exit(0)
    print(sum(float(p.detach().double().sum()) for p in model.policy.parameters()))
    env.close()
"""


def _workers(processes):
    return {key: row for key, row in processes.items() if "subproc_vec_env" in row["name"]}


def test_ppo_on_a_vector_of_processes_needs_no_edit(tmp_path, python):
    run = tmp_path / "run"
    run_script(run, python, PPO.format(kill=False), "--control-steps=0")
    processes = check_sums(run)
    assert all(row["complete"] for row in processes.values()), processes
    (learner,) = [key for key, row in processes.items() if row["name"] == "run.py"]
    counts = operations_of(run, learner)
    assert counts["rollout"] == counts["update"] == 2
    assert counts["forward"] == counts["backprop"] == counts["optimizer"] == 2 * 2 * 4
    assert counts["simulate"] == 1 + 64, "a reset, and 64 steps of the vector"
    assert counts["inference"] == 64 + 2, "each step, and the last values of a rollout"
    assert "backward" not in counts
    workers = _workers(processes)
    assert len(workers) == 4 and len({row["name"] for row in workers.values()}) == 4
    for key, row in workers.items():
        assert row["parent"] in processes
        assert operations_of(run, key)["simulate"] >= 1 + 64
    functions = {row["name"]: row for row in table(run, "functions")}
    assert functions["CartPoleEnv.step"]["layer"] == "simulator"
    assert functions["CartPoleEnv.step"]["count"] == 4 * 64
    waits = sum(row["ns"] for row in table(run, "threads")
                if row["process"] == learner and row["layer"] == "idle")
    assert waits > 0, "the learner waits for its workers on pipes"


ROLLOUTS = """
import os
import gymnasium
import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
model.learn(1024)
child = os.fork()
if child == 0:
    env = gymnasium.make("CartPole-v1")
    for _ in range(20):
        env.reset(seed=1)
        env.step(0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(sum(float(p.detach().double().sum()) for p in model.policy.parameters()))
"""


def test_long_rollouts_are_steps_of_their_own(tmp_path, python):
    run = tmp_path / "run"
    run_script(run, python, ROLLOUTS, "--plan=full", "--control-steps=30")
    steps = table(run, "steps")
    kinds = [row["kind"] for row in steps]
    # 16 rollouts of 64 and 16 updates of 4; before the first update nobody knows of steps.
    # The child steps an environment, but learns nothing: it has no steps.
    assert kinds == ["step"] * 4 + 15 * (["rollout step"] * (64 // 8) + ["step"] * 4)
    assert [row["step"] for row in steps] == list(range(len(steps)))
    # Ten blocks of three control steps, wherever this run's plan puts them.
    control = [row for row in steps if row["control"] and row["kind"] == "rollout step"]
    assert len(control) > 3, "what a rollout costs is compared, too"
    check_sums(run)


def test_killed_workers_leave_a_complete_report_that_names_them(tmp_path, python):
    run = tmp_path / "run"
    assert run_script(run, python, PPO.format(kill=True), bare=False) == "lost\n"
    processes = check_sums(run)
    workers = _workers(processes)
    assert len(workers) == 4
    killed = [row["name"] for row in workers.values() if not row["complete"]]
    assert len(killed) >= 2
    for key in workers:
        assert operations_of(run, key)["simulate"] >= 39, "nothing of what they did is lost"
    report = crosscut("report", run)
    assert all(name in report for name in killed), report
