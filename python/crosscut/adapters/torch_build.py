"""Finds the operator shim that fits the installed PyTorch, or compiles it.

PyTorch's C++ classes change with every version. Wheels carry shims for several (lib/pytorch, made
by tools/build_shims.py); one fits where PyTorch's release and the headers that the shim includes
are those that it was built with. For any other PyTorch the package carries the shim's source, and
this module makes a library of it, once per PyTorch version and source, in the user's cache:
${XDG_CACHE_HOME:-~/.cache}/crosscut/pytorch/<torch version>-<hash>/libcrosscut_pytorch.so
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

SOURCES = ("collectives.cc", "names.cc", "operators.cc", "inputs.cc", "calibrate.cc",
           "source.cc", "memory.cc", "import_slots.cc", "reports.cc", "waits.cc",
           "memory_source.cc", "fast_scopes.cc", "scopes.cc", "self_test.cc")
# What the sources include of PyTorch, and what their classes are made of.
HEADERS = ("ATen/core/Tensor.h", "ATen/core/TensorBody.h", "ATen/core/dispatch/Dispatcher.h",
           "ATen/core/grad_mode.h", "ATen/core/ivalue.h", "ATen/ops/empty.h",
           "ATen/ops/is_same_size.h", "ATen/record_function.h", "c10/core/Allocator.h",
           "c10/core/CPUAllocator.h", "c10/util/ThreadLocalDebugInfo.h",
           "torch/csrc/distributed/c10d/ParamCommsUtils.hpp",
           "torch/csrc/distributed/c10d/ProcessGroup.hpp", "torch/library.h",
           "torch/csrc/profiler/orchestration/observer.h",
           "c10/core/StorageImpl.h", "c10/core/TensorImpl.h", "c10/util/intrusive_ptr.h")
LIBRARY = "libcrosscut_pytorch.so"
# NDEBUG as PyTorch itself was compiled: its headers' classes have members that depend on it.
FLAGS = ("-std=c++20", "-O2", "-DNDEBUG", "-g1", "-fPIC", "-fvisibility=hidden",
         "-fno-omit-frame-pointer", "-fstack-protector-strong")
LINK_FLAGS = ("-shared", "-Wl,-z,relro,-z,now,-z,noexecstack,-z,defs")

_PATIENCE_S = 600  # for one compiler: a hung one must not hold the program up for ever

_PACKAGE = pathlib.Path(os.path.abspath(__file__)).parent.parent


class BuildError(Exception):
    """Why there is no shim, in words for the user."""


class CompileError(BuildError):
    """What would fail again."""


def torch_folder() -> pathlib.Path | None:
    """Where PyTorch is installed, without importing it."""
    if "torch" in sys.modules:
        file = getattr(sys.modules["torch"], "__file__", None)
        return pathlib.Path(file).parent if file else None
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    return pathlib.Path(spec.origin).parent if spec is not None and spec.origin else None


def torch_version(folder: pathlib.Path) -> str:
    """PyTorch's version, "" where it does not say."""
    try:
        text = (folder / "version.py").read_text()
    except OSError:
        return ""
    match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", text, re.M)
    return match.group(1) if match else ""


def _sources() -> pathlib.Path:
    return _PACKAGE / "plugins" / "pytorch"


def _include() -> pathlib.Path:
    return _PACKAGE / "include"


def _headers() -> list[pathlib.Path]:
    return [_include() / "crosscut" / name for name in ("crosscut.h", "calibrate.h",
                                                    "fork_safe_mutex.h")]


def _recorder() -> pathlib.Path:
    return _PACKAGE / "lib" / "libcrosscut.so.1"


def sources_hash() -> str:
    """Changes with whatever goes into the library, PyTorch apart."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(" ".join(FLAGS + LINK_FLAGS).encode())
    for file in (*sorted(_sources().iterdir()), *_headers()):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def cache_folder() -> pathlib.Path:
    """This user's, of all that Crosscut keeps; it may not be there."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    root = pathlib.Path(base) if os.path.isabs(base) else pathlib.Path.home() / ".cache"
    return root / "crosscut"


def _cache() -> pathlib.Path:
    return cache_folder() / "pytorch"


def _release_name(folder: pathlib.Path) -> str:
    """What the names of shims for this PyTorch's release begin with; "" where it does not say."""
    release = re.match(r"\d+\.\d+", torch_version(folder))
    return f"libcrosscut_pytorch-{release[0]}-" if release else ""


def carried_name(folder: pathlib.Path) -> str:
    """The file of a shim that was built with this PyTorch's release and headers; "" where it does
    not say which those are."""
    begin = _release_name(folder)
    digest = hashlib.blake2b(digest_size=8)
    try:
        for name in HEADERS:
            digest.update((folder / "include" / name).read_bytes())
    except OSError:
        return ""
    return f"{begin}{digest.hexdigest()}.so" if begin else ""


def carried() -> pathlib.Path | None:
    """The shim for the installed PyTorch that came with the package. Takes about 2 ms, and next to
    nothing where none came for its release: PyTorch's headers are not read then."""
    folder = torch_folder()
    begin = _release_name(folder) if folder is not None else ""
    shims = _PACKAGE / "lib" / "pytorch"
    if folder is None or not begin or not any(shims.glob(f"{begin}*.so")):
        return None
    library = shims / carried_name(folder)
    return library if library.is_file() else None


def path() -> pathlib.Path | None:
    """Where a shim that is built here for the installed PyTorch is or would be; None without
    PyTorch."""
    folder = torch_folder()
    version = torch_version(folder) if folder is not None else ""
    return _cache() / f"{version}-{sources_hash()}" / LIBRARY if version else None


def _trusted() -> set[int]:
    """Users who may own what is on the way: this one, root, and in a user namespace whoever has no
    number there, root outside among them."""
    users = {os.geteuid(), 0}
    with contextlib.suppress(OSError, ValueError, IndexError):
        if int(pathlib.Path("/proc/self/uid_map").read_text().split()[2]) != 0xFFFFFFFF:
            users.add(int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text()))
    return users


def danger(library: pathlib.Path) -> str:
    """Why nothing may be loaded from where `library` is or would be, in words; "" where it may.
    Every folder on the way counts: who may write one can put another in the next one's place. One
    for everybody is safe where it is sticky, as /tmp is; a group is trusted above our folders."""
    users, ours = _trusted(), (cache_folder(), cache_folder().resolve())
    real = library.resolve()
    for entry in dict.fromkeys((*reversed(library.parents), library,
                                *reversed(real.parents), real)):
        try:
            status = entry.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{entry}: {error.strerror}"
        if status.st_uid not in users:
            return f"{entry} belongs to another user (uid {status.st_uid})"
        if stat.S_ISLNK(status.st_mode):
            continue
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not sticky:
            return f"{entry} can be written by every user"
        if status.st_mode & stat.S_IWGRP and any(o == entry or o in entry.parents for o in ours):
            return f"{entry} can be written by its group"
    return ""


def refusal() -> str:
    """Why a shim that is there is not loaded; "" where nothing speaks against it."""
    try:
        library = path()
        words = danger(library) if library is not None and library.exists() else ""
    except (OSError, RuntimeError):
        return ""
    if not words:
        return ""
    return f"not loaded, because {words}; set XDG_CACHE_HOME to a folder of your own"


def built() -> pathlib.Path | None:
    """The shim that was built here, or None. Takes about a millisecond and never raises."""
    try:
        library = path()
        # It is going to be loaded: nobody else may have written it.
        return library if library and library.is_file() and not danger(library) else None
    except (OSError, RuntimeError):
        return None


def _make_folder(folder: pathlib.Path) -> None:
    """With modes of its own, whatever the umask. Those of our folders that are there already are
    taken back from group and others."""
    ours = cache_folder()
    for entry in (*reversed(folder.parents), folder):
        mine = entry == ours or ours in entry.parents
        try:
            entry.mkdir(mode=0o700 if mine else 0o755)
        except FileExistsError:
            status = entry.lstat()
            if mine and status.st_uid == os.geteuid() and status.st_mode & 0o022:
                entry.chmod(status.st_mode & 0o755)


def _compiler() -> list[str]:
    import shlex  # here, as PyTorch has the other modules anyway

    asked = shlex.split(os.environ.get("CXX", ""))
    for command in ([asked] if asked else [["g++"], ["clang++"], ["c++"]]):
        if shutil.which(command[0]):
            return command
    raise BuildError(
        f"the compiler {asked[0]} (from CXX) was not found" if asked else
        "no C++ compiler was found: install g++ (Debian, Ubuntu: apt install g++) or set CXX")


def _run(commands: list[list[str]], folder: pathlib.Path) -> None:
    """Runs them in `folder`, side by side, until the last has ended. Raises BuildError."""
    import shlex

    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCUT_")}
    environment["LC_ALL"] = "C"
    environment.pop("LD_PRELOAD", None)
    deadline = time.monotonic() + _PATIENCE_S
    started = []
    try:
        for number, command in enumerate(commands):
            output = open(folder / f"output-{number}", "w+", errors="replace")
            started.append((command, output, subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)))
        for command, output, process in started:
            try:
                status = process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise CompileError(f"{shlex.join(command)} was stopped: it took longer than "
                                   f"{_PATIENCE_S} s") from None
            if status != 0:
                output.seek(0)
                lines = output.read().splitlines()
                errors = [line for line in lines if "error" in line] or lines
                first = errors[0] if errors else f"it ended with status {status}"
                words = "\n".join([f"the compiler failed: {first}", *errors[1:10],
                                   f"the command was: {shlex.join(command)}"])
                raise (CompileError if status > 0 else BuildError)(words)  # < 0: by a signal
    finally:
        for _, output, process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
            output.close()


def _abi(folder: pathlib.Path) -> int:
    """Which of libstdc++'s two ABIs this PyTorch was built with."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"]._C._GLIBCXX_USE_CXX11_ABI)
    program = ("import sys; sys.path[:] = filter(None, sys.path); "  # not the folder where it runs
               "import torch; print(int(torch._C._GLIBCXX_USE_CXX11_ABI))")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCUT_")}
    environment.pop("LD_PRELOAD", None)
    environment["PYTHONPATH"] = str(folder.parent)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=environment)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise BuildError("\n".join([f"PyTorch cannot be imported: {lines[-1]}", *lines]))
    return int(done.stdout)


def compile_shim(folder: pathlib.Path, work: pathlib.Path, abi: int) -> pathlib.Path:
    """The library, made in the folder `work` for the PyTorch in `folder` and its ABI of libstdc++.
    Raises BuildError."""
    compiler = _compiler()
    headers = folder / "include"
    if not (headers / "ATen" / "record_function.h").is_file():
        raise BuildError(f"this PyTorch has no C++ headers ({headers})")
    for part in (_recorder(), *(_sources() / name for name in SOURCES)):
        if not part.is_file():  # no fault of the compiler's, to be remembered
            raise BuildError(f"a part of Crosscut is missing: {part}")
    flags = [*FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{_include()}",
             "-isystem", str(headers),
             "-isystem", str(headers / "torch" / "csrc" / "api" / "include")]
    shares = min(4, len(os.sched_getaffinity(0)))
    _run([[*compiler, *flags, "-c", *(str(_sources() / name) for name in SOURCES[share::shares])]
          for share in range(shares)], work)
    objects = [str(work / name.replace(".cc", ".o")) for name in SOURCES]
    _run([[*compiler, *LINK_FLAGS, *objects, str(_recorder()), f"-L{folder / 'lib'}",
           "-ltorch_cpu", "-lc10", "-o", LIBRARY]], work)
    return work / LIBRARY


def build(force: bool = False, tell: Callable[[str], None] | None = None,
          again: bool = False) -> pathlib.Path:
    """Compiles the shim unless it is there already; its path. Raises BuildError, and for what
    failed before again without trying, unless forced or `again`. `tell` gets a sentence before it
    compiles.

    Several processes may build at once: the first compiles, the others wait for it.
    """
    try:
        target = path()
    except (OSError, RuntimeError) as error:
        raise BuildError(f"there is no folder to keep the shim in: {error}") from error
    folder = torch_folder()
    if target is None or folder is None:
        raise BuildError(f"PyTorch is not installed for {sys.executable}")
    failure = target.parent / "failure"
    try:
        _make_folder(target.parent)
        if words := danger(target):
            raise BuildError(f"the shim cannot be kept: {words}; set XDG_CACHE_HOME to a folder "
                             "of your own")
        with open(target.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not force and built() is not None:
                return target
            if not force and not again and failure.exists():
                raise BuildError(failure.read_text())
            _compiler()
            if tell is not None:
                tell(f"builds its part for PyTorch {torch_version(folder)}, once: about a minute "
                     "of a processor")
            try:
                with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as work:
                    library = compile_shim(folder, pathlib.Path(work), _abi(folder))
                    library.chmod(0o755)
                    os.replace(library, target)
            except CompileError as error:
                failure.write_text(str(error))
                raise
            failure.unlink(missing_ok=True)
    except OSError as error:
        raise BuildError(f"the shim cannot be built in {target.parent}: {error}") from error
    return target


def main() -> int:
    try:
        print(build(force="--force" in sys.argv[1:], again=True))  # who calls this asks for it
    except BuildError as error:
        from crosscut._command import say

        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
