"""What the suite `plans` trains, and steps enough for some groups of a plan."""

import torch
import torch_ops


def wide_mlp_step():
    """About 0.6 ms where the MLP of torch_ops takes 0.35 ms."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 192), torch.nn.ReLU(),
                                torch.nn.Linear(192, 192), torch.nn.ReLU(), torch.nn.Linear(192, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x, y = torch.randn(192, 64), torch.randn(192, 8)

    def body():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return body


PROGRAMS = {"MLP": (torch_ops.mlp_step, 1500), "MLP, 0.6 ms": (wide_mlp_step, 1200),
            "transformer": (torch_ops.transformer_step, 400)}
