"""The plugin in docs/plugin-abi.md is what it says: it builds and keeps the rules."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_worked_example_builds_and_keeps_the_rules(tmp_path):
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    crosscut = shutil.which("crosscut") or pytest.skip("crosscut is not in PATH")
    text = (ROOT / "docs" / "plugin-abi.md").read_text(encoding="utf-8")
    source, library = tmp_path / "mychip.c", tmp_path / "libmychip.so"
    source.write_text(re.search(r"```c\n(.*?)```", text, re.S).group(1), encoding="utf-8")
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
                    "-fvisibility=hidden", f"-I{ROOT / 'include'}", source, "-o", library],
                   check=True)
    done = subprocess.run([crosscut, "check-plugin", library, "--cycles=400"],
                          capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0 and "0 with warnings, 0 failed" in done.stdout, done.stdout
