"""Brings Stable-Baselines3 into the run without an edit of the program.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these operations are recorded, beside those of gymnasium.py:

    rollout     collect_rollouts: an agent gathers experience
    inference   the policy is asked for actions: in a rollout, and by predict()
    update      train: the agent learns from what it gathered
    backprop    in place of PyTorch's `backward`

withdraw() puts everything back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut.adapters import gymnasium

_PARTS = {"collect_rollouts": "rollout", "train": "update"}


def install_algorithms(module: ModuleType) -> None:
    ops = gymnasium.shared()

    def make(cls: type, name: str, function: Callable[..., Any]) -> Any:
        inference = ops.inferring() if name == "collect_rollouts" else {}
        return ops.around(function, _PARTS[name], **inference)

    ops.follow(module.BaseAlgorithm, tuple(_PARTS), make)
    _rename_backward("backprop")


def install_policies(module: ModuleType) -> None:
    """What asks a policy without calling it as a module."""
    ops = gymnasium.shared()
    for owner, name, operation in ((module.BasePolicy, "predict", "inference"),
                                   (module.ActorCriticPolicy, "predict_values", "inference"),
                                   (module.ActorCriticPolicy, "evaluate_actions", "forward")):
        ops.replace(owner, name, ops.around(vars(owner)[name], operation, inside=ops.inside,
                                            nests=True))


def install_vectors(module: ModuleType) -> None:
    """step() of a vector; what it waits for are environments in other processes."""
    ops = gymnasium.shared()
    ops.follow(module.VecEnv, gymnasium.METHODS,
               lambda cls, name, function: ops.simulation(name, function))


def _rename_backward(name: str) -> None:
    """Of PyTorch's adapter, where it is in."""
    adapter = sys.modules.get("crosscut.adapters.torch")
    theirs = getattr(adapter, "_operations", None)
    if theirs is not None:
        theirs.name_backward(name)


def withdraw() -> None:
    """Puts back everything that was changed: most of it stands in gymnasium.py's list."""
    _rename_backward("backward")
    gymnasium.withdraw()
