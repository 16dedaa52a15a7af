"""What recording adds to a step of Stable-Baselines3's DQN on CartPole, beside other profilers.

Usage: rl_overhead.py ROUNDS CROSSCUT     with Stable-Baselines3, Gymnasium and VizTracer
Every measurement is a process of its own, since `crosscut record` begins with the process; rounds
of all recorders in random order. Prints one JSON line per recorder: CPU time per step of the
environment, of all threads, so that the thread that packs what Crosscut records counts, too.
"""

import contextlib
import cProfile
import json
import subprocess
import sys
import tempfile
import time

import harness

GROUP = "rl step: SB3 DQN, CartPole"
WARM, STEPS = 4000, 6000  # of the environment; every fourth updates the network


@contextlib.contextmanager
def viztracer():
    import viztracer as module
    tracer = module.VizTracer(verbose=0)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


def torch_profiler():
    import torch
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


INSIDE = {"cProfile": cProfile.Profile, "VizTracer": viztracer, "torch.profiler": torch_profiler}
FLAGS = {"crosscut": [], "crosscut, every step whole": ["--plan=full"]}


def train(recorder):
    """CPU time per step in ns, in this process."""
    import torch
    from stable_baselines3 import DQN
    torch.set_num_threads(1)
    model = DQN("MlpPolicy", "CartPole-v1", seed=1, device="cpu")
    model.learn(WARM)
    with INSIDE.get(recorder, contextlib.nullcontext)():
        begin = time.process_time_ns()
        model.learn(STEPS, reset_num_timesteps=False)
        return (time.process_time_ns() - begin) / STEPS


def measured(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: "
                           f"{done.stderr[-2000:]}")
    return done.stdout


def in_a_process(recorder, crosscut):
    """train(), in a process that is recorded as `recorder` says."""
    command = [sys.executable, __file__, "train", recorder]
    if recorder not in FLAGS:
        return json.loads(measured(command))
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        told = measured([crosscut, "record", "-o", run, *FLAGS[recorder], "--", *command])
        # What recorded nothing would be cheap.
        operations = measured([crosscut, "table", run, "operations", "--format=csv"])
        for operation in (",simulate,", ",inference,", ",backprop,"):
            if operation not in operations:
                raise RuntimeError(f"no operation {operation} was recorded")
        return json.loads(told)


def main():
    if sys.argv[1] == "train":
        print(json.dumps(train(sys.argv[2])))
        return
    rounds, crosscut = int(sys.argv[1]), sys.argv[2]
    recorders = ["unprofiled", "unprofiled again (A/A)", *FLAGS, *INSIDE]
    variants = {name: lambda name=name: in_a_process(name, crosscut) for name in recorders}
    for line in harness.interleave(GROUP, variants, rounds, warm=False):
        print(line.to_json(), flush=True)


if __name__ == "__main__":
    main()
