"""`crosscut doctor [--build] [--clean]`: checks which parts of Crosscut are there for this Python;
shows, or removes, what ended processes left in shared memory."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator

Finding = tuple[str, bool, str]  # what, whether it is there, words


def _module(name: str, purpose: str) -> Finding:
    try:
        importlib.import_module(name)
    except Exception as error:
        return name, False, f"{purpose}: {type(error).__name__}: {error}"
    return name, True, purpose


def _nvidia() -> bool:
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")


def _files() -> Iterator[Finding]:
    root = os.path.dirname(os.path.abspath(__file__))
    for path, purpose in (
        ("bin/crosscut", "the command line"),
        ("lib/libcrosscut.so.1", "the recorder"),
        ("lib/libcrosscut_preload.so", "reaches isolated Pythons and programs that are not Python"),
        ("inject/sitecustomize.py", "reaches Python programs"),
        ("include/crosscut/crosscut.h", "for programs in C and C++"),
        ("lib/libcrosscut_tensorflow.so", "Crosscut's events in TensorFlow's profiles"),
        ("lib/libcrosscut_opencl.so", "OpenCL; built if its headers are there"),
    ):
        yield path, os.path.exists(os.path.join(root, path)), purpose
    cupti = "plugins/cupti/libcrosscut_cupti.so"
    there = os.path.exists(os.path.join(root, cupti))
    yield cupti, there or not _nvidia(), (
        "NVIDIA devices" if there else
        "NVIDIA devices: left out; built if CUPTI's headers are there (CUDA 13)")


def _torch(build: bool) -> Iterator[Finding]:
    if importlib.util.find_spec("torch") is None:
        yield "torch", True, "not installed here: nothing to build"
        return
    try:
        from crosscut.adapters import torch_build
    except ImportError as error:
        yield "torch shim", False, str(error)
        return
    try:
        path = torch_build.build() if build else torch_build.find()
    except Exception as error:
        yield "torch shim", False, f"{type(error).__name__}: {error}"
        return
    if path:
        yield "torch shim", True, str(path)
    else:
        yield "torch shim", False, (
            torch_build.refusal() or "not built for this torch; run: crosscut doctor --build")


def _rings(count: tuple[int, int]) -> str:
    rings, size = count
    return f"{rings} ring{'' if rings == 1 else 's'}, {size / (1 << 20):.1f} MiB"


def _leftovers() -> str:
    """What `--clean` would remove, in words; "" where there is nothing."""
    try:
        from crosscut import _read
    except ImportError:
        return ""
    ended = _read.leftover_rings()["ended"]
    return f"; ended processes left {_rings(ended)} (crosscut doctor --clean)" if ended[0] else ""


def clean() -> Iterator[Finding]:
    """Removes this user's rings that no process holds any more."""
    try:
        from crosscut import _read
    except ImportError as error:
        yield "cleaning", False, f"crosscut._read is missing: {error}"
        return
    done = _read.clean_leftover_rings()
    yield "emptied", True, f"{_rings(done['emptied'])}, into their runs"
    yield "removed", True, f"{_rings(done['removed'])}, whose run is not where it was recorded"
    if done["in_use"][0]:
        yield "kept", True, f"{_rings(done['in_use'])}, of processes that are alive"
    if done["unknown"][0]:
        yield "kept", True, (f"{_rings(done['unknown'])}, of another pid namespace: it is not "
                             "known here whether their processes are alive")
    for problem in done["problems"]:
        yield "kept", False, problem


def _memory() -> Iterator[Finding]:
    try:
        facts = os.statvfs("/dev/shm")
        free = facts.f_bavail * facts.f_frsize >> 20
        yield "/dev/shm", free >= 64, (
            f"{free} MiB free; without room, rings go to the run directory{_leftovers()}")
    except OSError as error:
        yield "/dev/shm", False, f"{error.strerror}; rings go to the run directory"


def findings(build: bool) -> Iterator[Finding]:
    """Everything that is checked, in the order in which it matters."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield "Python", (3, 10) <= sys.version_info[:2] <= (3, 13), f"{version}, {sys.executable}"
    yield from _files()
    yield _module("crosscut._record", "annotations and sessions in Python")
    yield _module("crosscut._pycalls", "the boundary between Python and native code")
    yield _module("crosscut._samples", "samples of what threads do (--python=samples)")
    yield _module("crosscut._read", "tables in Python")
    yield from _memory()
    yield from _torch(build)


def main(arguments: list[str]) -> int:
    """Prints what is found; 1 where something is missing."""
    parser = argparse.ArgumentParser(prog="crosscut doctor", description=__doc__)
    parser.add_argument("--build", action="store_true",
                        help="build the PyTorch part for the installed torch")
    parser.add_argument("--clean", action="store_true",
                        help="remove what ended processes left in shared memory")
    options = parser.parse_args(arguments)
    missing = 0
    told: list[Finding] = [*clean()] if options.clean else []
    if options.build or not options.clean:
        told += findings(options.build)
    for what, there, words in told:
        missing += not there
        print(f"{'ok     ' if there else 'MISSING'}  {what}: {words}")
    return 1 if missing else 0
