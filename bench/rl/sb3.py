"""An algorithm of Stable-Baselines3 on an environment, as people run it, for a number of steps.

Usage: sb3.py {a2c,ddpg,dqn,ppo,sac,td3} ENVIRONMENT STEPS    (ENVIRONMENT: gymnasium's, ALE/Pong-v5
by its memory, as 128 numbers, or bullet/CartPole on PyBullet)
The same seeds each time, one thread: every run does the same.
"""

import sys

import gymnasium
import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3

ALGORITHMS = {
    "a2c": (A2C, {}),
    "ddpg": (DDPG, {"learning_starts": 100, "policy_kwargs": {"net_arch": [64, 64]}}),
    "dqn": (DQN, {"learning_starts": 500, "train_freq": 4, "target_update_interval": 500}),
    "ppo": (PPO, {"n_steps": 512, "batch_size": 64, "n_epochs": 5}),
    "sac": (SAC, {"learning_starts": 100, "policy_kwargs": {"net_arch": [64, 64]}}),
    "td3": (TD3, {"learning_starts": 100, "policy_kwargs": {"net_arch": [64, 64]}}),
}


def make(name):
    if name.startswith("bullet/"):
        import bullet

        return bullet.CartPole()
    if not name.startswith("ALE/"):
        return gymnasium.make(name)
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    return gymnasium.make(name, obs_type="ram")


def main():
    algorithm, options = ALGORITHMS[sys.argv[1]]
    torch.set_num_threads(1)
    agent = algorithm("MlpPolicy", make(sys.argv[2]), seed=1, device="cpu", **options)
    agent.learn(int(sys.argv[3]))
    print(agent.num_timesteps, sum(float(p.detach().sum()) for p in agent.policy.parameters()))


if __name__ == "__main__":
    main()
