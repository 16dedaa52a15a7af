"""Brings reinforcement learning with Gymnasium into the run without an edit of it.

install_*() are called right after the module they are named after was imported in a recorded
process. From then on the outermost step, reset or render of an environment, or of a vector of them,
is the operation `simulate`; inside it those of the environment itself, below all wrappers, are
spans of layer `simulator`. docs/reinforcement-learning.md says more. withdraw() puts everything
back.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut import _record, _wrap
from crosscut.adapters import operations

METHODS = ("step", "reset", "render")
_SIMULATOR = _wrap.LAYERS.index("simulator") + 1

_shared = operations.Shared(operations.Operations)


def shared() -> operations.Operations:
    """The operations of this adapter and of those that go with it."""
    return _shared.of(operations.version_of("gymnasium"), operations.unless_torch())


def install_environments(module: ModuleType) -> None:
    ops, wrapper = shared(), module.Wrapper

    def make(cls: type, name: str, function: Callable[..., Any]) -> Any:
        span = None
        if not issubclass(cls, wrapper):
            owner = next(base for base in cls.__mro__ if vars(base).get(name) is function)
            span = _record.span(f"{owner.__qualname__}.{name}", _SIMULATOR)
        return ops.simulation(name, function, span)

    ops.follow(module.Env, METHODS, make)


def install_vectors(module: ModuleType) -> None:
    """What a vector does itself is handing over and waiting: its environments are the simulator."""
    ops = shared()
    ops.follow(module.VectorEnv, METHODS,
               lambda cls, name, function: ops.simulation(name, function))


withdraw = _shared.undo
