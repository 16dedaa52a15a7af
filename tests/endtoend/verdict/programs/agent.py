"""Stable-Baselines3 with an environment whose step is slow."""
import os
import time

import gymnasium
import numpy
import torch
from stable_baselines3 import PPO

PLANTED = os.environ["PLANTED"] == "1"


class World(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.count = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return numpy.zeros(4, numpy.float32), {}

    def step(self, action):
        end = time.perf_counter() + (0.004 if PLANTED else 0)
        while time.perf_counter() < end:
            sum(range(200))  # HERE
        self.count += 1
        return numpy.zeros(4, numpy.float32), 1.0, self.count >= 50, False, {}


torch.set_num_threads(1)  # on a busy machine two wait for each other longer than they compute
agent = PPO("MlpPolicy", World(), n_steps=128, batch_size=64, n_epochs=4, device="cpu")
agent.learn(128 * 12)  # OWN
