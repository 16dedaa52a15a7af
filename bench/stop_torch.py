"""What it takes torch.profiler to stop with a million events held (the begins and ends of half a
million operators): milliseconds and memory. Prints one JSON line per value.
"""

import json
import resource
import time

import torch

OPS = 500_000

torch.set_num_threads(1)


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    a, b, out = torch.ones(4), torch.ones(4), torch.empty(4)
    before = peak_mib()
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    profile.start()
    for _ in range(OPS):
        torch.add(a, b, out=out)
    begin = time.perf_counter()
    profile.stop()
    seconds = time.perf_counter() - begin
    for name, value, unit in (
            ("torch.profiler, the same", seconds * 1e3, "ms"),
            ("torch.profiler, peak memory", peak_mib() - before, "MiB")):
        print(json.dumps({"group": "stop", "name": name, "value": value, "unit": unit}), flush=True)


if __name__ == "__main__":
    main()
