"""What recording operators adds to a PyTorch op and to training steps, beside torch.profiler.

Run under `crosscut record --control-steps=0`; recording is switched by pause and resume, so every
variant runs in the same process. Prints one JSON line per variant.
"""

import sys

import torch

import crosscut
import harness

torch.set_num_threads(1)
OPS = 20_000  # a session of some length: torch.profiler's memory is part of its cost


def timed(body, count, clock):
    begin = clock()
    body()
    return (clock() - begin) / count


def with_crosscut(body, count, clock):
    crosscut.resume()
    try:
        return timed(body, count, clock)
    finally:
        crosscut.pause()


def with_torch_profiler(body, count, clock):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return timed(body, count, clock)


def comparison(group, body, count, rounds, clock):
    for line in harness.interleave(group, {
        "unprofiled": lambda: timed(body, count, clock),
        "unprofiled again (A/A)": lambda: timed(body, count, clock),
        "crosscut": lambda: with_crosscut(body, count, clock),
        "torch.profiler": lambda: with_torch_profiler(body, count, clock),
    }, rounds):
        print(line.to_json(), flush=True)


def add_loop():
    a, b, out = torch.ones(4), torch.ones(4), torch.empty(4)

    def body():
        for _ in range(OPS):
            torch.add(a, b, out=out)
    return body


def mul_loop():
    a = torch.ones(4, requires_grad=True)
    b = torch.ones(4)

    def body():
        for _ in range(OPS):
            a * b
    return body


def mlp_steps(steps):
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x, y = torch.randn(64, 64), torch.randn(64, 8)

    def body():
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    return body


def transformer_steps(steps):
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x = torch.randn(8, 32, 64)

    def body():
        for _ in range(steps):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    return body


def main():
    """Arguments: rounds, and `steps` to leave the single operators out."""
    crosscut.pause()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    of = "step, with the boundary:"
    if "steps" not in sys.argv[2:]:
        comparison("op: add(out=)", add_loop(), OPS, rounds, harness.cpu_ns)
        comparison("op: autograd mul", mul_loop(), OPS, rounds, harness.cpu_ns)
        of = "step:"
    comparison(f"{of} MLP", mlp_steps(20), 20, rounds, harness.wall_ns)
    comparison(f"{of} transformer", transformer_steps(5), 5, rounds, harness.wall_ns)
    crosscut.resume()


if __name__ == "__main__":
    main()
