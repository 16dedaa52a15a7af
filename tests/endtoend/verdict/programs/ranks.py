"""Two ranks by gloo; one of them sleeps in each step."""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

PLANTED = os.environ["PLANTED"] == "1"


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(model.parameters())
    for _ in range(80):
        optimizer.zero_grad()  # OWN
        for _ in range(4):  # OWN
            model(torch.ones(64, 256)).sum().backward()  # OWN
        if PLANTED and rank == 1:
            time.sleep(0.03)  # HERE
        optimizer.step()  # OWN
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1],), nprocs=2)
