"""A small PPO of RLlib on CartPole: two env runners, a local learner, two iterations."""

import warnings

import ray
from ray.rllib.algorithms.ppo import PPOConfig

warnings.filterwarnings("ignore")


def main():
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=2, rollout_fragment_length=100)
        .training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=2)
    )
    algorithm = config.build_algo()
    for _ in range(2):
        algorithm.train()
    algorithm.stop()
    print("trained")


if __name__ == "__main__":
    main()
