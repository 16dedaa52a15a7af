"""Names processes as multiprocessing calls them: workers, actors, learners."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from crosscut import _record

_DEFAULT = re.compile(r"(Fork|Spawn|ForkServer|ForkPool|SpawnPool)?(Process|Worker|PoolWorker)-")
_before: tuple[Any, Any] | None = None  # the class, and its own function


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
    global _before
    cls = module.BaseProcess
    bootstrap = vars(cls).get("_bootstrap")
    if bootstrap is None or _before is not None:
        return

    _before = (cls, bootstrap)
    cls._bootstrap = _record.around(bootstrap, before=_tell)


def _tell(process: Any, *_: Any, **__: Any) -> None:
    try:
        _record.process_name(name_of(process))
    except Exception:  # a name is never worth a program's process
        pass


def withdraw() -> None:
    """Puts back what `install` changed."""
    global _before
    if _before is not None:
        _before[0]._bootstrap = _before[1]
        _before = None
