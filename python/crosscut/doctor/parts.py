"""The parts of Crosscut that every recording needs: is this installation whole?"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator

from crosscut import _source_state
from crosscut.doctor.finding import Finding, State

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = (
    ("bin/crosscut", "the command line"),
    ("lib/libcrosscut.so.1", "the recorder"),
    ("lib/libcrosscut_preload.so", "reaches isolated Pythons and programs that are not Python"),
    ("inject/sitecustomize.py", "reaches Python programs"),
    ("include/crosscut/crosscut.h", "for programs in C and C++"),
    ("lib/libcrosscut_tensorflow.so", "Crosscut's events in TensorFlow's profiles"),
)
MODULES = (
    ("crosscut._record", "annotations and sessions in Python"),
    ("crosscut._pycalls", "the boundary between Python and native code"),
    ("crosscut._samples", "samples of what threads do"),
    ("crosscut._read", "tables in Python"),
)
REINSTALL = "install Crosscut again for this Python: pip install --force-reinstall crosscut"


def has(path: str) -> bool:
    """Whether the package has a file of this path."""
    return os.path.exists(os.path.join(PACKAGE, path))


def findings() -> Iterator[Finding]:
    """A line for each part that is missing, or one for all."""
    missing = [Finding(path, State.MISSING, purpose, REINSTALL)
               for path, purpose in FILES if not has(path)]
    for name, purpose in MODULES:
        if name == "crosscut._pycalls" and _source_state.FREE_THREADED:
            continue  # there is none for such a Python
        try:
            importlib.import_module(name)
        except Exception as error:
            missing.append(Finding(name, State.MISSING,
                                   f"{purpose}: {type(error).__name__}: {error}", REINSTALL))
    if missing:
        yield from missing
    else:
        yield Finding("Crosscut", State.OK, f"complete, in {PACKAGE}")
