"""Names processes as multiprocessing calls them: workers, actors, learners."""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType
from typing import Any

import crosscut
from crosscut import _patches, _record

_DEFAULT = re.compile(r"(Fork|Spawn|ForkServer|ForkPool|SpawnPool)?(Process|Worker|PoolWorker)-")
_ours = _patches.Patches()


def name_of(process: Any) -> str:
    """The name that the program gave it; with a default name also what it runs."""
    name = str(process.name)
    target = getattr(process, "_target", None)
    module = str(getattr(target, "__module__", "") or "").rpartition(".")[2]
    function = str(getattr(target, "__qualname__", "") or "")
    if not function or not _DEFAULT.match(name):
        return name
    return f"{name} ({function if module in ('', '__main__') else f'{module}.{function}'})"


def install(module: ModuleType) -> None:
    """Called with multiprocessing.process after its import."""
    bootstrap = vars(module.BaseProcess).get("_bootstrap")
    if bootstrap is not None:
        _ours.replace(module.BaseProcess, "_bootstrap",
                      _record.around(bootstrap, before=_tell, after=_end))


def _tell(process: Any, *_: Any, **__: Any) -> bool:
    try:
        _record.process_name(name_of(process))
    except Exception:  # a name is never worth a program's process
        pass
    return True


def _end(*_: Any) -> None:
    """A forked child leaves by os._exit(), which `crosscut record` sees, and nothing else does."""
    forked = "--multiprocessing-fork" not in getattr(sys, "orig_argv", ())
    if forked and "CROSSCUT_RUN" not in os.environ:
        crosscut.stop()


withdraw = _ours.undo
