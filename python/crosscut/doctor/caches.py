"""What Crosscut keeps on this machine beside runs: shims and answers in the user's cache, rings of
ended processes in shared memory, and temporary folders of processes that were killed."""

from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
from collections.abc import Iterator

from crosscut.adapters import torch_build
from crosscut.doctor import temporary
from crosscut.doctor.finding import Finding, State


def _size(folder: pathlib.Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def _mib(size: float) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def _rings(count: tuple[int, int]) -> str:
    rings, size = count
    return f"{rings} ring{'' if rings == 1 else 's'}, {_mib(size)}"


def _shared_memory() -> Finding:
    try:
        facts = os.statvfs("/dev/shm")
    except OSError as error:
        return Finding("/dev/shm", State.LESS,
                       f"{error.strerror}; rings go to the run directory, which may be slower")
    free = facts.f_bavail * facts.f_frsize >> 20
    words, what_next = f"{free} MiB free", ""
    try:
        from crosscut import _read

        if (ended := _read.leftover_rings()["ended"])[0]:
            words += f"; ended processes left {_rings(ended)}"
            what_next = "crosscut doctor --clean"
    except ImportError:
        pass
    if free < 64:
        words += "; without room, rings go to the run directory, which may be slower"
    return Finding("/dev/shm", State.OK if free >= 64 else State.LESS, words, what_next)


def _cache() -> Finding:
    folder = torch_build.cache_folder()
    if not folder.is_dir():
        return Finding("cache", State.OK, f"empty ({folder})")
    try:
        return Finding("cache", State.OK, f"{_mib(_size(folder))} in {folder}")
    except OSError as error:
        return Finding("cache", State.LESS, f"{error.filename}: {error.strerror}")


def _count(folders: int, size: int) -> str:
    return f"{folders} folder{'' if folders == 1 else 's'}, {_mib(size)}"


def _temporary() -> Iterator[Finding]:
    """Nothing where nothing is left."""
    try:
        sizes = [_size(folder) for folder in temporary.left()]
    except OSError:  # no folder for temporary files, or one that is being emptied
        return
    if sizes:
        yield Finding("temporary files", State.OK,
                      f"ended processes left {_count(len(sizes), sum(sizes))}",
                      "crosscut doctor --clean")


def findings() -> Iterator[Finding]:
    """Room for rings, and what lies there, in the cache and among temporary files."""
    yield _shared_memory()
    yield _cache()
    yield from _temporary()


def _clean_rings() -> Iterator[Finding]:
    try:
        from crosscut import _read
    except ImportError as error:
        yield Finding("cleaning", State.MISSING, f"crosscut._read is missing: {error}")
        return
    done = _read.clean_leftover_rings()
    yield Finding("emptied", State.OK, f"{_rings(done['emptied'])}, into their runs")
    yield Finding("removed", State.OK,
                  f"{_rings(done['removed'])}, whose run is not where it was recorded")
    if done["in_use"][0]:
        yield Finding("kept", State.OK, f"{_rings(done['in_use'])}, of processes that are alive")
    if done["unknown"][0]:
        yield Finding("kept", State.OK,
                      f"{_rings(done['unknown'])}, of another pid namespace: it is not known here "
                      "whether their processes are alive")
    for problem in done["problems"]:
        yield Finding("kept", State.MISSING, problem)


def _clean_cache() -> Iterator[Finding]:
    """A shim that is being built stays: its builder holds a lock."""
    folder = torch_build.cache_folder()
    removed = 0
    for entry in [*folder.glob("pytorch/*"), *folder.glob("probed-plugins*")]:
        try:
            if entry.is_symlink() or not entry.is_dir():
                size = entry.lstat().st_size
                entry.unlink()
            else:
                size = _size(entry)
                with open(entry / "lock", "a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry)
            removed += size
        except BlockingIOError:
            yield Finding("kept", State.OK, f"{entry}: it is being built")
        except OSError as error:
            yield Finding("kept", State.MISSING, f"{entry}: {error.strerror}")
    for entry in (folder / "pytorch", folder):
        try:
            entry.rmdir()
        except OSError:  # not empty, or not there
            continue
    yield Finding("cache", State.OK, f"{_mib(removed)} removed from {folder}")


def _clean_temporary() -> Iterator[Finding]:
    count = removed = 0
    try:
        for folder in temporary.left():
            size = _size(folder)
            shutil.rmtree(folder)
            count, removed = count + 1, removed + size
    except OSError as error:
        yield Finding("kept", State.MISSING, f"{error.filename}: {error.strerror}")
    yield Finding("temporary files", State.OK, f"{_count(count, removed)} removed")


def clean() -> Iterator[Finding]:
    """Saves or removes this user's rings that no process holds any more, empties the cache, and
    removes temporary folders that killed processes left a day ago or earlier."""
    yield from _clean_rings()
    yield from _clean_cache()
    yield from _clean_temporary()
