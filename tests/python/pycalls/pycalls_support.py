"""Finds the interpreters that have a built _pycalls, and runs code in them."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FACTS = (
    "import sys, sysconfig; print('%d.%d' % sys.version_info[:2] + 't' * ('t' in sys.abiflags),"
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
    named = os.environ.get("CROSSCUT_PYTHONS", "")
    yield from filter(None, ("" if named == "all" else named).split(":"))
    for minor in range(8, 17):
        yield from filter(None, (shutil.which(f"python3.{minor}{flag}") for flag in ("", "t")))
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/*/bin/python3")))


def _interpreters():
    """{version: (executable, extension suffix, include folder)}, the first of each version; that of
    one without a GIL ends in "t"."""
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
FREE_THREADED = [v for v, (_, suffix, _) in INTERPRETERS.items()
                 if v.endswith("t") and (PACKAGE_DIR / f"_record{suffix}").exists()]


def compile_c(source, output, *flags):
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-O1", "-g", "-fPIC", "-shared", "-Wl,-z,relro,-z,now", "-fvisibility=hidden",
         *flags, str(source), "-o", str(output), "-lpthread"],
        check=True)


RUN = "import sys; sys.path[:0] = [sys.argv[1]]; import {} as m; getattr(m, sys.argv[2])()"


def cases(module):
    """The public functions of a file of cases, without importing it."""
    tree = ast.parse((HERE / f"{module}.py").read_text())
    names = [f.name for f in tree.body if isinstance(f, ast.FunctionDef)]
    return [n for n in names if not n.startswith("_")]


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

    def run_case(self, module, case, timeout=60):
        self("-c", RUN.format(module), HERE, case, timeout=timeout)
