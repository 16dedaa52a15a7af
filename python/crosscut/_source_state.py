"""What was asked of the sources of this process, and how they tell what became of it: for the
adapters, which `_sources` brings in.
"""

from __future__ import annotations

import os
import sys

import crosscut

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from typing import Any

_record = crosscut._record
# What is recorded only where asked for: operators' inputs, tensors' memory, Python functions.
_extras: dict[str, bool] = {}
_boundary = False
FREE_THREADED = "t" in sys.abiflags
NO_BOUNDARY = ("this Python has no GIL: neither calls of native code nor Python functions are "
               "recorded; operations, operators, devices and samples are")


def report_missing(name: str, message: str) -> None:
    """States that a source is absent, and why."""
    _record.source_state(name, "", "missing", message)


def report_failure(name: str, error: BaseException) -> None:
    """States that a source broke; the program goes on without it."""
    _record.source_state(name, "", "failed", f"{type(error).__name__}: {error}")


def wanted(name: str) -> bool:
    """Whether CROSSCUT_SOURCES (names joined by commas; unset: all) has `name`. The automatic
    operations are no probes of their own worth leaving out: any list but "none" has them."""
    chosen = [word.strip() for word in os.environ.get("CROSSCUT_SOURCES", "").split(",") if word]
    if name == "operations":
        return chosen != ["none"]
    return not chosen or name in chosen


def extras() -> dict[str, bool]:
    """Whether "shapes" (what operators are called with), "scalars" (with the values of numbers
    among it), "allocations" (the memory of tensors) and "calls" (of Python functions) are
    recorded."""
    return dict(_extras)


def set_extra(name: str, on: bool | None) -> bool:
    """Sets one of extras(); None: as the environment says, which has the flags of `crosscut
    record`. Returns what it is now."""
    _extras[name] = os.environ.get(f"CROSSCUT_{name.upper()}") == "1" if on is None else on
    return _extras[name]


for _name in ("shapes", "scalars", "allocations", "calls"):
    set_extra(_name, None)


def boundary() -> Any:
    """crosscut._pycalls. ImportError, with words for the table `sources`, where there is none."""
    if FREE_THREADED:
        raise ImportError(NO_BOUNDARY)
    from crosscut import _pycalls

    return _pycalls


def set_records_boundary() -> None:
    """The boundary's source is in this process from now on."""
    global _boundary
    _boundary = True


def records_boundary() -> bool:
    """Whether calls from Python into native code are recorded in this process."""
    return _boundary
