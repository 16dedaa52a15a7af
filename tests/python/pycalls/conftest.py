"""Finds the interpreters that have a built _pycalls and gives each a package whose recorder is the
stub of these tests."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FACTS = (
    "import sys, sysconfig; print('%d.%d' % sys.version_info[:2],"
    " sysconfig.get_config_var('EXT_SUFFIX'), sysconfig.get_path('include'), sep='|')"
)


def _package_dir():
    named = os.environ.get("CROSSCUT_PACKAGE_DIR")
    if named:
        return pathlib.Path(named)
    on_path = [pathlib.Path(p) / "crosscut" for p in sys.path if p]
    built = sorted(ROOT.glob("build/*/python/crosscut"), key=lambda p: -p.stat().st_mtime)
    for folder in on_path + built:
        if list(folder.glob("_pycalls*.so")):
            return folder
    raise RuntimeError("no built crosscut/_pycalls*.so; build it or set CROSSCUT_PACKAGE_DIR")


def _candidates():
    yield sys.executable
    yield from filter(None, os.environ.get("CROSSCUT_PYTHONS", "").replace(";", ":").split(":"))
    for minor in range(8, 15):
        found = shutil.which(f"python3.{minor}")
        if found:
            yield found
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/*/bin/python3")))


def _interpreters():
    """{version: (executable, extension suffix, include folder)}, the first of each version."""
    found = {}
    for candidate in _candidates():
        done = subprocess.run([candidate, "-c", FACTS], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.count("|") == 2:
            version, suffix, include = done.stdout.strip().split("|")
            found.setdefault(version, (candidate, suffix, include))
    return found


INTERPRETERS = _interpreters()
PACKAGE_DIR = _package_dir()
SERVED = [v for v, (_, suffix, _) in INTERPRETERS.items()
          if (PACKAGE_DIR / f"_pycalls{suffix}").exists()]


def compile_c(source, output, *flags):
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-O1", "-g", "-fPIC", "-shared", "-Wl,-z,relro,-z,now", "-fvisibility=hidden",
         *flags, str(source), "-o", str(output), "-lpthread"],
        check=True)


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


class Runner:
    """Runs code in one interpreter, in a process of its own."""

    def __init__(self, version, package):
        self.version = tuple(map(int, version.split(".")))
        self.executable = INTERPRETERS[version][0]
        self.package = package

    def __call__(self, *arguments, timeout=60, environment=None):
        variables = dict(os.environ, PYTHONPATH=str(self.package), PYTHONHASHSEED="0",
                         **(environment or {}))
        done = subprocess.run([self.executable, *map(str, arguments)], env=variables,
                              capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(params=SERVED)
def python(request, package):
    return Runner(request.param, package)


@pytest.fixture
def main_python(package):
    """The interpreter that runs pytest: the one with torch and NumPy."""
    return Runner("%d.%d" % sys.version_info[:2], package)
