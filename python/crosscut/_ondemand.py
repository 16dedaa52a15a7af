"""Recording on demand: a process that hooks nothing until `crosscut start` asks for it."""

from __future__ import annotations

import os

import crosscut
from crosscut._names import did_you_mean, keywords_named

TYPE_CHECKING = False  # this runs at the start of every armed process: typing is too slow
if TYPE_CHECKING:
    from typing import Any, Literal

_record = crosscut._record
_options: dict[str, Any] = {}  # of arm(), for forked children
_python: Any = None  # the level of Python that arm() named


def check_python(function: str, python: Any) -> None:
    """Raises ValueError where `python`, an argument of `function`, is no level of Python."""
    levels = ("off", "boundary", "samples", "calls")
    if python is not None and python not in levels:
        near = did_you_mean(str(python), levels)
        raise ValueError(
            f"{function}(): python={python!r} is not off, boundary, samples or calls{near}")


@keywords_named
def arm(
    run_dir: str | os.PathLike[str] | None = None,
    *,
    memory_mib: int = 0,
    keep_seconds: float = 0.0,
    control_percent: float = -1.0,
    seed: int = 0,
    python: Literal["off", "boundary", "samples", "calls"] | None = None,
) -> bool:
    """Makes this process ready for `crosscut start|stop|snapshot`, and hooks nothing until then.

    `run_dir`, `memory_mib`, `control_percent`, `seed` and `python` as for `start`. `keep_seconds`:
    windows are flight recorders, of which `crosscut snapshot` keeps so much. Steps that the program
    declares by `step` are counted from here on, so that several processes can be started at the
    same one. Forked children are armed, too. True where that was done; False, and words from
    `error`, where not.
    """
    global _python
    check_python("arm", python)
    _python = python
    _options.update(
        run_dir=None if not run_dir else os.path.abspath(os.fspath(run_dir)),
        memory_bytes=memory_mib << 20, flight_recorder=keep_seconds > 0, keep_seconds=keep_seconds,
        control_percent=control_percent, seed=seed)
    if _record.arm(_window, **_options) != 0:
        return False
    from crosscut import _forks

    _forks.watch(_arm_child)
    if "KINETO_USE_DAEMON" in os.environ:
        from crosscut import _daemon

        _daemon.register(_options["run_dir"])
    return True


def _arm_child(recorded: bool) -> bool:
    """After fork() in an armed process: the child is armed as its parent was. Where that one was
    just recorded, the child is, from here on, in a window of the same number."""
    if _record.arm(_window, **_options) != 0:
        return False
    return not recorded or _record.start() == 0


def _window(begins: bool) -> None:
    from crosscut import _sources

    if not begins:
        _sources.withdraw()
        return
    if os.environ.get("CROSSCUT_RUN"):
        from crosscut import _plugins

        _plugins.find()
    _sources.activate(_python)
