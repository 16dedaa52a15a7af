"""Folders for temporary files that processes of Crosscut's made and were killed before they removed
them."""

from __future__ import annotations

import os
import pathlib
import re
import stat
import tempfile
import time
from collections.abc import Iterator

# What makes them: `mkdtemp` with the prefix "crosscut-KIND-", in Python and in C++.
_NAME = re.compile(r"crosscut-(check|doctor|map|profile|tensorflow|validate)-\w{6,8}")
_LOG = re.compile(r"p(\d+)-.*\.crosscut")
_DAY_S = 24 * 60 * 60


def _lives(pid: str) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _is_left(folder: pathlib.Path, before: float) -> bool:
    """Whether nothing in it changed since `before`, and no process that recorded there lives."""
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, file) for file in files)):
            if os.lstat(path).st_mtime > before:
                return False
        if any((log := _LOG.fullmatch(file)) and _lives(log[1]) for file in files):
            return False
    return True


def left() -> Iterator[pathlib.Path]:
    """This user's. A day has to pass: a process of another pid namespace may use one, too."""
    before = time.time() - _DAY_S
    for entry in pathlib.Path(tempfile.gettempdir()).iterdir():
        try:
            about = entry.lstat()
            if (_NAME.fullmatch(entry.name) and stat.S_ISDIR(about.st_mode)
                    and about.st_uid == os.getuid() and _is_left(entry, before)):
                yield entry
        except OSError:  # it went meanwhile
            continue
