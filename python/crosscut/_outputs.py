"""Files that a user asked for, written as the command in C++ writes them (src/verbs/output.h)."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable


def write(path: str | os.PathLike[str], inputs: Iterable[str], content: bytes) -> None:
    """Writes where `-o PATH` says: "-" is stdout; what ends in .gz is compressed; a plain file is
    whole or what it was. ValueError where it is one of the `inputs`, OSError where it fails."""
    from crosscut import _read

    _read.write_output(place(path), list(inputs), content)


def refuse(folder: str, inputs: Iterable[str]) -> None:
    """WrongUse, a ValueError, where a folder to write into is one of the inputs."""
    from crosscut import _read

    _read.refuse_input(folder, list(inputs))


def place(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path. OSError for a stdout that is closed: its number may be another file's."""
    if path == "-" and sys.stdout is None:
        raise OSError(f"stdout: {os.strerror(errno.EBADF)}")
    return path


def replace(path: str | os.PathLike[str], content: bytes) -> None:
    """Puts a file in place of what is at `path`, from stable storage; OSError where it fails."""
    from crosscut import _read

    _read.write_file(path, content)
