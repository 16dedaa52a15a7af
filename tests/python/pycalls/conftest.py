"""A package whose _pycalls is the built one and whose recorder is the stub of these tests."""

import shutil
import sys

import pytest
from pycalls_support import HERE, INTERPRETERS, PACKAGE_DIR, ROOT, SERVED, Runner, compile_c


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """A folder for PYTHONPATH: crosscut with the real _pycalls and the stub recorder."""
    folder = tmp_path_factory.mktemp("pycalls")
    crosscut = folder / "crosscut"
    (crosscut / "lib").mkdir(parents=True)
    (crosscut / "__init__.py").touch()
    for module in PACKAGE_DIR.glob("_pycalls*.so"):
        shutil.copy(module, crosscut)
    compile_c(HERE / "recorder_stub.c", crosscut / "lib" / "libcrosscut.so.1", "-std=gnu99",
              f"-I{ROOT / 'include'}", "-Wl,-soname,libcrosscut.so.1")
    for version in SERVED:
        _, suffix, include = INTERPRETERS[version]
        compile_c(HERE / "conventions.c", folder / f"_conventions{suffix}", f"-I{include}")
    shutil.copy(HERE / "tape.py", folder)
    return folder


@pytest.fixture(params=SERVED)
def python(request, package):
    return Runner(request.param, package)


@pytest.fixture
def main_python(package):
    """The interpreter that runs pytest: the one with torch and NumPy."""
    return Runner("%d.%d" % sys.version_info[:2], package)
