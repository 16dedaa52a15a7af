"""A small training on a CUDA device: torch_program.py MODE OUT, MODE = plain, kineto or launches.

plain: only trains (for `crosscut record`); kineto: under torch.profiler, its kernels' names and
durations as JSON into OUT; launches, launches-kineto: prints ns per launch of a tiny kernel.
"""

import collections
import json
import sys
import time

import torch

STEPS, LAUNCHES = 20, 20_000


def train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(),
                                torch.nn.Linear(2048, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(256, 512).pin_memory()
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(inputs.cuda(non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def kineto(out):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                            torch.profiler.ProfilerActivity.CUDA]) as profile:
        train()
    durations = collections.defaultdict(list)
    for event in profile.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA and event.duration_ns() > 0:
            durations[event.name()].append(event.duration_ns())
    with open(out, "w") as file:
        json.dump(durations, file)


def launches():
    x = torch.zeros(1, device="cuda")
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        x.add_(1)
    middle = time.perf_counter_ns()
    torch.cuda.synchronize()
    print((middle - begin) / LAUNCHES)


def main():
    mode = sys.argv[1]
    train() if mode in ("plain", "kineto") else None  # the libraries' first use is not measured
    if mode == "plain":
        train()
    elif mode == "kineto":
        kineto(sys.argv[2])
    elif mode == "launches":
        launches()
    else:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                torch.profiler.ProfilerActivity.CUDA]):
            launches()


main()
