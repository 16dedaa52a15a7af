"""Golden cases: tests/golden/<case>/command against expected.stdout and expected.code.

A case is a folder with inputs (input.*), `command` (a line: the arguments behind `crosscut`, split
as a shell does, perhaps with NAME=VALUE in front; ran inside the folder) and what is expected of
it. TTY=80 in front gives it a terminal of so many columns to write to (0: it does not tell), STDOUT
a file. Of several lines
expected.stdout has each with all that it says and how it ends. Files that commands write into the
folder given by {out} are compared with expected.<name> where that exists; of pages all but their
script and style.
Usage: run.py CROSSCUT [--update | --first] [CASE...]     --first: ends with the first that differs
"""

from __future__ import annotations

import difflib
import fcntl
import os
import pathlib
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios

CASES = pathlib.Path(__file__).resolve().parent
SETTING = re.compile(r"[A-Z_]+=")
VERSION = re.compile(rb'(^\.TH .* "crosscut )[^"]*(")', re.M)
# What is the same in all pages.
STATIC = re.compile(rb"(<(script|style)>).*?(</\2>)", re.S)


def run(program: str, case: pathlib.Path, line: str, out: str) -> subprocess.CompletedProcess:
    env = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    env["COLUMNS"] = "100"
    words = [word.replace("{out}", out) for word in shlex.split(line)]
    while words and SETTING.match(words[0]):
        env.update([words.pop(0).split("=", 1)])
    columns = env.pop("TTY", None)
    if columns is not None:
        del env["COLUMNS"]
        return run_on_terminal([program, *words], int(columns), cwd=case, env=env)
    output = env.pop("STDOUT", None)
    with open(output or os.devnull, "wb") as file:
        ended = subprocess.run([program, *words], cwd=case, env=env, stdin=subprocess.DEVNULL,
                               stdout=file if output else subprocess.PIPE, stderr=subprocess.PIPE,
                               timeout=60)
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout or b"",
                                       ended.stderr)


def run_on_terminal(words: list[str], columns: int, **options) -> subprocess.CompletedProcess:
    """What it writes to a terminal as it writes it, without the returns that terminals add."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=errors,
                                   **options)
        os.close(theirs)
        out = b""
        try:
            while part := os.read(ours, 1 << 16):
                out += part
        except OSError:  # nobody has the other end any more
            pass
        os.close(ours)
        code = process.wait(timeout=60)
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, out, errors.read())


def outputs(program: str, case: pathlib.Path) -> dict[str, bytes]:
    """What the case's commands make: name of the expected file to its contents."""
    with tempfile.TemporaryDirectory() as out:
        lines = (case / "command").read_text().splitlines()
        ended = [run(program, case, line, out) for line in lines]
        if len(lines) == 1:
            made = {"expected.stdout": ended[0].stdout,
                    "expected.code": b"%d\n" % ended[0].returncode}
            if ended[0].returncode != 0:
                made["expected.stderr"] = ended[0].stderr
        else:
            text = b"".join(b"$ %s\n%s%s[%d]\n" % (line.encode(), end.stdout, end.stderr,
                                                  end.returncode)
                            for line, end in zip(lines, ended))
            for name, path in (("out", out), ("package", pathlib.Path(program).parents[2])):
                text = text.replace(str(path).encode(), b"{%s}" % name.encode())
            made = {"expected.stdout": VERSION.sub(rb"\1{version}\2", text)}
        for path in sorted(pathlib.Path(out).iterdir()):
            if path.is_file():
                made["expected." + path.name] = STATIC.sub(rb"\1\3", path.read_bytes())
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
