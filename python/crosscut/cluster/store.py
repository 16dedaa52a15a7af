"""Files of partials: in a folder, or in an object store by a URI that fsspec knows."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from crosscut import _outputs
from crosscut.cluster.partial import SUFFIX

_TRIES = 4  # of an operation on a store that is not this machine's
_FIRST_WAIT = 0.5  # seconds; doubles with each try
_SCRATCH, _LOCK = ".new-", "lock"
_T = TypeVar("_T")


def is_uri(path: str) -> bool:
    """Whether it names an object in a store, and no file here."""
    return "://" in path


def _patiently(uri: str, action: Callable[[], _T]) -> _T:
    """What `action` returns; what it fails with is tried again, a few times, ever later. OSError
    where it fails for good, whatever exceptions the store's library has of its own."""
    for last in range(_TRIES):
        try:
            return action()
        except FileNotFoundError:
            raise
        except Exception as error:
            if last == _TRIES - 1:
                raise OSError(f"{uri}: {error}") from error
            time.sleep(_FIRST_WAIT * 2 ** last)
    raise AssertionError("it was tried at least once")


def _opened(uri: str) -> tuple[Any, str]:
    import fsspec  # takes long to import, and most partials are files

    try:
        return fsspec.core.url_to_fs(uri)
    except ImportError as missing:
        raise ValueError(f"{uri}: {missing}") from None


def read(path: str) -> bytes:
    """The bytes of a file. OSError where they cannot be had."""
    if not is_uri(path):
        with open(path, "rb") as file:
            return file.read()
    files, inside = _opened(path)
    content: bytes = _patiently(path, lambda: files.cat_file(inside))
    return content


def write(path: str, content: bytes) -> None:
    """Writes a whole file, or leaves what was there. Folders are made. OSError where it fails."""
    if is_uri(path):
        files, inside = _opened(path)
        if not path.startswith(("file://", "local://")):  # fsspec shows half of those
            _patiently(path, lambda: files.makedirs(os.path.dirname(inside), exist_ok=True))
            _patiently(path, lambda: files.pipe_file(inside, content))
            return
        path = inside
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    _outputs.replace(path, content)


@contextmanager
def alone_in(folder: str, patience: float) -> Iterator[None]:
    """Keeps others who ask out of a folder, unless its file system has no locks. TimeoutError after
    so many seconds."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(lock, folder, patience)
        yield
    finally:
        os.close(lock)


def _lock(lock: int, folder: str, patience: float) -> None:
    end = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError(f"{folder}: another process has been writing there for "
                                   f"{patience:.0f} s: try again later") from None
            time.sleep(0.01)
        except OSError:
            return None


@contextmanager
def scratch(folder: str) -> Iterator[str]:
    """A folder in `folder` that is gone afterwards, and with it those of processes that were
    killed: the kernel takes a process's lock away with it."""
    for old in glob.glob(os.path.join(glob.escape(folder), f"{_SCRATCH}*", _LOCK)):
        with suppress(OSError), open(old, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(old), ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as path:
        new = os.path.join(path, "new")
        with open(new, "wb") as lock:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
                os.rename(new, os.path.join(path, _LOCK))  # it is not there without its lock
            yield path


def join(folder: str, name: str) -> str:
    """The path of a file in a folder or store."""
    return f"{folder.rstrip('/')}/{name}"


def partials_in(folder: str) -> list[str]:
    """The paths of the partials in a folder or store, sorted; empty where there is none."""
    if not is_uri(folder):
        if not os.path.isdir(folder):
            return []
        return sorted(join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIX))
    files, inside = _opened(folder)
    try:
        names = _patiently(folder, lambda: files.ls(inside, detail=False))
    except FileNotFoundError:
        return []
    return sorted(files.unstrip_protocol(name) for name in names if name.endswith(SUFFIX))
