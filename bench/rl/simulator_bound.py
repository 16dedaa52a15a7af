"""An environment that costs much, an agent that costs next to nothing: nine tenths simulation.

Usage: simulator_bound.py STEPS
A cloud of particles attracts itself; the agent pushes it to one place by a linear policy, improved
by keeping random changes that did better. The same seed each time.
"""

import sys

import gymnasium
import numpy as np

PARTICLES, SUBSTEPS, EPISODE = 48, 4, 50


class Cloud(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,))
    action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.standard_normal((PARTICLES, 2))
        self.speed = np.zeros((PARTICLES, 2))
        self.steps = 0
        return self._seen(), {}

    def _seen(self):
        return np.concatenate([self.place.mean(axis=0), self.speed.mean(axis=0)])

    def step(self, action):
        for _ in range(SUBSTEPS):
            apart = self.place[None] - self.place[:, None]
            distance = (apart ** 2).sum(axis=2) + 0.05
            pull = (apart / (distance * np.sqrt(distance))[..., None]).mean(axis=1)
            self.speed += 0.01 * (pull + action)
            self.place += 0.01 * self.speed
        self.steps += 1
        reward = -float(np.abs(self.place.mean(axis=0) - 1).sum())
        return self._seen(), reward, False, self.steps >= EPISODE, {}


def main():
    random = np.random.default_rng(1)
    world = Cloud()
    policy = best = np.zeros((2, 4))
    best_return, total = -np.inf, 0.0
    seen, _ = world.reset(seed=1)
    for _ in range(int(sys.argv[1])):
        seen, reward, _, ended, _ = world.step(np.clip(policy @ seen, -1, 1))
        total += reward
        if ended:
            if total > best_return:
                best, best_return = policy, total
            policy, total = best + 0.1 * random.standard_normal(best.shape), 0.0
            seen, _ = world.reset()
    print(best_return)


if __name__ == "__main__":
    main()
