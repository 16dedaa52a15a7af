"""wrap() and unwrap(): method tables and ctypes on every CPython that is built for, pybind11 and
nanobind in the interpreter that runs these tests."""

import importlib.util
import pathlib
import shutil
import sys

import pytest
from pycalls_support import HERE, INTERPRETERS, PACKAGE_DIR, cases, compile_c


@pytest.fixture(scope="session")
def wrapping(package):
    """The package with wrap() in it, and a shared library to wrap."""
    for name in ("_wrap.py", "_hooks.py", "_libraries.py", "_names.py", "_source_state.py"):
        shutil.copy(PACKAGE_DIR / name, package / "crosscut")
    compile_c(HERE / "foreign.c", package / "libforeign.so", "-fvisibility=default")
    return package


@pytest.mark.parametrize("case", cases("cases_wrap"))
def test_wrap(wrapping, python, case):
    python.run_case("cases_wrap", case)


@pytest.mark.skipif(importlib.util.find_spec("cffi") is None, reason="cffi is not installed")
def test_cffi(wrapping, main_python):
    main_python.run_case("cases_wrap", "_functions_of_a_cffi_library_are_spans_of_their_own")


def _pybind11():
    """Flags for pybind11's headers, its own or PyTorch's; None without either."""
    for name, folder in (("pybind11", "include"), ("torch", "include")):
        spec = importlib.util.find_spec(name)
        found = spec and pathlib.Path(spec.origin).parent / folder
        if found and (found / "pybind11" / "pybind11.h").exists():
            return ["-I", str(found)], []
    return None


def _nanobind():
    if importlib.util.find_spec("nanobind") is None:
        return None
    import nanobind

    source = pathlib.Path(nanobind.source_dir())
    include = pathlib.Path(nanobind.include_dir())
    robin = source.parent / "ext" / "robin_map" / "include"
    return (["-DCROSSCUT_NANOBIND", "-I", str(include), "-I", str(robin), "-fno-strict-aliasing"],
            [str(source / "nb_combined.cpp")])


@pytest.fixture(scope="session", params=["pybind11", "nanobind"])
def bound(request, wrapping):
    """The name of a module with a simulator, bound that way."""
    how = {"pybind11": _pybind11, "nanobind": _nanobind}[request.param]()
    if how is None:
        pytest.skip(f"{request.param} is not installed")
    flags, sources = how
    _, suffix, include = INTERPRETERS["%d.%d" % sys.version_info[:2]]
    name = f"_bound_{request.param}"
    compile_c(HERE / "bound.cc", wrapping / f"{name}{suffix}", "-std=c++17", "-O0", "-g0",
              f"-DCROSSCUT_MODULE={name}", f"-I{include}", *flags, *sources,
              "-Wl,--no-as-needed", "-lstdc++")
    return name


@pytest.mark.parametrize("case", cases("cases_bound"))
def test_bound(bound, main_python, case):
    main_python("-c", "import sys, os; sys.path[:0] = [sys.argv[1]]; import cases_bound as m; "
                "getattr(m, sys.argv[2])()", HERE, case, environment={"CROSSCUT_BOUND": bound})
