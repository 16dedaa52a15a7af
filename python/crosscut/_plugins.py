"""Which profiler plugins this process loads, beyond those that its user named.

`CROSSCUT_PLUGINS` lists files, joined by ":". The first Python of a run adds what installed
packages offer as entry points of the group `crosscut.plugins` (an object that is a path, or a
function that returns one or several), and puts the files of `site-packages/tensorflow-plugins` in
the place of the word `tensorflow-plugins`. Its children find the list complete. Without that word
these files are told of and not loaded: they bring TensorFlow's libraries with them, and a program
that imports TensorFlow has them by itself.
"""

from __future__ import annotations

import os
import sys

import crosscut

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Container

GROUP = "crosscut.plugins"
TENSORFLOW = "tensorflow-plugins"
_OURS = "/libcrosscut_tensorflow.so"  # of no device
HANDED_OVER_SECONDS = 0.3  # after that there is what was complete: they are flushed at 5 Hz


def find() -> None:
    """Before the host of plugins first looks for them: at the start, or before the first window.
    Whatever other packages have there, the process is recorded."""
    try:
        problems = complete()
        _find_tensorflow()
    except Exception as error:
        problems = [f"{type(error).__name__}: {error}"]
    for problem in problems:
        crosscut._record.source_state("plugins", "", "failed", problem)


def complete() -> list[str]:
    """Completes CROSSCUT_PLUGINS of this process and its children. Returns words about offers that
    could not be taken up."""
    if os.environ.get("CROSSCUT_PLUGINS_COMPLETE"):
        return []
    named = [word for word in os.environ.get("CROSSCUT_PLUGINS", "").split(":") if word]
    files: list[str] = []
    for word in named:
        files.extend(_of_tensorflow() if word == TENSORFLOW else [word])
    if TENSORFLOW not in named:
        tell_tensorflow("not asked for", "TensorFlow loads them where a program imports it, "
                        f"--plugin {TENSORFLOW} does in any other",
                        but={file.partition(",")[0] for file in named})
    problems: list[str] = []
    for name, reference in _offers():
        try:
            files.extend(_paths(reference))
        except (Exception, SystemExit) as error:
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
    for folder in _folders():
        candidate = os.path.join(folder, "tensorflow")
        if os.path.exists(os.path.join(candidate, "libtensorflow_framework.so.2")):
            os.putenv("CROSSCUT_TENSORFLOW", candidate)
            return


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def tell_tensorflow(state: str, words: str, but: Container[str] = ()) -> None:
    """Of the devices' plugins that are installed for TensorFlow, if there are any but these."""
    names = [os.path.basename(file) for file in _of_tensorflow()
             if file not in but and not file.endswith(_OURS)]
    if names:
        crosscut._record.source_state(TENSORFLOW, "", state, f"{', '.join(names)}: {words}")


def _of_tensorflow() -> list[str]:
    folders = [os.path.join(folder, TENSORFLOW) for folder in _folders()]
    return [os.path.join(folder, name) for folder in folders for name in _names_in(folder)
            if _is_library(name)]


def _is_library(name: str) -> bool:
    """For TensorFlow's loader: x.so, x.so.1."""
    before, _, version = name.rpartition(".so")
    return bool(before) and (not version or version[1:].replace(".", "").isdecimal())


def _folders() -> list[str]:
    """Of sys.path, in which a program may have put anything."""
    return list(dict.fromkeys(entry for entry in sys.path if isinstance(entry, str) and
                              "\0" not in entry))


def _offers() -> list[tuple[str, str]]:
    """Name and reference of every entry point of the group. Reads the files itself: to import
    importlib.metadata takes longer than all of this."""
    found = []
    for folder in _folders():
        for name in _names_in(folder):
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            text = _text_of(f"{folder or '.'}/{name}/entry_points.txt")
            if GROUP in text:
                found.extend(_parse(text))
    return found


def _text_of(path: str) -> str:
    """Of a small file; "" where there is none. In a third of the time of open(): there are hundreds
    of them."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, os.fstat(file).st_size).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(file)


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
    if isinstance(value, (str, bytes, os.PathLike)):
        value = [value]
    return [os.fsdecode(path) for path in value]
