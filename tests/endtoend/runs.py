"""Recording real programs and reading their tables, for the end-to-end tests."""

import csv
import io
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The folder that holds the package: the build's, or an installed one's, to test that.
PACKAGE = pathlib.Path(os.environ.get("CROSSCUT_TEST_PACKAGE",
                                      ROOT / "build" / "release" / "python"))
CROSSCUT = PACKAGE / "crosscut" / "bin" / "crosscut"


def record(run, command, *flags, **options):
    """Runs `command` under `crosscut record -o run`; returns the CompletedProcess (texts). Every
    step is recorded whole, unless a flag or `env` says otherwise: tests count events."""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full",
           **options.pop("env", {})}
    return subprocess.run([CROSSCUT, "record", "-o", run, *flags, "--", *command], env=env,
                          capture_output=True, text=True, timeout=options.pop("timeout", 1200),
                          **options)


def record_script(run, text, *flags, **options):
    """Records a Python script given as text."""
    script = pathlib.Path(f"{run}.py")
    script.write_text(text)
    return record(run, [sys.executable, script], *flags, **options)


def crosscut(*arguments):
    """The stdout of a reading verb, which must succeed (or say that the input is incomplete)."""
    result = subprocess.run([CROSSCUT, *map(str, arguments)], capture_output=True, text=True,
                            timeout=1200)
    assert result.returncode in (0, 3), result.stderr
    return result.stdout


def sees_native():
    """Whether samples may tell native functions on this machine."""
    try:
        level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        return False
    return level <= 2 or os.geteuid() == 0


def table(run, name):
    """A table as a list of dicts; columns whose cells are all integers become ints."""
    rows = list(csv.DictReader(io.StringIO(crosscut("table", run, name, "--format=csv"))))
    for row in rows:
        for key, value in row.items():
            if value.lstrip("-").isdigit():
                row[key] = int(value)
    return rows
