"""Heavy Python per step, and some PyTorch: learning to play a game by searching it.

Every step searches some positions of nim in pure Python, looking a few moves ahead, and then trains
a small network on what came out. Prints the median step.

Usage: heavy_python.py [--steps 200] [--times FILE]
"""

import argparse
import random

import torch
from stopwatch import Stopwatch
from torch import nn

HEAPS, LARGEST, AHEAD = 4, 9, 3
POSITIONS = 8  # searched per step
BATCH = 64


def moves(position):
    for heap, size in enumerate(position):
        for left in range(size):
            yield position[:heap] + (left,) + position[heap + 1:]


def guess(position):
    """A cheap opinion on a position that is not looked into further."""
    odd = 0
    for size in position:
        odd ^= size & 3
    return 0.5 if odd else -0.5


def search(position, depth, best, worst):
    """The value for the player to move, +1 to -1 (alpha-beta)."""
    if not any(position):
        return -1.0
    if depth == 0:
        return guess(position)
    for after in moves(position):
        value = -search(after, depth - 1, -worst, -best)
        if value > best:
            best = value
            if best >= worst:
                break
    return best


def study(generator):
    """Some positions with their values."""
    positions = [tuple(generator.randint(5, LARGEST) for _ in range(HEAPS))
                 for _ in range(POSITIONS)]
    return [(position, search(position, AHEAD, -1.0, 1.0)) for position in positions]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--times", metavar="FILE")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    generator = random.Random(0)
    model = nn.Sequential(nn.Linear(HEAPS, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                          nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    loss_of = nn.MSELoss()
    seen = []
    watch = Stopwatch()
    for step in range(1, arguments.steps + 1):
        with watch.part("data"):
            seen = (seen + study(generator))[-2000:]
            chosen = generator.choices(seen, k=BATCH)
            positions = torch.tensor([position for position, _ in chosen], dtype=torch.float32)
            values = torch.tensor([[value] for _, value in chosen])
        optimizer.zero_grad()
        with watch.part("forward"):
            loss = loss_of(model(positions / LARGEST), values)
        with watch.part("backward"):
            loss.backward()
        with watch.part("optimizer"):
            optimizer.step()
        watch.step()
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}", flush=True)
    print(f"median step {watch.median_ms():.3f} ms")
    if arguments.times:
        watch.write(arguments.times)


if __name__ == "__main__":
    main()
