"""Golden cases: tests/golden/<case>/command against expected.stdout and expected.code.

A case is a folder with inputs (input.*), `command` (one line: the arguments behind `crosscut`,
split as a shell does; ran inside the folder) and what is expected of it. Files that the command
writes into the folder given by {out} are compared with expected.<name> where that exists; of pages
all but their script and style.
Usage: run.py CROSSCUT [--update | --first] [CASE...]     --first: ends with the first that differs
"""

from __future__ import annotations

import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent
# What is the same in all pages.
STATIC = re.compile(rb"(<(script|style)>).*?(</\2>)", re.S)


def outputs(program: str, case: pathlib.Path) -> dict[str, bytes]:
    """What the case's command makes: name of the expected file to its contents."""
    with tempfile.TemporaryDirectory() as out:
        words = shlex.split((case / "command").read_text())
        env = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        done = subprocess.run(
            [program, *(word.replace("{out}", out) for word in words)],
            cwd=case, env=env | {"COLUMNS": "100"}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60)
        made = {"expected.stdout": done.stdout, "expected.code": b"%d\n" % done.returncode}
        if done.returncode != 0:
            made["expected.stderr"] = done.stderr
        for name in sorted(os.listdir(out)):
            made["expected." + name] = STATIC.sub(rb"\1\3", (pathlib.Path(out) / name).read_bytes())
        return made


def difference(case: pathlib.Path, name: str, want: bytes, got: bytes) -> str:
    lines = difflib.unified_diff(
        want.decode("utf-8", "replace").splitlines(), got.decode("utf-8", "replace").splitlines(),
        f"{case.name}/{name}", "now", lineterm="")
    return "\n".join(list(lines)[:60])


def check(program: str, case: pathlib.Path, update: bool) -> list[str]:
    """The differences of one case; with `update` there are none afterwards."""
    made = outputs(program, case)
    stale = {path.name for path in case.glob("expected.*")} - made.keys()
    if update:
        for name in stale:
            (case / name).unlink()
        for name, contents in made.items():
            (case / name).write_bytes(contents)
        return []
    found = [f"{case.name}/{name} is expected and was not made" for name in sorted(stale)]
    for name, got in made.items():
        path = case / name
        want = path.read_bytes() if path.exists() else b""
        if want != got or not path.exists():
            found.append(difference(case, name, want, got) or f"{case.name}/{name} differs")
    return found


def main() -> int:
    words = sys.argv[1:]
    update = "--update" in words
    first = "--first" in words
    words = [word for word in words if word not in ("--update", "--first")]
    program = os.path.abspath(words[0])
    names = words[1:] or sorted(path.parent.name for path in CASES.glob("*/command"))
    found = []
    for name in names:
        found += check(program, CASES / name, update)
        if found and first:
            break
    print("\n".join(found) if found else f"{len(names)} golden cases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
