"""Interpreters that are not served say so by name and go on."""

import os
import subprocess

import pytest
from pycalls_support import INTERPRETERS, ROOT

TRY = (
    "try:\n"
    "    import _pycalls\n"
    "except ImportError as error:\n"
    "    print(error)\n"
)
OTHERS = [v for v in INTERPRETERS if not v.endswith("t") and
          not (3, 10) <= tuple(map(int, v.split("."))) <= (3, 15)]


def _import_module(version, folder, *flags):
    """Builds the module's entry alone for `version` and imports it there."""
    executable, suffix, include = INTERPRETERS[version]
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fPIC", "-shared", "-fno-exceptions",
         f"-I{ROOT / 'include'}", f"-I{include}", *flags,
         str(ROOT / "plugins" / "pycalls" / "module.cc"), "-o", str(folder / f"_pycalls{suffix}")],
        check=True)
    done = subprocess.run([executable, "-c", TRY], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", OTHERS)
def test_another_python_is_refused_by_name(version, tmp_path):
    assert f"CPython {version}" in _import_module(version, tmp_path)


@pytest.mark.skipif("3.13" not in INTERPRETERS, reason="needs CPython 3.13's headers")
def test_a_free_threaded_build_is_refused_by_name(tmp_path):
    assert "free-threaded" in _import_module("3.13", tmp_path, "-DPy_GIL_DISABLED=1")
