#!/usr/bin/env python3
"""Builds the operator shims that wheels carry: one for each release of PyTorch, against the C++
headers of that release's own wheel. Run by tools/build_wheels.sh.

    build_shims.py OUT RELEASE...      (a release is two numbers: 2.13)

Needs the package `crosscut` with its libraries on PYTHONPATH. Downloads each wheel of PyTorch (0.5
to 0.9 GB, without what it depends on), keeps only its headers and the two libraries to link to, and
deletes them when the shim is made. A shim that is in OUT already is made anew only where its
sources have changed.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from crosscut.adapters import torch_build

WANTED = ("torch/include/", "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/version.py")
ROOM = 4 << 30  # bytes of disk that one wheel and what is unpacked of it need for a while
ABI = 1  # of libstdc++, in every wheel since PyTorch 2.7; the linker finds no symbols otherwise


def download(release: str, work: pathlib.Path) -> pathlib.Path:
    """PyTorch's wheel for that release; which Python it is for does not matter."""
    if shutil.disk_usage(work).free < ROOM:
        sys.exit(f"build_shims: {work} must have {ROOM >> 30} GiB free")
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                    "--no-cache-dir", "--only-binary=:all:", "--python-version=3.12",
                    "--platform=manylinux_2_28_x86_64", f"--dest={work}", f"torch=={release}.*"],
                   check=True)
    (wheel,) = work.glob("torch-*.whl")
    return wheel


def unpack(wheel: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The folder of PyTorch with what is wanted of it; the wheel is gone then."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work, [name for name in archive.namelist() if name.startswith(WANTED)])
    wheel.unlink()
    return work / "torch"


def build(release: str, out: pathlib.Path, sources: str) -> None:
    stamp = out / f"{release}.sources"
    if stamp.exists() and stamp.read_text() == sources:
        print(f"PyTorch {release}: its shim is there", flush=True)
        return
    for old in out.glob(f"libcrosscut_pytorch-{release}-*.so"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="torch-", dir=out) as folder:
        work = pathlib.Path(folder)
        torch = unpack(download(release, work), work)
        name = torch_build.carried_name(torch)
        if not name:
            sys.exit(f"build_shims: PyTorch {release} lacks one of {torch_build.HEADERS}")
        torch_build.compile_shim(torch, work, ABI).rename(out / name)
        print(f"PyTorch {torch_build.torch_version(torch)}: {name}", flush=True)
    stamp.write_text(sources)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("releases", nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for release in options.releases:
        build(release, options.out.resolve(), torch_build.sources_hash())


if __name__ == "__main__":
    main()
