"""Ray's processes: which of them are the program's, and from when on they are recorded."""

from __future__ import annotations

import os

from crosscut import _hooks, _patches, _record

TYPE_CHECKING = False  # this runs at the start of recorded processes: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_WORKER = "_private/workers/default_worker.py"
# Where the scripts of Ray's own daemons, and of what starts a worker, lie in its package.
_DAEMONS = ("_private/", "autoscaler/", "dashboard/", "util/client/")
# What a worker calls for the first task that it gets: a function of a module, methods of a class.
_LAST = "ray._private.function_manager"  # of them to be imported
_FIRST = {
    "ray._private.utils": ("", ("set_visible_accelerator_ids",)),
    _LAST:
        ("FunctionActorManager", ("load_actor_class", "get_execution_info")),
}


def kind_of(script: str) -> str:
    """What a Python is whose command line runs `script` (a path, or a module by -m): "worker",
    "daemon" (one that is none of the program's), or "" for all that is not Ray's own."""
    if script.startswith("ray."):
        below = script[len("ray."):].replace(".", "/")
    else:
        folder, found, below = script.rpartition("/ray/")
        if not found or not os.path.exists(f"{folder}/ray/_raylet.so"):
            return ""
    if below == _WORKER:
        return "worker"
    return "daemon" if below.startswith(_DAEMONS) else ""


def at_first_task(begin: Callable[[], None]) -> None:
    """Calls begin(), once, in the worker that this process is, when it gets a task. Ray starts
    workers ahead of need: one that never gets any is none of the program's processes."""
    ours = _patches.Patches()
    begun = False

    def first(*_: Any, **__: Any) -> None:
        nonlocal begun
        ours.undo()
        if not begun:
            begun = True
            begin()

    def follow(module: ModuleType) -> None:
        name, functions = _FIRST[module.__name__]
        owner = getattr(module, name, None) if name else module
        for function in () if begun else functions:
            known = vars(owner).get(function)
            if known is not None:
                ours.replace(owner, function, _record.around(known, before=first))
        if not ours and module.__name__ == _LAST:
            first()  # a Ray that we do not know: better too much than nothing

    for module in _FIRST:
        _hooks.after_import(module, follow)
