"""A package whose recorder is the stub of these tests, for the operator shim."""

import os
import pathlib
import shutil
import subprocess
import sys

import crosscut
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = pathlib.Path(crosscut.__file__).parent


@pytest.fixture(scope="session")
def stub_package(tmp_path_factory):
    """A folder for PYTHONPATH: the adapters as they are, the recorder from recorder_stub.cc."""
    folder = tmp_path_factory.mktemp("torch")
    package = folder / "crosscut"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copytree(PACKAGE / "adapters", package / "adapters")
    shutil.copytree(PACKAGE / "include", package / "include")
    shutil.copytree(PACKAGE / "plugins", package / "plugins")
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-shared", "-fPIC",
                    "-Wl,-soname,libcrosscut.so.1", f"-I{PACKAGE / 'include'}",
                    str(HERE / "recorder_stub.cc"), "-o", str(package / "lib/libcrosscut.so.1")],
                   check=True)
    return folder


def run_python(package, *arguments, timeout=300):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("CROSSCUT_") and k != "LD_PRELOAD"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package), str(HERE)])
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, timeout=timeout)
