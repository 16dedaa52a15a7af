"""What recording operators adds to a PyTorch op and to training steps, beside torch.profiler.

Run under `crosscut record --control-steps=0`; recording is switched by pause and resume, so every
variant runs in the same process. Prints one JSON line per variant.
"""

import contextlib
import sys

import torch

import crosscut
import floors
import harness

torch.set_num_threads(1)
OPS = 50_000  # a session of some length: torch.profiler's memory is part of its cost


def loop(body):
    """Of one operation in a loop of OPS."""
    return harness.per_item(body, OPS)


def steps(body, count):
    """Of one step, from all of them: other threads work in some and for all."""
    def block():
        for _ in range(count):
            body()
    return harness.per_item(block, count)


def comparison(group, measure, rounds, floor=None, **recorded):
    """`measure()` gives ns per item. Interleaves it as it is and under each recorder. `recorded`:
    what torch.profiler records, too, as Crosscut then does. `floor`: what it is called,
    and a context manager."""
    def with_crosscut():
        crosscut.resume()
        try:
            return measure()
        finally:
            crosscut.pause()

    def with_floor():
        with floor[1]():
            return measure()

    def with_torch_profiler():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    **recorded):
            return measure()

    variants = {"unprofiled": measure, "unprofiled again (A/A)": measure,
                "crosscut": with_crosscut, "torch.profiler": with_torch_profiler}
    if floor is not None:
        variants[floor[0]] = with_floor
    for line in harness.interleave(group, variants, rounds, count=measure.count):
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


def allocating_loop():
    """Each operation allocates its result and frees the one before."""
    a, b = torch.ones(4), torch.ones(4)

    def body():
        for _ in range(OPS):
            torch.add(a, b)
    return body


def mlp_step(rows=64, width=128):
    model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x, y = torch.randn(rows, 64), torch.randn(rows, 8)

    def body():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return body


def transformer_step():
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x = torch.randn(8, 32, 64)

    def body():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return body


MORE = {"shapes": "record_shapes", "memory": "profile_memory", "stacks": "with_stack"}


def floor_of(what=None):
    """What a recorder of that pays at least, as comparison() wants it. Where allocations are
    recorded, too, what PyTorch takes to tell them is not in it."""
    operators = floors.operators(inputs=what == "shapes")
    if what != "stacks":
        return "callbacks that do nothing", operators
    calls = floors.python_calls()

    @contextlib.contextmanager
    def both():
        with operators(), calls():
            yield
    return "callbacks and a hook that do nothing", both


def with_more(what, rounds):
    """Both with shapes (`--shapes`), allocations (`--allocations`), or the Python functions around
    operators (`--python=calls`)."""
    floor = floor_of(what)
    add = allocating_loop() if what == "memory" else add_loop()
    for name, measure in ((f"op, with {what}: add", loop(add)),
                          (f"op, with {what}: autograd mul", loop(mul_loop())),
                          (f"step, with {what}: MLP", steps(mlp_step(), 300)),
                          (f"step, with {what}: transformer", steps(transformer_step(), 30))):
        comparison(name, measure, rounds, floor, **{MORE[what]: True})


def main():
    """Arguments: rounds; then `steps` to leave the single operators out, or a word of MORE."""
    crosscut.pause()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    if sys.argv[2:3] and sys.argv[2] in MORE:
        with_more(sys.argv[2], rounds)
        crosscut.resume()
        return
    of, floor = "step, with the boundary:", None
    if "steps" not in sys.argv[2:]:
        of, floor = "step:", floor_of()
        comparison("op: add(out=)", loop(add_loop()), rounds, floor)
        comparison("op: autograd mul", loop(mul_loop()), rounds, floor)
    comparison(f"{of} MLP", steps(mlp_step(), 300), rounds, floor)
    comparison(f"{of} transformer", steps(transformer_step(), 30), rounds, floor)
    crosscut.resume()


if __name__ == "__main__":
    main()
