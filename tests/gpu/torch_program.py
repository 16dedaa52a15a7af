"""PyTorch on a CUDA device: torch_program.py MODE WHAT [OUT].

MODE plain: WHAT twice, for `crosscut record`. MODE kineto: the second time under torch.profiler,
its device events' names and durations as JSON into OUT, its trace beside it (OUT.trace.json.gz).
WHAT train: a small training; graphs: captured and replayed; triton: a kernel of Triton's; loader: a
training fed by worker processes. WHAT costs prints ns per launch of a tiny kernel and per step of
the small training, as JSON, as MODE says.
"""

import collections
import json
import statistics
import sys
import time

import torch

STEPS, LAUNCHES, ROUNDS, REPLAYS = 20, 20_000, 5, 10  # of each round


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(),
                               torch.nn.Linear(2048, 10)).cuda()


def train():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(256, 512).pin_memory()
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(inputs.cuda(non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def graphs():
    model = network()
    inputs = torch.randn(256, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        model(inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        out = model(inputs)
        model(out.repeat(1, 52)[:, :512])
    for _ in range(REPLAYS):
        graph.replay()
        inputs.add_(1)
    torch.cuda.synchronize()


def triton():
    import triton_kernel

    x = torch.ones(1 << 20, device="cuda")
    for _ in range(STEPS):
        triton_kernel.double(x)
    torch.cuda.synchronize()


class Rows(torch.utils.data.Dataset):
    """Random rows, slow enough for a loader to matter."""

    def __len__(self):
        return 20 * 64

    def __getitem__(self, index):
        time.sleep(0.0002)
        return torch.full((512,), float(index % 7))


def loader():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows = torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=2, pin_memory=True)
    for inputs in rows:
        optimizer.zero_grad()
        model(inputs.cuda(non_blocking=True)).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()


def profiled():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                              torch.profiler.ProfilerActivity.CUDA])


def kineto(work, out):
    with profiled() as profile:
        work()
    durations = collections.defaultdict(list)
    for event in profile.profiler.kineto_results.events():
        on_device = event.device_type() == torch.autograd.DeviceType.CUDA
        if on_device and event.duration_ns() > 0 and not event.is_user_annotation():
            durations[event.name()].append(event.duration_ns())
    with open(out, "w") as file:
        json.dump(durations, file)
    profile.export_chrome_trace(f"{out}.trace.json.gz")


def costs():
    x = torch.zeros(1, device="cuda")
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    launches, steps = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(LAUNCHES):
            x.add_(1)
        launches.append((time.perf_counter_ns() - begin) / LAUNCHES)
        torch.cuda.synchronize()
    for _ in range(2 * ROUNDS):
        begin = time.perf_counter_ns()
        train()
        steps.append((time.perf_counter_ns() - begin) / STEPS)
    print(json.dumps({"launch": statistics.median(launches), "step": statistics.median(steps)}))


def main():
    mode, work = sys.argv[1], globals()[sys.argv[2]]
    if work is costs:
        if mode == "plain":
            return costs()
        with profiled():
            return costs()
    work()  # the libraries' first use is in no comparison of times
    if mode == "plain":
        work()
    else:
        kineto(work, sys.argv[3])


if __name__ == "__main__":
    main()
