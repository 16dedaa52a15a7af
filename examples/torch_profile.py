"""A training script that profiles itself with torch.profiler, as PyTorch's recipes do it.

    python examples/torch_profile.py OUT

The same by Crosscut: change the import to `from crosscut.torch import ...` and nothing else.
"""

import os
import sys

import torch
from torch.profiler import (ProfilerActivity, profile, record_function, schedule,
                            tensorboard_trace_handler)

OUT = sys.argv[1] if len(sys.argv) > 1 else "profiles"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
        self.head = torch.nn.Linear(8 * 14 * 14, 10)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def train(model, optimizer, images, labels):
    with record_function("train one batch"):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    os.makedirs(OUT, exist_ok=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))

    # Where does the time go? By operator, then by the shapes of its inputs.
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(5):
            train(model, optimizer, *batch)
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    print(prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=5))
    prof.export_chrome_trace(os.path.join(OUT, "trace.json"))

    # Which operators allocate, and how many FLOPs do they do?
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_flops=True,
                 record_shapes=True) as prof:
        train(model, optimizer, *batch)
    print(prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=5))

    # Which lines called them?
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
        train(model, optimizer, *batch)
    print(prof.key_averages(group_by_stack_n=3).table(sort_by="self_cpu_time_total", row_limit=3))

    # A long job: two windows of two steps each, written while it goes on.
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
                 on_trace_ready=tensorboard_trace_handler(OUT, worker_name="worker")) as prof:
        for _ in range(10):
            train(model, optimizer, *batch)
            prof.step()


if __name__ == "__main__":
    main()
