"""What a recorded program pays before its first line, told without a clock: what Crosscut imports
and looks up for it. docs/step-plans.md has the times."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from runs import record

HERE = pathlib.Path(__file__).parent
MODULES = "import sys; print(*sorted(sys.modules))"
# What every recorded Python has of ours, and of the standard library for us.
OURS = {"crosscut", *(f"crosscut.{name}" for name in (
    "_command_line", "_fork_warning", "_forks", "_hooks", "_inject", "_note", "_plugins",
    "_pycalls", "_record", "_samples", "_source_state", "_sources", "adapters"))}
STANDARD = {"__future__", "atexit", "gc"}


def added_modules(run, program):
    """What recording adds to the modules that a program has at its end."""
    command = [sys.executable, "-c", f"{program}; {MODULES}"]
    done = record(run, command)
    assert done.returncode == 0, done.stderr
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split()) - set(plain.stdout.split())


def test_a_recorded_program_has_few_modules_of_ours(tmp_path):
    assert added_modules(tmp_path / "run", "pass") <= OURS | STANDARD


def test_importing_torch_imports_nothing_else_for_us(tmp_path):
    pytest.importorskip("torch")
    adapters = {f"crosscut.{name}" for name in (
        "_patches", "_tasks", "_threads", *(f"adapters.{adapter}" for adapter in (
            "operations", "own_profiles", "processes", "requests", "tasks", "torch",
            "torch_build", "torch_distributed", "torch_modules", "torch_profiler")))}
    assert added_modules(tmp_path / "run", "import torch") <= OURS | STANDARD | adapters


@pytest.fixture
def looked_up(tmp_path):
    """Records a Python program; returns the paths that its processes opened, by process."""
    def look(program):
        library, log = tmp_path / "looked_up.so", tmp_path / "log"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", HERE / "looked_up.c", "-o", library,
                        "-ldl"], check=True)
        done = record(tmp_path / "run", [sys.executable, "-c", program],
                      env={"LD_PRELOAD": str(library), "LOOKED_UP": str(log)})
        assert done.returncode == 0, done.stderr
        found = {}
        for line in log.read_text(errors="replace").splitlines():
            pid, _, path = line.partition(" ")
            found.setdefault(int(pid), []).append(path)
        return done.stdout, found
    return look


# The kernel keeps what was looked up of a thread until that ends. Whoever waits for the process
# then walks through it, and waits busily for the thread that does so, too: up to 6 ms.
def test_no_thread_is_looked_up_and_no_map_is_read(looked_up):
    out, found = looked_up("import os, time, _ssl, select; time.sleep(0.5); print(os.getpid())")
    pid = int(out)
    paths = found[pid]
    assert any("/proc/" in path for path in paths)  # it does see what we look up
    others = re.compile(rf"/proc/(thread-self|(self|{pid})/(maps|task($|/(?!{pid}/))))")
    assert [path for path in paths if others.match(path)] == []


def test_only_the_first_process_looks_for_plugins(looked_up):
    _, found = looked_up("import subprocess, sys\n"
                         "subprocess.run([sys.executable, '-c', 'pass'], check=True)")
    scans = [pid for pid, paths in found.items()
             if any(path.endswith("/entry_points.txt") for path in paths)]
    assert len(found) >= 2
    assert len(scans) == 1, scans
