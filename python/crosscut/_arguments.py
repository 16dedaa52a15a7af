"""Crosscut's settings as options of the program's own command line."""

from __future__ import annotations

import argparse
import re
import warnings
from typing import TYPE_CHECKING, Literal

import crosscut
from crosscut import _session

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Protocol

    class Parser(Protocol):
        """A parser, or a part of one that has groups."""

        def add_argument_group(self, title: str, description: str) -> Any: ...

_PREFIX = "crosscut_"
_SHARE = r"(operators|everything|boundary|control)=\d+(\.\d+)?"
_PLAN = re.compile(rf"light|balanced|full|{_SHARE}(,{_SHARE})*")


def _plan(text: str) -> str:
    if not _PLAN.fullmatch(text):
        raise ValueError("a plan is light, balanced, full, or shares as in "
                         "operators=10,everything=2")
    return text


def _budget(text: str) -> float:
    return 0.0 if text == "off" else float(text)


# By the option of start(): the value's name, what makes it of a text, and what it says.
_VALUES: dict[str, tuple[str, Callable[[str], object], str]] = {
    "plan": ("PLAN", _plan, "how much is recorded of each step: light, balanced (default), full, or"
             " shares in per cent, as in operators=10,everything=2"),
    "budget": ("PERCENT", _budget, "how much longer steps may take, or off"),
    "control_percent": ("PERCENT", float, "share of steps that run without probes"),
    "python": ("LEVEL", str, "off, boundary, samples or calls"),
    "memory_mib": ("MIB", int, "what Crosscut may hold in a process (default 64)"),
    "keep_seconds": ("SECONDS", float, "flight recorder: hold the newest, for crosscut snapshot"),
    "seed": ("N", int, "of the choice of steps"),
}
_FLAGS = {
    "shapes": "what operators are called with",
    "scalars": "the same, with the values of numbers",
    "allocations": "every allocation of PyTorch's",
}


def _type(name: str, convert: Callable[[str], object]) -> Callable[[str], object]:
    """What argparse asks for a value: it says what is wrong in start()'s words."""

    def parse(text: str) -> object:
        try:
            value = convert(text)
            _session._check("start", {name: value})  # type: ignore[misc]
        except (TypeError, ValueError, OverflowError) as wrong:
            raise argparse.ArgumentTypeError(str(wrong)) from None
        return value

    return parse


def add_arguments(parser: Parser) -> None:
    """Gives a parser of argparse the options `--crosscut` (record this run), `--crosscut-run DIR`
    and one for each setting of `start`, such as `--crosscut-plan`.

    Those that the command line does not name leave nothing in the parsed arguments, so that a
    program which stores its arguments stores what it did before.
    """
    group = parser.add_argument_group(
        "crosscut", "where the time of this run goes; any of these options records it")

    def add(name: str, **how: Any) -> None:
        option = "--crosscut" + ("-" + name.replace("_", "-") if name else "")
        group.add_argument(option, dest=_PREFIX + (name or "asked"),
                           default=argparse.SUPPRESS, **how)

    add("", action="store_true", help="record this run, into ./crosscut-runs")
    add("run", metavar="DIR", help="record this run into DIR; processes that name one are one run")
    for name, (metavar, convert, words) in _VALUES.items():
        add(name, metavar=metavar, type=_type(name, convert), help=words)
    for name, words in _FLAGS.items():
        add(name, action="store_true", help="record " + words)


class Recording:
    """What `from_arguments` began: true where it records. A `with` around it ends it; without one
    it ends with the process, or by `crosscut.stop()`."""

    def __init__(self, started: bool) -> None:
        self.started = started

    def __bool__(self) -> bool:
        return self.started

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        if self.started:
            self.started = False
            _session.stop()
        return False

    def __repr__(self) -> str:
        return f"<crosscut recording, {'on' if self.started else 'off'}>"


def from_arguments(args: object) -> Recording:
    """Begins to record as the options of `add_arguments` in `args`, what the parser returned, say;
    as `start` does, and nothing where none was given.

    Where they ask for a recording and none can be had, a warning says why: `crosscut record` runs
    already, whose settings hold, or the folder cannot be written.
    """
    given = {name.removeprefix(_PREFIX): value for name, value in vars(args).items()
             if name.startswith(_PREFIX)}
    asked, run = given.pop("asked", False), given.pop("run", None)
    options = {name: value for name, value in given.items() if name in _VALUES or name in _FLAGS}
    if not (asked or run or options):
        return Recording(False)
    if "keep_seconds" in options:
        options["policy"] = "flight-recorder"
    started = _session.start(run, **options)
    if not started:
        warnings.warn(f"the --crosscut options have no effect: {crosscut.error()}", stacklevel=2)
    return Recording(started)
