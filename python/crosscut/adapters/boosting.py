"""Brings boosting, and what else scikit-learn fits step by step, into the run without an edit.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on these are the operation `update`, and a step ends where one ends:

    LightGBM, XGBoost   Booster.update: a round
    scikit-learn        a stage of gradient boosting; an update of a neural network's parameters

The iterations of histogram-based gradient boosting, and of other solvers that ask for gradient and
hessian once each, are steps alone. withdraw() puts everything back.
"""

from __future__ import annotations

from types import ModuleType

from crosscut import _record
from crosscut.adapters import operations

_shared = operations.Shared(operations.Operations)


def _lead(library: str, owner: type, *names: str, operation: str = "update") -> None:
    """A call of such a method is an update by its object; what it calls makes it with it."""
    ops = _shared.of(operations.version_of(library), operations.unless_torch())
    for name in names:
        if name in vars(owner):
            ops.replace(owner, name, ops.around(
                vars(owner)[name], operation, inside=ops._word("updating"), nests=True,
                always=True, after=_record.update_passed))


def install_lightgbm(module: ModuleType) -> None:
    _lead("lightgbm", module.Booster, "update")


def install_xgboost(module: ModuleType) -> None:
    _lead("xgboost", module.Booster, "update", "boost")


def install_stages(module: ModuleType) -> None:
    _lead("sklearn", module.BaseGradientBoosting, "_fit_stage")


def install_networks(module: ModuleType) -> None:
    _lead("sklearn", module.BaseOptimizer, "update_params")


def install_losses(module: ModuleType) -> None:
    _lead("sklearn", module.BaseLoss, "gradient_hessian", "gradient", operation="")


withdraw = _shared.undo
