"""What the Python / native boundary adds to a native call and to a training step.

Run under `crosscut record --sources=pycalls --control-steps=0`. Prints one JSON line per variant.
Usage: boundary.py ROUNDS [samples | calls]; samples: a step under --python=samples, and nothing
else; calls: NumPy's calls alone, by the version of this Python, which needs no PyTorch.
"""

import sys

import numpy

import crosscut
import harness

CALLS = 400_000  # what the process does beside them is a thousandth


def repeat(call):
    """A loop of CALLS."""
    def body():
        for _ in range(CALLS):
            call()
    return harness.per_item(body, CALLS)


def comparison(group, measure, rounds):
    def with_crosscut():
        crosscut.resume()
        try:
            return measure()
        finally:
            crosscut.pause()

    for line in harness.interleave(group, {"unprofiled": measure, "unprofiled again (A/A)": measure,
                                           "crosscut": with_crosscut}, rounds,
                                   count=measure.count):
        print(line.to_json(), flush=True)


def compare_calls(group, calls, rounds):
    for name, call in calls.items():
        comparison(f"{group}: {name}", repeat(call), rounds)


def main():
    crosscut.pause()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    array = numpy.ones(3)
    calls = {"ndarray.item": lambda: array.item(0), "ndarray + ndarray": lambda: array + array}
    if "calls" in sys.argv:
        compare_calls("boundary call, %d.%d" % sys.version_info[:2], calls, rounds)
        crosscut.resume()
        return
    import torch
    from torch_ops import mlp_step, steps

    torch.set_num_threads(1)
    if "samples" in sys.argv:
        comparison("samples: MLP step", steps(mlp_step(), 400), rounds)
        crosscut.resume()
        return
    tensor = torch.ones(3)
    calls.update({"Tensor.dim": tensor.dim, "torch.relu": lambda: torch.relu(tensor)})
    compare_calls("boundary call", calls, rounds)
    comparison("boundary: MLP step", steps(mlp_step(), 400), rounds)
    crosscut.resume()


if __name__ == "__main__":
    main()
