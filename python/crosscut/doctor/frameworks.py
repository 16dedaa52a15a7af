"""The interpreter and the frameworks that it would import, none of which is imported here."""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator

from crosscut import _source_state
from crosscut.doctor.finding import Finding, State

OLDEST, NEWEST = (3, 10), (3, 15)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    words = f"{version}, {sys.executable}"
    if _source_state.FREE_THREADED:
        return Finding("Python", State.LESS, f"{words}: {_source_state.NO_BOUNDARY}")
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return Finding("Python", State.OK, words)
    return Finding("Python", State.MISSING, f"{words}: it is not recorded",
                   "use a Python from {}.{} to {}.{}".format(*OLDEST, *NEWEST))


def _folder(module: str) -> str:
    """Where `import module` would find its package; "" where it would not."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else ""


def _version(*distributions: str) -> str:
    """That of the first of these that is installed; "" where its metadata are missing."""
    for name in distributions:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def _torch(build: bool) -> Finding:
    from crosscut.adapters import torch_build

    folder = torch_build.torch_folder()
    if folder is None:
        return Finding("PyTorch", State.ABSENT, "not installed for this Python")
    what = f"PyTorch {torch_build.torch_version(folder)}".rstrip()
    if path := torch_build.carried():
        return Finding(what, State.OK, f"operators, autograd and memory, by {path} (carried)")
    try:
        path = torch_build.built() or (torch_build.build(force=True) if build else None)
    except torch_build.BuildError as error:
        return Finding(what, State.MISSING, f"operators are not recorded: {error}")
    if path is not None:
        return Finding(what, State.OK, f"operators, autograd and memory, by {path} (built here)")
    if words := torch_build.refusal():
        return Finding(what, State.MISSING, f"operators are not recorded: the shim is {words}")
    words = "operators are not recorded: no shim is carried for this torch, and none is built"
    if _compiler().state is State.ABSENT:
        return Finding(what, State.MISSING, f"{words}, since there is no C++ compiler",
                       "apt install g++ (Debian, Ubuntu), or name one in CXX")
    return Finding(what, State.MISSING, f"{words} yet; the first record builds it",
                   "crosscut doctor --build")


def _tensorflow() -> Finding:
    folder = _folder("tensorflow")
    if not folder:
        return Finding("TensorFlow", State.ABSENT, "not installed for this Python")
    plugins = glob.glob(os.path.join(os.path.dirname(folder), "tensorflow-plugins", "*.so"))
    words = "operations, steps and its own profiler's events"
    if plugins:
        words += f"; {len(plugins)} device plugin{'s' if len(plugins) > 1 else ''}"
    version = _version("tensorflow", "tensorflow-cpu", "tf-nightly")
    return Finding(f"TensorFlow {version}".rstrip(), State.OK, words)


def _jax() -> Finding:
    if not _folder("jax"):
        return Finding("JAX", State.ABSENT, "not installed for this Python")
    return Finding(f"JAX {_version('jax')}".rstrip(), State.OK,
                   "operations, steps, compilations and its own profiler's events")


def _compiler() -> Finding:
    asked = os.environ.get("CXX", "")
    for name in [asked] if asked else ["g++", "clang++", "c++"]:
        if path := shutil.which(name.split()[0] if name.split() else ""):
            return Finding("C++ compiler", State.OK, path)
    words = f"{asked} (from CXX) was not found" if asked else "none"
    return Finding("C++ compiler", State.ABSENT,
                   f"{words}; only a PyTorch that has no ready shim needs one")


def findings(build: bool) -> Iterator[Finding]:
    """The interpreter, then one line for each framework. `build`: compile PyTorch's shim."""
    yield _python()
    yield _torch(build)
    yield _tensorflow()
    yield _jax()
    yield _compiler()
