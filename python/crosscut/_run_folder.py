"""Which folder a session that the program starts itself records into."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import crosscut


def is_given() -> bool:
    """Whether something else names the run: `crosscut record`, or who armed this process."""
    return bool(os.environ.get("CROSSCUT_RUN")) or bool(crosscut._record.armed())


def is_notebook() -> bool:
    """Whether this process runs the cells of one."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules


def program() -> str:
    """What runs: the script, the module, or the notebook."""
    if is_notebook():
        path = os.environ.get("JPY_SESSION_NAME", "")  # Jupyter's servers tell it
        return os.path.splitext(os.path.basename(path))[0] or "notebook"
    script = os.path.basename(sys.argv[0] if sys.argv else "")
    return "python" if script in ("", "-", "-c", "-m") else script.removesuffix(".py")


def new_name() -> str:
    """crosscut-runs/PROGRAM-DATE-TIME-PID, as `crosscut record` names runs."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", program()).lstrip(".-")[:64] or "run"
    return os.path.join("crosscut-runs",
                        f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")


@cache
def of_process() -> str:
    """The same, one for this process: its sessions without a name are windows of one run."""
    return os.path.abspath(new_name())


@contextmanager
def folders_above(path: str) -> Iterator[None]:
    """Makes the folders that `path` shall lie in; those that stay empty are removed. Where one
    cannot be made, the recorder's own attempt says what is wrong, and where."""
    missing, made = [], []
    above = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        for folder in reversed(missing):
            os.mkdir(folder, 0o755)  # whatever the umask: nobody may put another run in its place
            made.append(folder)
    except OSError:
        pass
    try:
        yield
    finally:
        for folder in reversed(made):
            _remove_empty(folder)


@contextmanager
def claimed(wanted: str) -> Iterator[str]:
    """The first of `wanted`, `wanted-2`, ... that holds no run; nobody else claims it meanwhile. A
    folder that was made for it and stays empty is removed."""
    number = 1
    while True:
        path = wanted if number == 1 else f"{wanted.rstrip('/')}-{number}"
        number += 1
        made, lock = _lock(path)
        if lock is None:
            continue
        try:
            if os.path.exists(os.path.join(path, "run.json")):
                continue
            yield path
            return
        finally:
            if lock >= 0:
                os.close(lock)
            if made:
                _remove_empty(path)


def _lock(path: str) -> tuple[bool, int | None]:
    """Makes the folder where it is missing: whether it did, and a descriptor that holds its lock.
    None where somebody else has that; -1 where there can be none, as for a path that is no folder:
    the recorder says what is wrong with it."""
    made = True
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        made = False
    except OSError:
        return False, -1
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return made, -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return made, None
    except OSError:
        pass  # a file system without locks
    return made, lock


def _remove_empty(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError:
        pass  # a run is in it
