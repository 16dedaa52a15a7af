"""Ray Train: two workers by gloo, a linear layer, twenty steps each."""

import sys

import ray
import ray.train.torch
from ray.train import RunConfig, ScalingConfig


def train():
    import torch

    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
    ray.train.report({"loss": 1.0})


if __name__ == "__main__":
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    result = ray.train.torch.TorchTrainer(
        train, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[1])).fit()
    print("trained", result.error)
