"""Names what trainers do beside training: those of Transformers and of Lightning.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these operations are recorded, beside those of torch.py:

    evaluate  Trainer.evaluate; Lightning's loops of validate() and test(), also those of fit()
    predict   Trainer.predict
    save      a checkpoint is written: Trainer's own and save_model(); Trainer.save_checkpoint

What they call belongs to them. In a program that makes no optimizer evaluation is its work, which
has the operations and steps of torch.py.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut.adapters import operations, torch

_TRANSFORMERS = {"evaluate": "evaluate", "predict": "predict", "_save_checkpoint": "save",
                 "save_model": "save"}
_shared = operations.Shared(operations.Operations)


def _trains(*_: Any) -> bool | None:
    return None if torch.no_optimizer() else True


def _follow(library: str, root: type, names: dict[str, str]) -> None:
    ops = _shared.of(operations.version_of(library), source="")
    missing = [name for name in names if not hasattr(root, name)]
    if missing:
        raise RuntimeError(f"this {library} has no {root.__name__}.{missing[0]}")

    def make(_: type, name: str, function: Callable[..., Any]) -> Any:
        return ops.bracket(names[name], function, before=_trains)

    ops.follow(root, tuple(names), make)


def install_transformers(module: ModuleType) -> None:
    """After the import of transformers.trainer."""
    _follow("transformers", module.Trainer, _TRANSFORMERS)


def install_evaluation(module: ModuleType) -> None:
    """After the import of Lightning's loops.evaluation_loop."""
    _follow("lightning", module._EvaluationLoop, {"run": "evaluate"})


def install_lightning(module: ModuleType) -> None:
    """After the import of Lightning's trainer.trainer."""
    _follow("lightning", module.Trainer, {"save_checkpoint": "save"})


withdraw = _shared.undo
