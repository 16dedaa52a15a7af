"""Runs programs with and without Crosscut, and tells what each process of a run stated."""

import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import crosscut

PACKAGE = pathlib.Path(crosscut.__file__).parent
COMMAND = PACKAGE / "bin" / "crosscut"

# Printed by a program to tell whether it is recorded, without importing anything by itself.
PROBE = ("import sys; c = sys.modules.get('crosscut'); "
         "print('recorded' if c is not None and c.active() else 'plain', "
         "list(sys.modules).count('crosscut._inject'), flush=True)")


def environment(**changes):
    """This process's variables without what a recording would leave in them."""
    variables = {k: v for k, v in os.environ.items()
                 if not k.startswith("CROSSCUT_") and k not in ("PYTHONPATH", "LD_PRELOAD")}
    variables.update(changes)
    return variables


@dataclass
class Process:
    key: str
    pid: int
    parent: str
    method: str
    name: str


class Recorder:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.run_dir = folder / "run"

    def plain(self, *command, **options):
        return self._run([str(word) for word in command], options)

    def record(self, *command, flags=(), **options):
        return self._run([str(COMMAND), "record", "-o", str(self.run_dir), *flags, "--",
                          *[str(word) for word in command]], options)

    def python(self, code, *flags, **options):
        """Records `python FLAGS -c CODE`; its standard output."""
        done = self.record(sys.executable, *flags, "-c", code, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, command, options):
        options.setdefault("env", environment())
        options.setdefault("timeout", 20)
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **options)

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def logs(self):
        return sorted(path.name for path in self.run_dir.glob("*.crosscut"))

    def processes(self):
        """What the table `processes` and the parents' keys say of the run."""
        table = crosscut.read(self.run_dir).table("processes")
        return [Process(row["process"], row["pid"], row["parent"], row.get("start_method", ""),
                        row["name"]) for row in table.rows()]
