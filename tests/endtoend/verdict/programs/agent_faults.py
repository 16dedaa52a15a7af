"""Reinforcement learning with one planted fault, by name: sys.argv[1]."""
import sys
import time

import gymnasium
import numpy
import torch

from clock import PLANTED, Clock

FAULT = sys.argv[1]


def observe():
    sum([i & 7 for i in range(200_000)])  # HERE


def slow_reward():
    observe()


def replay_part(memory):
    return [memory[i] for i in numpy.random.randint(0, len(memory), 25_000)]  # HERE


def replay():
    replay_part(MEMORY)


class World(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, number=0):
        self.number = number

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.zeros(4, numpy.float32), {"took": 0.0}

    def step(self, action):
        begin = time.perf_counter()
        if PLANTED and FAULT in ("slow_world", "one_of_four"):
            time.sleep(0.012 if self.number == 2 else 0.001)  # HERE
        took = time.perf_counter() - begin
        return numpy.zeros(4, numpy.float32), 1.0, False, False, {"took": took}


def one_of_four():
    return float(max(WORLDS.step(numpy.zeros(4, int))[4]["took"]))


def slow_world():
    return WORLD.step(0)[4]["took"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters())
    MEMORY = [(i, i + 1) for i in range(100_000)]
    WORLD = World(2)
    if FAULT == "one_of_four":
        WORLDS = gymnasium.vector.AsyncVectorEnv([lambda i=i: World(i) for i in range(4)])
        WORLDS.reset()
    clock = Clock()
    steps_in_worlds = FAULT in ("slow_world", "one_of_four")
    for STEP in clock.steps(120, marks=False):
        optimizer.zero_grad()
        policy(torch.ones(16, 4)).sum().backward()
        optimizer.step()
        if PLANTED or steps_in_worlds:
            clock.time(globals()[FAULT])
    if FAULT == "one_of_four":
        WORLDS.close()
