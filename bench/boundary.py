"""What the Python / native boundary adds to a native call and to a training step.

Run under `crosscut record --sources=pycalls --control-steps=0`. Prints one JSON line per variant.
"""

import sys

import numpy
import torch

import crosscut
import harness
from torch_ops import mlp_steps, timed, with_crosscut

torch.set_num_threads(1)
CALLS = 20_000


def repeat(call):
    def body():
        for _ in range(CALLS):
            call()
    return body


def main():
    crosscut.pause()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    array, tensor = numpy.ones(3), torch.ones(3)
    loops = {"ndarray.item": repeat(lambda: array.item(0)), "Tensor.dim": repeat(tensor.dim),
             "ndarray + ndarray": repeat(lambda: array + array),
             "torch.relu": repeat(lambda: torch.relu(tensor))}
    for name, body in loops.items():
        for line in harness.interleave(f"boundary call: {name}", {
            "unprofiled": lambda: timed(body, CALLS, harness.cpu_ns),
            "unprofiled again (A/A)": lambda: timed(body, CALLS, harness.cpu_ns),
            "crosscut": lambda: with_crosscut(body, CALLS, harness.cpu_ns),
        }, rounds):
            print(line.to_json(), flush=True)
    body = mlp_steps(40)
    for line in harness.interleave("boundary: MLP step", {
        "unprofiled": lambda: timed(body, 40, harness.wall_ns),
        "unprofiled again (A/A)": lambda: timed(body, 40, harness.wall_ns),
        "crosscut": lambda: with_crosscut(body, 40, harness.wall_ns),
    }, rounds):
        print(line.to_json(), flush=True)
    crosscut.resume()


if __name__ == "__main__":
    main()
