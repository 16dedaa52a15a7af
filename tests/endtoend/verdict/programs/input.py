"""A slow dataset, read in the loop."""
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

PLANTED = os.environ["PLANTED"] == "1"


class Images(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        if PLANTED:
            time.sleep(0.003)  # HERE
        return torch.full((64,), float(index)), index % 10


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters())
    workers = int(os.environ.get("WORKERS", "0"))
    for x, y in DataLoader(Images(), batch_size=8, num_workers=workers):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
