"""A loop that asks another process for each batch."""
import multiprocessing
import os
import time

import torch

PLANTED = os.environ["PLANTED"] == "1"


def serve(pipe):
    while True:
        request = pipe.recv()
        if request is None:
            return
        end = time.perf_counter() + (0.02 if PLANTED else 0)
        while time.perf_counter() < end:
            sum(range(500))  # HERE
        pipe.send(request)


if __name__ == "__main__":
    torch.set_num_threads(1)
    pipe, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=serve, args=(theirs,))
    worker.start()
    model = torch.nn.Linear(256, 10)
    optimizer = torch.optim.SGD(model.parameters())  # OWN
    for step in range(100):
        pipe.send(step)  # OWN
        pipe.recv()  # OWN
        optimizer.zero_grad()  # OWN
        for _ in range(4):  # OWN
            model(torch.ones(64, 256)).sum().backward()  # OWN
        optimizer.step()  # OWN
    pipe.send(None)
    worker.join()
