"""A PyTorch loop with one planted fault, by name: sys.argv[1]. Nothing marks its steps."""
import copy
import io
import os
import sys
import tempfile
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from clock import PLANTED, Clock

FAULT = sys.argv[1]
FILE = os.path.join(tempfile.mkdtemp(), "model.pt")
TOOK = []
torch.manual_seed(1)
BIG = torch.nn.Sequential(*[torch.nn.Linear(700, 700) for _ in range(4)])


def save_checkpoint():
    torch.save(BIG.state_dict(), FILE)  # HERE


def tenth_checkpoint():
    if STEP % 10 == 0:
        for _ in range(6):
            torch.save(BIG.state_dict(), FILE)  # HERE


def load_checkpoint():
    torch.load(FILE)  # HERE


def copy_model():
    copy.deepcopy(BIG)  # HERE


def metrics():
    predicted = model(x).argmax(1).tolist()
    begin = time.perf_counter()
    sum(p == t for p, t in zip(predicted * 1500, y.tolist() * 1500))  # HERE
    return time.perf_counter() - begin


def one_by_one():
    for row in range(300):  # HERE
        float(x[row % 32].sum())  # HERE


def operator_svd():
    torch.linalg.svd(x @ x.T + torch.ones(32, 32).repeat(1, 1))
    begin = time.perf_counter()
    torch.linalg.svd(torch.ones(150, 150))  # HERE
    return time.perf_counter() - begin


def evaluate():
    with torch.no_grad():
        EVAL(torch.ones(256, 400))  # HERE


def to_numpy():
    numpy.sort(torch.rand(160_000).numpy())  # HERE


def buffer():
    torch.save(BIG.state_dict(), io.BytesIO())  # HERE


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        begin = time.perf_counter()
        sum([i & 7 for i in range(200_000)])  # HERE
        TOOK.append(time.perf_counter() - begin)
        return gradient


def custom_backward():
    Slow.apply(model(x)).sum().backward()
    return TOOK.pop()


class Rows(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, index):
        begin = time.perf_counter()
        if PLANTED and FAULT in ("slow_rows", "slow_rows_worker"):
            sum([i & 7 for i in range(35_000)])  # HERE
        took = time.perf_counter() - begin
        return torch.full((64,), float(index)), index % 10, took


def slow_collate(items):
    begin = time.perf_counter()
    sum([i & 7 for i in range(220_000)])  # HERE
    took = time.perf_counter() - begin
    return (torch.stack([x for x, *_ in items]), torch.tensor([y for _, y, _ in items]),
            torch.tensor([took]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10))
    EVAL = torch.nn.Sequential(torch.nn.Linear(400, 800), torch.nn.Linear(800, 400))
    optimizer = torch.optim.SGD(model.parameters())
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    torch.save(BIG.state_dict(), FILE)
    clock = Clock()
    fed = FAULT in ("slow_rows", "slow_rows_worker", "collate")
    if fed:
        loader = iter(DataLoader(
            Rows(), batch_size=8, num_workers=FAULT == "slow_rows_worker",
            collate_fn=slow_collate if PLANTED and FAULT == "collate" else None))
    for STEP in clock.steps(95, marks=False):
        optimizer.zero_grad()
        if fed:  # a worker may do a part beside the loop
            begin = time.perf_counter()
            x, y, took = next(loader)
            clock.planted_s += min(float(took.sum()), time.perf_counter() - begin)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if PLANTED and not fed:
            clock.time(globals()[FAULT])
