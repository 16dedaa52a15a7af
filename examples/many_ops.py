"""Thousands of tiny operators per step: a recurrent cell written out by hand.

The framework's own cost per operator is most of the time here. Prints the median step.

Usage: many_ops.py [--steps 200] [--times FILE]
"""

import argparse

import torch
from stopwatch import Stopwatch
from torch import nn

INPUTS, WIDTH, LENGTH, BATCH = 4, 16, 48, 8


class Cell(nn.Module):
    """A gated recurrent unit, operator by operator."""

    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleDict({
            gate: nn.Linear(INPUTS + WIDTH, WIDTH) for gate in ("reset", "keep", "candidate")})

    def forward(self, x, state):
        both = torch.cat((x, state), 1)
        reset = torch.sigmoid(self.gates["reset"](both))
        keep = torch.sigmoid(self.gates["keep"](both))
        candidate = torch.tanh(self.gates["candidate"](torch.cat((x, reset * state), 1)))
        return keep * state + (1 - keep) * candidate


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.answer = nn.Linear(WIDTH, 1)

    def forward(self, sequence):
        state = sequence.new_zeros(sequence.shape[0], WIDTH)
        for x in sequence.unbind(1):
            state = self.cell(x, state)
        return self.answer(state)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--times", metavar="FILE")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=False)
    loss_of = nn.MSELoss()
    watch = Stopwatch()
    for step in range(1, arguments.steps + 1):
        with watch.part("data"):
            sequence = torch.randn(BATCH, LENGTH, INPUTS)
            target = sequence[:, -8:, 0].mean(1, keepdim=True)
        optimizer.zero_grad()
        loss = None  # frees the last step's graph, which is no part's time
        with watch.part("forward"):
            loss = loss_of(model(sequence), target)
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
