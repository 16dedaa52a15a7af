"""Which profiler plugins this process loads, beyond those that its user named.

`CROSSCUT_PLUGINS` lists files, joined by ":". The first Python of a run adds what installed
packages offer as entry points of the group `crosscut.plugins` (an object that is a path, or a
function that returns one or several), and puts the files of `site-packages/tensorflow-plugins` in
the place of the word `tensorflow-plugins`. Its children find the list complete.
"""

from __future__ import annotations

import os
import sys

import crosscut

GROUP = "crosscut.plugins"
TENSORFLOW = "tensorflow-plugins"


def find() -> None:
    """Before the host of plugins first looks for them: at the start, or before the first window."""
    for problem in complete():
        crosscut._record.source_state("plugins", "", "failed", problem)
    _find_tensorflow()


def complete() -> list[str]:
    """Completes CROSSCUT_PLUGINS of this process and its children. Returns words about offers that
    could not be taken up."""
    if os.environ.get("CROSSCUT_PLUGINS_COMPLETE"):
        return []
    named = [word for word in os.environ.get("CROSSCUT_PLUGINS", "").split(":") if word]
    files: list[str] = []
    for word in named:
        files.extend(_of_tensorflow() if word == TENSORFLOW else [word])
    problems: list[str] = []
    for name, reference in _offers():
        try:
            files.extend(_paths(reference))
        except Exception as error:
            problems.append(f"entry point {name} = {reference}: {type(error).__name__}: {error}")
    # The C library reads the environment; what the program sees as os.environ stays as it was.
    if files != named:
        os.putenv("CROSSCUT_PLUGINS", ":".join(dict.fromkeys(files)))
    os.putenv("CROSSCUT_PLUGINS_COMPLETE", "1")
    return problems


def _find_tensorflow() -> None:
    """Tells the host of plugins where TensorFlow lies: a plugin that needs its library must get
    the one that the program may import later, not a stand-in of the same name."""
    if not os.environ.get("CROSSCUT_PLUGINS") or os.environ.get("CROSSCUT_TENSORFLOW"):
        return
    for folder in sys.path:
        candidate = os.path.join(folder, "tensorflow")
        if os.path.exists(os.path.join(candidate, "libtensorflow_framework.so.2")):
            os.putenv("CROSSCUT_TENSORFLOW", candidate)
            return


def _of_tensorflow() -> list[str]:
    return [os.path.join(folder, TENSORFLOW, name)
            for folder in sys.path if os.path.isdir(os.path.join(folder, TENSORFLOW))
            for name in sorted(os.listdir(os.path.join(folder, TENSORFLOW)))
            if name.endswith(".so")]


def _offers() -> list[tuple[str, str]]:
    """Name and reference of every entry point of the group. Reads the files itself: to import
    importlib.metadata takes longer than all of this."""
    found = []
    for folder in dict.fromkeys(sys.path):
        try:
            entries = [entry.path for entry in os.scandir(folder)
                       if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for entry in entries:
            try:
                with open(os.path.join(entry, "entry_points.txt"), encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            if GROUP in text:
                found.extend(_parse(text))
    return found


def _parse(text: str) -> list[tuple[str, str]]:
    inside, found = False, []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, reference = line.partition("=")
            found.append((name.strip(), reference.strip()))
    return found


def _paths(reference: str) -> list[str]:
    module, _, attribute = reference.partition(":")
    value = __import__(module, fromlist=["_"])
    for part in filter(None, attribute.split(".")):
        value = getattr(value, part)
    if callable(value):
        value = value()
    if isinstance(value, (str, os.PathLike)):
        value = [value]
    return [os.fspath(path) for path in value]
