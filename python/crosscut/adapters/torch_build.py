"""Compiles the operator shim against the PyTorch that is installed.

PyTorch's C++ headers change with every version, so the package carries the shim's source and this
module makes a library of it, once per PyTorch version and source, in the user's cache:
${XDG_CACHE_HOME:-~/.cache}/crosscut/pytorch/<torch version>-<hash>/libcrosscut_pytorch.so
"""

from __future__ import annotations

import concurrent.futures
import fcntl
import hashlib
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCES = ("names.cc", "operators.cc", "inputs.cc", "calibrate.cc", "source.cc", "memory.cc",
           "import_slots.cc", "reports.cc", "waits.cc", "memory_source.cc",
           "fast_scopes.cc")
LIBRARY = "libcrosscut_pytorch.so"
# NDEBUG as PyTorch itself was compiled: its headers' classes have members that depend on it.
FLAGS = ("-std=c++20", "-O2", "-DNDEBUG", "-g1", "-fPIC", "-fvisibility=hidden",
         "-fno-omit-frame-pointer", "-fstack-protector-strong")
LINK_FLAGS = ("-shared", "-Wl,-z,relro,-z,now,-z,noexecstack,-z,defs")

_PACKAGE = pathlib.Path(os.path.abspath(__file__)).parent.parent


class BuildError(Exception):
    """Why there is no shim, in words for the user."""


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
    return [_include() / "crosscut" / name for name in ("crosscut.h", "calibrate.h")]


def _recorder() -> pathlib.Path:
    return _PACKAGE / "lib" / "libcrosscut.so.1"


def _hash() -> str:
    """Changes with whatever goes into the library, PyTorch apart."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(" ".join(FLAGS + LINK_FLAGS).encode())
    for file in (*sorted(_sources().iterdir()), *_headers()):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or ""
    root = pathlib.Path(base) if os.path.isabs(base) else pathlib.Path.home() / ".cache"
    return root / "crosscut" / "pytorch"


def path() -> pathlib.Path | None:
    """Where the shim for the installed PyTorch is or would be; None without PyTorch."""
    folder = torch_folder()
    version = torch_version(folder) if folder is not None else ""
    return _cache() / f"{version}-{_hash()}" / LIBRARY if version else None


def find() -> pathlib.Path | None:
    """The built shim, or None. Takes about a millisecond and never raises."""
    try:
        library = path()
        if library is None:
            return None
        status = library.stat()
    except (OSError, RuntimeError):
        return None
    # It is going to be loaded: nobody else may have written it.
    ours = status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022
    return library if ours else None


def _compiler() -> list[str]:
    asked = shlex.split(os.environ.get("CXX", ""))
    for command in ([asked] if asked else [["g++"], ["clang++"], ["c++"]]):
        if shutil.which(command[0]):
            return command
    raise BuildError(
        f"the compiler {asked[0]} (from CXX) was not found" if asked else
        "no C++ compiler was found: install g++ (Debian, Ubuntu: apt install g++) or set CXX")


def _run(command: list[str]) -> None:
    environment = dict(os.environ, LC_ALL="C")
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or \
            done.stderr.splitlines()
        raise BuildError("\n".join([f"{shlex.join(command)} failed:", *lines[:10]]))


def _abi(folder: pathlib.Path) -> int:
    """Which of libstdc++'s two ABIs this PyTorch was built with."""
    program = "import torch; print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCUT_")}
    environment.pop("LD_PRELOAD", None)
    environment["PYTHONPATH"] = str(folder.parent)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=environment)
    if done.returncode != 0:
        raise BuildError(f"PyTorch cannot be imported:\n{done.stderr.strip()}")
    return int(done.stdout)


def _compile(folder: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    compiler = _compiler()
    headers = folder / "include"
    if not (headers / "ATen" / "record_function.h").is_file():
        raise BuildError(f"this PyTorch has no C++ headers ({headers})")
    if not _recorder().is_file():
        raise BuildError(f"Crosscut's own library is missing: {_recorder()}")
    flags = [*FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={_abi(folder)}", f"-I{_include()}",
             "-isystem", str(headers),
             "-isystem", str(headers / "torch" / "csrc" / "api" / "include")]
    objects = [work / f"{name}.o" for name in SOURCES]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        list(pool.map(_run, ([*compiler, *flags, "-c", str(_sources() / name), "-o", str(target)]
                             for name, target in zip(SOURCES, objects))))
    library = work / LIBRARY
    _run([*compiler, *LINK_FLAGS, *map(str, objects), str(_recorder()),
          f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10", "-o", str(library)])
    return library


def build(force: bool = False) -> pathlib.Path:
    """Compiles the shim unless it is there already (about 10 s); its path. Raises BuildError.

    Several processes may build at once: the first compiles, the others wait for it.
    """
    target = path()
    folder = torch_folder()
    if target is None or folder is None:
        raise BuildError(f"PyTorch is not installed for {sys.executable}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(target.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not force and find() is not None:
                return target
            with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as work:
                library = _compile(folder, pathlib.Path(work))
                library.chmod(0o755)
                os.replace(library, target)
    except OSError as error:
        raise BuildError(f"the shim cannot be built in {target.parent}: {error}") from error
    return target


def main() -> int:
    try:
        print(build(force="--force" in sys.argv[1:]))
    except BuildError as error:
        print(f"crosscut: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
