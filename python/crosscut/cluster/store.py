"""Files of partials: in a folder, or in an object store by a URI that fsspec knows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from crosscut.cluster.partial import SUFFIX

_TRIES = 4  # of an operation on a store that is not this machine's
_FIRST_WAIT = 0.5  # seconds; doubles with each try
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
        _patiently(path, lambda: files.makedirs(os.path.dirname(inside), exist_ok=True))
        _patiently(path, lambda: files.pipe_file(inside, content))
        return
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = path  # a full disk does not say where
        raise


def join(folder: str, name: str) -> str:
    """The path of a file in a folder or store."""
    return f"{folder.rstrip('/')}/{name}"


def exists(path: str) -> bool:
    """Whether there is such a file."""
    if not is_uri(path):
        return os.path.isfile(path)
    files, inside = _opened(path)
    return bool(_patiently(path, lambda: files.exists(inside)))


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
