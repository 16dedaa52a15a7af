"""What an operation scope costs from Python, beside torch.profiler.record_function.

Run under `crosscut record --sources=none --control-steps=0`. Prints one JSON line per variant.
"""

import sys

import torch

import crosscut
import harness

COUNT = 50_000


def repeat(scope):
    def body():
        for _ in range(COUNT):
            with scope("scope"):
                pass
    return harness.per_item(body, COUNT)


crosscut_scopes = repeat(crosscut.operation)
torch_scopes = repeat(torch.profiler.record_function)


def paused(body):
    crosscut.pause()
    try:
        return body()
    finally:
        crosscut.resume()


def profiled(body):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return body()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    for line in harness.interleave("operation scope from Python", {
        "record_function, nothing records": lambda: paused(torch_scopes),
        "the same again (A/A)": lambda: paused(torch_scopes),
        "record_function under torch.profiler": lambda: paused(lambda: profiled(torch_scopes)),
        "crosscut.operation, recording": crosscut_scopes,
        "crosscut.operation, paused": lambda: paused(crosscut_scopes),
    }, rounds, count=COUNT):
        print(line.to_json(), flush=True)


if __name__ == "__main__":
    main()
