"""What the suite `plans` trains, and steps enough for some groups of a plan."""

import functools

import torch_ops

# The MLP's step takes 0.35 ms.
PROGRAMS = {"MLP": (torch_ops.mlp_step, 1500),
            "MLP, 0.6 ms": (functools.partial(torch_ops.mlp_step, rows=192, width=192), 1200),
            "transformer": (torch_ops.transformer_step, 400)}
