"""The programs of bench/diff.py, with slow-downs planted in them.

Usage: diff_program.py loop|network|device [--steps N] [--slower OPERATION:PERCENT]

loop: pure Python, operations data, model, update, some 4 ms a step undisturbed. network: PyTorch,
some 6 ms a step. device: OpenCL, some 6 ms a step, of which a kernel takes 2 ms on one processor.
PERCENT is of a step: in the network's "data" it sleeps longer, in "forward" it calls more
operators, in "kernel" the device computes longer, everywhere else it is more Python.
"""

import argparse
import time

import crosscut

LOOPS = {"data": 20_000, "model": 60_000, "update": 20_000}
NETWORK_MS = 6.0
CALLS_PER_MS = 70  # of the operator, about
LOOPS_PER_MS = 28_000


def burn(loops):
    total = 0
    for i in range(int(loops)):
        total += i * i
    return total


def loop(steps, slower):
    whole = sum(LOOPS.values())
    for _ in range(steps):
        crosscut.step()
        for operation, loops in LOOPS.items():
            with crosscut.operation(operation):
                burn(loops + whole * slower.get(operation, 0))


def network(steps, slower):
    import torch
    from torch import nn
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    small = torch.randn(256, 40)
    slower_ms = {operation: NETWORK_MS * share for operation, share in slower.items()}
    for _ in range(steps):
        crosscut.step()
        with crosscut.operation("data"):
            inputs, labels = torch.randn(128, 256), torch.randint(0, 10, (128,))
            time.sleep((1 + slower_ms.get("data", 0)) / 1000)
        with crosscut.operation("forward"):
            loss = loss_of(model(inputs), labels)
            for _ in range(round(CALLS_PER_MS * slower_ms.get("forward", 0))):
                torch.cumsum(small, 0)
        with crosscut.operation("backward"):
            optimizer.zero_grad()
            loss.backward()
        with crosscut.operation("update"):
            optimizer.step()
            burn(10_000 + LOOPS_PER_MS * slower_ms.get("update", 0))


KERNEL = """
__kernel void heavy(__global float *a, int n) {
  float x = a[get_global_id(0)];
  for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;
  a[get_global_id(0)] = x;
}
"""
DEVICE_MS = 6.0
KERNEL_LOOPS_PER_MS = 14_200


def device(steps, slower):
    import numpy
    import pyopencl
    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices())
    queue = pyopencl.CommandQueue(context)
    heavy = pyopencl.Kernel(pyopencl.Program(context, KERNEL).build(), "heavy")
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)
    slower_ms = {operation: DEVICE_MS * share for operation, share in slower.items()}
    kernel_loops = numpy.int32(KERNEL_LOOPS_PER_MS * (2 + slower_ms.get("kernel", 0)))
    for _ in range(steps):
        crosscut.step()
        with crosscut.operation("data"):
            burn(LOOPS_PER_MS * (2 + slower_ms.get("data", 0)))
        with crosscut.operation("kernel"):
            heavy(queue, (64,), (64,), buffer, kernel_loops)  # one work-group: one processor
            queue.finish()
        with crosscut.operation("update"):
            burn(LOOPS_PER_MS * (2 + slower_ms.get("update", 0)))


PROGRAMS = {"loop": (loop, 400, ("data", "model")),
            "network": (network, 300, ("data", "forward", "update")),
            "device": (device, 300, ("kernel",))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--slower", default="nothing:0")
    arguments = parser.parse_args()
    run, steps, _ = PROGRAMS[arguments.program]
    operation, percent = arguments.slower.split(":")
    run(arguments.steps or steps, {operation: float(percent) / 100})


if __name__ == "__main__":
    main()
