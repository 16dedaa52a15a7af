"""What Crosscut says where something is wrong: messages.txt has the whole of it, a case at a time.

A case is a command, run in a folder of its own (scene.py makes what it finds there), its exit
status and all of its stderr; of a Python exception, the last line. Paths, process ids and the like,
which differ from machine to machine, stand as words in braces.

    python tests/endtoend/messages/messages.py [--update] [CASE...]

shows what differs from messages.txt, or with --update writes that file anew.
"""

import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import CASES  # noqa: E402
from runs import CROSSCUT, PACKAGE  # noqa: E402
from scene import make_scene  # noqa: E402

GOLDEN = HERE / "messages.txt"
HEAD = "# Made by messages.py --update. A case: its name, command, exit status, stderr.\n"
NOBODY = 65534
# What a user's own environment must not change.
OURS = re.compile(r"CROSSCUT_|XDG_|CXX$|COLUMNS$|PYTHON|LC_|LANG")


def environment(scene, case):
    env = {key: value for key, value in os.environ.items() if not OURS.match(key)}
    env.update({"PYTHONPATH": str(PACKAGE), "LC_ALL": "C.UTF-8",
                "XDG_CACHE_HOME": f"{scene}/cache",
                # Messages advise `python`, which is on a machine's own PATH or not.
                "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"})
    return {**env, **{key: value.format(scene=scene, package=PACKAGE)
                      for key, value in case.env.items()}}


def run(scene, case):
    """(exit status, stderr) of a case."""
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            return run_beside(scene, case, other.pid)
        finally:
            other.kill()


def run_beside(scene, case, pid):
    words = [word.format(scene=scene, python=sys.executable, pid=pid)
             for word in shlex.split(case.command)]
    program = {"crosscut": str(CROSSCUT), "python": sys.executable}[words[0]]
    user = {"user": NOBODY, "group": NOBODY} if case.nobody and os.geteuid() == 0 else {}
    done = subprocess.run([program, *words[1:]], cwd=scene / case.folder,
                          env=environment(scene, case), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300, **user)
    text = done.stderr.decode("utf-8", "replace")
    if case.stdout:
        text += done.stdout.decode("utf-8", "replace")
    return done.returncode, text


def plain(scene, text):
    """`text` without what differs from machine to machine and from run to run."""
    text = re.sub(r"Traceback \(most recent call last\):\n(?: .*\n)*", "", text)
    for value, word in ((str(scene), "{scene}"), (str(PACKAGE), "{package}"),
                        (sys.executable, "{python}")):
        text = text.replace(value, word)
    text = re.sub(r"\bp\d+-[0-9a-f]{6,}", "{key}", text)
    text = re.sub(r"\b(pid|process) \d+", r"\1 {pid}", text)
    text = re.sub(r"-\d{8}-\d{6}-\d+", "-{date}", text)
    return re.sub(r"this is user \d+", "this is user {uid}", text)


def block(case, status, text):
    """A case as messages.txt has it."""
    settings = "".join(f"{key}={shlex.quote(value)} " for key, value in case.env.items())
    command = case.command.encode("unicode_escape").decode()
    if case.folder:
        settings = f"cd {case.folder}; {settings}"
    return f"== {case.name}\n$ {settings}{command}\n[{status}]\n{text}"


def made(scene, case):
    status, text = run(scene, case)
    return block(case, status, plain(scene, text))


def golden():
    """The blocks of messages.txt by the names of their cases."""
    parts = re.split(r"^(?=== )", GOLDEN.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {part.splitlines()[0].removeprefix("== "): part.rstrip("\n") + "\n" for part in parts}


def main():
    update = "--update" in sys.argv
    names = [word for word in sys.argv[1:] if word != "--update"]
    with tempfile.TemporaryDirectory(prefix="messages-") as folder:
        scene = make_scene(pathlib.Path(folder).resolve())
        blocks = {case.name: made(scene, case) for case in CASES
                  if not names or case.name in names}
    before = golden() if GOLDEN.exists() else {}
    if update:
        after = {case.name: blocks.get(case.name, before.get(case.name)) for case in CASES}
        GOLDEN.write_text(HEAD + "".join(f"\n{text}" for text in after.values()), encoding="utf-8")
    for name, text in blocks.items():
        sys.stdout.writelines(difflib.unified_diff(
            before.get(name, "").splitlines(True), text.splitlines(True), n=9))
    return 0 if update or all(before.get(name) == text for name, text in blocks.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
