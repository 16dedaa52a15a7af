"""What the verbs that are written in Python share: how they speak, and how they read arguments."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from crosscut import _names

GOOD, USAGE, UNREADABLE = 0, 2, 3
_Code = TypeVar("_Code")


def say(text: str) -> None:
    """Writes `text` to stderr, each of its lines behind "crosscut: ". What it holds may come from
    anywhere: control characters are shown as their pictures, as the command shows them."""
    try:
        from crosscut._read import shown_text
    except ImportError:
        shown_text = ascii
    try:
        for line in text.split("\n"):
            print("crosscut:", shown_text(line.removeprefix("crosscut: ")), file=sys.stderr,
                  flush=True)
    except OSError:  # nobody can be told
        _write_nothing_more(2)


def _write_nothing_more(descriptor: int) -> None:
    """Python writes what is left when it ends, and fails once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def damaged(run: Any) -> bool:
    """Whether not all of the run can be read; says so, as the command in C++ does."""
    if run.damaged:
        say("not all of the input can be read; crosscut table INPUT gaps says what is missing")
    return bool(run.damaged)


def exit_code(verb: Callable[[], bool]) -> int:
    """Calls it; it returns whether its input is incomplete. An exit code, as `ended` has them."""
    return ended(lambda: UNREADABLE if verb() else GOOD)


def ended(main: Callable[[], _Code]) -> _Code | int:
    """What it returns. What it raises is said, and is an exit code of the command, as
    docs/command.md has them."""
    try:
        return main()
    except ModuleNotFoundError as missing:
        say(f"{missing}; {sys.executable} has none")
        return USAGE
    except Exception as error:
        from crosscut._read import WrongUse

        say(_told(error))
        return USAGE if isinstance(error, WrongUse) else UNREADABLE


def why(error: Exception) -> str:
    """What an error says, without the system's number of it."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    told = isinstance(error, (OSError, ValueError)) and why(error)
    return told or f"{type(error).__name__}: {error}"


def answer(text: str, code: int) -> int:
    """Writes `text` to stdout, with a line's end. Returns the exit code: `code`, or UNREADABLE and
    a message where it cannot be written. Who reads it may leave early, as for the command."""
    try:
        if sys.stdout is None:  # it is closed
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sys.stdout.buffer.write((text + "\n").encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except OSError as error:
        if sys.stdout is not None:
            _write_nothing_more(1)
        if not isinstance(error, BrokenPipeError):
            say(f"stdout: {error.strerror}")
            return UNREADABLE
    return code


def one_of(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """The type of an argument that takes one of `names`."""
    def take(text: str) -> str:
        if text in names:
            return text
        raise argparse.ArgumentTypeError(_names.unknown(what, text, names))

    return take


class Parser(argparse.ArgumentParser):
    """Says what is wrong as the command does, with the nearest option, and exits with USAGE."""

    def parse_args(self, *given: Any, **more: Any) -> Any:
        options, unknown = self.parse_known_args(*given, **more)
        if unknown:
            word = unknown[0].partition("=")[0]
            known = [name for action in self._actions for name in action.option_strings]
            if word.startswith("-"):
                self.error(f"unknown option {word}{_names.did_you_mean(word, known)}")
            self.error(f"unexpected argument {word}")
        return options

    def error(self, message: str) -> NoReturn:
        say(message.removeprefix("argument "))
        say(f"see {self.prog} --help")
        sys.exit(USAGE)
