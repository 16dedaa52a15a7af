"""What `crosscut._record` offers, for a Python without a recorder: nothing is recorded."""

from __future__ import annotations

import sys
from typing import Any

_FIRST, _LAST = (3, 10), (3, 15)  # that a recorder can be built for
_reason = "no recorder for this Python"
_decorator: Any = None
_NOT_RUNNING, _OFF = 3, 6


def set_reason(missing: ImportError) -> None:
    """Why there is no recorder: `missing` came of importing it."""
    global _reason
    _reason = str(missing)
    version = sys.version_info[:2]
    if "cannot import name" in _reason and _FIRST <= version <= _LAST:
        _reason = (f"this package has no recorder for Python {version[0]}.{version[1]}; in a "
                   f"checkout, this builds one: CROSSCUT_PYTHONS={sys.executable} tools/setup.sh")


def set_decorator(decorator: Any) -> None:
    global _decorator
    _decorator = decorator


class operation:
    def __new__(cls, name: Any) -> Any:
        return name if callable(name) else super().__new__(cls)

    def __init__(self, name: Any) -> None:
        self.name = name

    def __enter__(self) -> operation:
        return self

    def __exit__(self, *error: Any) -> bool:
        return False

    def __call__(self, function: Any) -> Any:
        return function


def version() -> str:
    return "0.1.0"


def error() -> str:
    return _reason


def request_name(text: Any, task: bool = False) -> int:
    return 0


def request_begin(name: int) -> int:
    return 0


def request_end(name: int, number: int, running_ns: int = -1) -> None:
    pass


def task_ran() -> None:
    return None


def run_dir() -> str:
    return ""


def active() -> bool:
    return False


def step(kind: str | None = None, /) -> int:
    return 0


def start(**options: Any) -> int:
    return _OFF


def plugin_option(_key: str, _value: str | None) -> None:
    return None


def whole(on: bool) -> int:
    return _OFF


def process_key() -> str:
    return ""


def budget_before_steps() -> float:
    return 0.0


def _refuse() -> int:
    return _NOT_RUNNING


stop = pause = resume = snapshot = flush = _refuse


def arm(window: Any, **options: Any) -> int:
    return _OFF


def armed() -> bool:
    return False


def add_source(name: str, version: str, set_level: Any) -> int:
    return 0


def collected(*args: Any) -> int:
    return _NOT_RUNNING


def aside(function: Any) -> Any:
    return function()


def ours(function: Any, *args: Any) -> Any:
    return function(*args)


def _ignore(*args: Any) -> None:
    return None


step_end = lead = phase = progress = process_name = meta = instant = counter = _ignore
source_state = follow_fork = set_step_hook = remove_source = _ignore
after_fork_in_child = _ignore
