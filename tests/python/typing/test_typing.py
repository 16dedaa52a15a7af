"""A user's script under mypy --strict, and what it must refuse."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")
import crosscut  # noqa: E402

SCRIPT = pathlib.Path(__file__).with_name("users_script.py")


def checked(folder, text):
    (folder / "script.py").write_text(text)
    package = pathlib.Path(crosscut.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--disallow-any-expr",
         "--cache-dir", folder / "cache", "script.py"],
        cwd=folder, env={**os.environ, "MYPYPATH": str(package)}, capture_output=True, text=True,
        timeout=600).stdout


def of_script(lines):
    return [line for line in lines.splitlines() if line.startswith("script.py")]


def test_a_users_script_is_right_and_meets_no_any(tmp_path):
    assert of_script(checked(tmp_path, SCRIPT.read_text())) == []


WRONG = [
    ('crosscut.session("r", plann="full")', 'Unexpected keyword argument "plann"'),
    ('crosscut.start(python="boundry")', 'has incompatible type "Literal[\'boundry\']"'),
    ('crosscut.start(memory_mib="64")', 'has incompatible type "str"'),
    ('crosscut.read("r").report("pdf")', 'has incompatible type "Literal[\'pdf\']"'),
    ("crosscut.step(3)", 'has incompatible type "int"'),
]


def test_what_is_wrong_is_refused_before_it_runs(tmp_path):
    lines = of_script(checked(tmp_path, "\n".join(["import crosscut", *(x for x, _ in WRONG)])))
    for number, (wrong, words) in enumerate(WRONG, 2):
        assert any(line.startswith(f"script.py:{number}: error") and words in line
                   for line in lines), (wrong, lines)
