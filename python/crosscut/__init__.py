"""Crosscut: where the wall time of an ML program goes, per operation and process, by layer.

Most programs need none of this: ``crosscut record -- python train.py`` records them as they are.
This module marks what only the program knows, and controls a recording from inside:

    import crosscut
    with crosscut.operation("rollout"):     # a row of the report; also a decorator
        ...
    crosscut.step()                         # a pass of the main loop begins

Everything may be called from any thread, with or without a session; without one, a mark costs some
nanoseconds. Nothing prints, but :class:`session` warns where it takes another name for its run. A
mark raises for no value: a name that is no str reads as str() of it, and a counter's value that is
no number, not finite or too large is left out and counted (table `drops`, reason "value"); counters
are whole numbers, and fractions that are cut off are counted, too. Only another number of arguments
raises TypeError. What sets up a recording (`start`, `session`, `schedule`, `wrap`) raises where it
is called wrongly, before it changes anything: TypeError for a setting of another type, ValueError
for one that cannot be meant. What goes wrong on the machine (a full disk, no memory) returns False
and is told by :func:`error`, so that measuring never stops the program. Reading a run:
:func:`read`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

try:
    from crosscut import _record
except ImportError as missing:  # a Python this package has no recorder for: marks do nothing
    from crosscut import _norecord as _record  # type: ignore[no-redef]

    _record.set_reason(missing)

operation = _record.operation
step = _record.step
step_end = _record.step_end
lead = _record.lead
phase = _record.phase
progress = _record.progress
process_name = _record.process_name
meta = _record.meta
instant = _record.instant
counter = _record.counter
error = _record.error
active = _record.active
run_dir = _record.run_dir


def _decorate_function(operation: Any, function: Any) -> Any:
    from crosscut import _decorate

    return _decorate.decorate(operation, function)


_record.set_decorator(_decorate_function)

__version__ = _record.version()
# Where the rest of the names comes from, at their first use: `import crosscut` stays cheap.
_LATER = {
    "add_arguments": "_arguments", "from_arguments": "_arguments",
    "arm": "_ondemand",
    "start": "_session", "stop": "_session", "pause": "_session", "resume": "_session",
    "snapshot": "_session", "flush": "_session", "session": "_session",
    "wrap": "_session", "unwrap": "_session",
    "schedule": "_schedule", "read": "reading", "request": "_request",
    "load_ipython_extension": "_notebook", "unload_ipython_extension": "_notebook",
}
_MODULES = ("hand_over", "ray")  # at their first use, too
__all__ = [
    "active", "add_arguments", "arm", "counter", "error", "flush", "from_arguments", "instant",
    "lead", "meta", "operation", "pause", "phase", "process_name", "progress", "read", "request",
    "resume", "run_dir", "schedule", "session", "snapshot", "start", "step", "step_end", "stop",
    "unwrap", "wrap", "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER and name not in _MODULES:
        raise AttributeError(f"module 'crosscut' has no attribute {name!r}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"crosscut.{name}")
    value = getattr(import_module(f"crosscut.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__doc__", "__file__", "__name__", "__path__"})
