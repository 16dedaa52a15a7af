"""A Python with TensorFlow and JAX, and what the tests of both share."""

import os
import pathlib
import subprocess
import sys

import pytest
from runs import ROOT, record, table
from test_adds_up import check_sums  # noqa: F401  (for the tests)


def python_with(*modules):
    """CROSSCUT_TENSORFLOW_PYTHON, .venv-tensorflow or this one; skips where none has them all."""
    asked = os.environ.get("CROSSCUT_TENSORFLOW_PYTHON")
    own = ROOT / ".venv-tensorflow" / "bin" / "python"
    question = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    for python in ([asked] if asked else [own, sys.executable]):
        if pathlib.Path(python).exists() and subprocess.run(
                [python, "-c", question, *modules]).returncode == 0:
            return str(python)
    pytest.skip(f"no Python here has {', '.join(modules)}")


def plain(python, script, *arguments):
    """The program without Crosscut."""
    return subprocess.run([python, script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=1200)


def record_program(run, python, text, *flags, arguments=()):
    """Records a script given as text; its CompletedProcess, and the one without Crosscut."""
    script = pathlib.Path(f"{run}.py")
    script.write_text(text)
    bare = plain(python, script, *arguments)
    recorded = record(run, [python, script, *map(str, arguments)], *flags)
    assert recorded.returncode == bare.returncode, recorded.stderr
    assert recorded.stdout == bare.stdout
    return recorded


def counts(run):
    return {row["operation"]: row["count"] for row in table(run, "operations")}


def source(run, name):
    return next(row for row in table(run, "sources") if row["name"] == name)


def layers(run):
    """Name: layers, of all functions."""
    found = {}
    for row in table(run, "functions"):
        found.setdefault(row["name"], set()).add(row["layer"])
    return found
