"""os.fork() warns of the program's threads, and not of ours."""

import pathlib
import subprocess
import sys

import pytest


def pythons():
    found = [sys.executable, *sorted(pathlib.Path.home().glob(".pyenv/versions/3.1*/bin/python3"))]
    return [str(python) for python in found]


ALONE = """
import os, sys
child = os.fork()
if child == 0:
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""
WITH_A_THREAD = "import threading\nwait = threading.Event()\n" \
                "threading.Thread(target=wait.wait, daemon=True).start()\n" + ALONE


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("program", [ALONE, WITH_A_THREAD], ids=["alone", "with a thread"])
@pytest.mark.parametrize("flags", [[], ["-Werror"], ["-Wdefault"]])
def test_fork_warns_as_without_us(recorder, python, program, flags):
    script = recorder.folder / "forks.py"
    script.write_text(program)
    plain = subprocess.run([python, *flags, script], capture_output=True, text=True, timeout=60)
    done = recorder.record(python, *flags, script)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    warned = "multi-threaded, use of fork" in plain.stderr
    assert ("multi-threaded, use of fork" in done.stderr) == warned
    version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 12))"],
                             capture_output=True, text=True, timeout=60).stdout
    if version == "True\n" and program is WITH_A_THREAD and "-Werror" not in flags:
        assert warned
