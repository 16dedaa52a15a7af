"""Names the parts of a step of TRL's online trainers (GRPO, RLOO) as the field does.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these operations are recorded, beside those of torch.py:

    rl.rollout  completions are generated; calls of modules in it are `inference`
    rl.reward   they are scored
    rl.train    a training step; forward, backward and optimizer lie in it, and the two above
    rl.sync     the weights go to vLLM
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut.adapters import operations

_PARTS = {"_generate": "rl.rollout", "_calculate_rewards": "rl.reward", "training_step": "rl.train"}
_shared = operations.Shared(operations.Operations)


def _ours() -> operations.Operations:
    return _shared.of(operations.version_of("trl"), "trl")


def _install(root: type) -> None:
    ops = _ours()
    missing = [name for name in _PARTS if not hasattr(root, name)]
    if missing:
        raise RuntimeError(f"this TRL has no {root.__name__}.{missing[0]}")

    def make(_: type, name: str, function: Callable[..., Any]) -> Any:
        inference = ops.inferring() if name == "_generate" else {}
        return ops.around(function, _PARTS[name], **inference)

    ops.follow(root, tuple(_PARTS), make)


def install_grpo(module: ModuleType) -> None:
    """After the import of trl.trainer.grpo_trainer."""
    _install(module.GRPOTrainer)


def install_rloo(module: ModuleType) -> None:
    """After the import of trl.trainer.rloo_trainer."""
    _install(module.RLOOTrainer)


def install_vllm(module: ModuleType) -> None:
    """After the import of trl.generation.vllm_generation."""
    ops = _ours()
    owner = module.VLLMGeneration
    ops.replace(owner, "sync_weights", ops.around(vars(owner)["sync_weights"], "rl.sync"))


withdraw = _shared.undo
