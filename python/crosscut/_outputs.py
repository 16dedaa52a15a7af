"""Files that a user asked for, written as the command in C++ writes them (src/verbs/output.h)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable


def write(path: str | os.PathLike[str], inputs: Iterable[str], content: bytes) -> None:
    """Writes where `-o PATH` says: "-" is stdout, if that is open; what ends in .gz is compressed;
    a plain file is whole or what it was. ValueError where it is one of the `inputs`, OSError where
    it fails."""
    if path == "-" and sys.stdout is None:
        return
    from crosscut import _read

    _read.write_output(path, list(inputs), content)


def replace(path: str | os.PathLike[str], content: bytes) -> None:
    """Puts a file in place of what is at `path`, from stable storage; OSError where it fails."""
    from crosscut import _read

    _read.write_file(path, content)
