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
        return torch.full((64,), float(index)), index % 10  # OWN


if __name__ == "__main__":
    torch.set_num_threads(1)
    # So large that images which cost nothing are no third of a step, on a busy machine either.
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(),
                                torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
                                torch.nn.Linear(1024, 10))
    optimizer = torch.optim.SGD(model.parameters())
    workers = int(os.environ.get("WORKERS", "0"))
    for x, y in DataLoader(Images(), batch_size=8, num_workers=workers):  # OWN
        optimizer.zero_grad()  # OWN
        torch.nn.functional.cross_entropy(model(x), y).backward()  # OWN
        optimizer.step()  # OWN
