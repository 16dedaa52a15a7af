"""The Python half of run.py: runs python_program.py as a seed has it, and says what is wrong."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

import python_check
import watching
from python_world import CODES, Cast, cast_of

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(os.environ.get("CROSSCUT_PACKAGE_DIR") or
                       HERE.parent.parent / "build/release/python/crosscut").parent
COMMAND = PACKAGE / "crosscut" / "bin" / "crosscut"
PROGRAM = HERE / "python_program.py"
ANSWERS = (0, 1, 3)  # of those who ask for windows: done, some did not follow, nobody was there

os.environ["CROSSCUT_PACKAGE_DIR"] = str(PACKAGE / "crosscut")
sys.path[:0] = [str(PACKAGE), str(HERE.parent / "python" / "pycalls")]
from pycalls_support import INTERPRETERS, SERVED  # noqa: E402


def start_s(version: str) -> float:
    """How long a program takes to begin, on a busy machine."""
    begin = time.monotonic()
    subprocess.run([INTERPRETERS[version][0], "-c", "import asyncio, multiprocessing, subprocess"],
                   check=True)
    return time.monotonic() - begin


class Seed:
    def __init__(self, seed: int, folder: pathlib.Path, plain: bool) -> None:
        self.seed, self.folder, self.plain = seed, folder, plain
        self.cast: Cast = cast_of(seed, random.Random(f"version {seed}").choice(SERVED))
        self.asked: list[str] = []
        self.start_s = start_s(self.cast.version)
        for name in ("ops", "runs"):
            (folder / name).mkdir()

    def command(self) -> list[str | pathlib.Path]:
        # CPython from 3.12 on warns of each fork beside threads.
        program = [INTERPRETERS[self.cast.version][0], "-W", "ignore", PROGRAM, "run", self.folder,
                   str(self.seed), self.cast.version]
        if self.plain or self.cast.mode == "own":
            return program
        return [COMMAND, "record", "-o", self.folder / "runs" / "0", *self.flags(), "--", *program]

    def flags(self) -> list[str]:
        cast, chance = self.cast, random.Random(f"flags {self.seed}")
        flags = [f"--python={cast.level}", f"--memory={cast.memory}"]
        if cast.full:
            flags += ["--plan=full", "--control-steps=0", "--budget=off"]
        else:
            flags += [f"--plan={chance.choice(['light', 'balanced', 'operators=50'])}"]
        if cast.keep:
            flags += ["--keep=1"]
        if cast.mode == "dormant":
            flags += ["--dormant"]
        elif cast.mode == "timed" and chance.randrange(4) == 0:
            flags += [f"--stop-after-steps={chance.randrange(1, 200)}"]
        elif cast.mode == "timed":
            flags += [f"--stop-after-seconds={3 * self.start_s + chance.uniform(0.3, 2):.3f}"]
        return flags

    def environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("CROSSCUT_") and name != "LD_PRELOAD"}
        env["PYTHONPATH"] = str(PACKAGE)
        env["STRESS_SLOWER"] = f"{1 + 4 * self.start_s:.2f}"
        return dict(env, STRESS_PLAIN="1") if self.plain else env

    def ask(self, program: subprocess.Popen) -> None:
        """Begins and ends windows from outside, as long as the program runs."""
        chance, run = random.Random(f"asks {self.seed}"), self.folder / "runs" / "0"
        while program.poll() is None:
            if not (run / "run.json").exists():
                time.sleep(0.02)
                continue
            asks = ["start", run, *chance.choice([
                ["--now"], [f"--seconds={chance.uniform(0.01, 0.5):.3f}"],
                [f"--steps={chance.randrange(1, 30)}"], []])]
            for words in (asks, [chance.choice(["stop", "stop", "snapshot"]), run]):
                done = subprocess.run([COMMAND, *words, "--timeout=5"], capture_output=True,
                                      text=True, check=False)
                if done.returncode not in ANSWERS:
                    self.asked.append(f"crosscut {words[0]} ended with {done.returncode}: "
                                      f"{done.stderr.strip()}")
                time.sleep(chance.random() * 0.1)

    def follow(self) -> tuple[list[str], int]:
        """Runs it to its end. Who stands still, and its exit status."""
        with (self.folder / "output").open("wb") as output, \
                (self.folder / "errors").open("wb") as errors:
            program = subprocess.Popen(self.command(), stdout=output, stderr=errors,
                                       stdin=subprocess.DEVNULL, env=self.environment(),
                                       start_new_session=True)
        asks = threading.Thread(target=self.ask, args=(program,))
        try:
            if self.cast.mode == "dormant" and not self.plain:
                asks.start()
            said = watching.followed(program, self.folder)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)  # also children that it left
        status = program.wait()
        if asks.ident is not None:
            asks.join()
        return said, status

    def ended(self, status: int) -> list[str]:
        """What is not as it is unrecorded."""
        said, cast = [], self.cast
        if status != CODES[cast.ending]:
            said.append(f"exit status {status}, not {CODES[cast.ending]}")
        output = (self.folder / "output").read_text(errors="replace")
        if output != f"seed {self.seed} begins\nseed {self.seed} ends: {cast.ending}\n":
            said.append(f"it printed {output[-500:]!r}")
        errors = [line for line in (self.folder / "errors").read_text(errors="replace").splitlines()
                  if not line.startswith("crosscut: ")]
        if cast.ending == "raises amid" and errors[-1:] == ["RuntimeError: the end"]:
            errors = [line for line in errors[:-1] if not re.match(r"Traceback|  ", line)]
        return said + [f"it said {line}" for line in errors[-12:]]

    def findings(self) -> list[str]:
        path = self.folder / "findings"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return [f"in the program: {line}" for line in sorted(set(lines))]

    def rings(self) -> list[str]:
        """Rings that nobody takes away; they go here."""
        said, run = [], str(self.folder / "runs").encode() + b"/"
        for path in pathlib.Path("/dev/shm").glob("*.ring"):
            with contextlib.suppress(OSError):
                with path.open("rb") as ring:
                    if run not in ring.read(4096):
                        continue
                path.unlink()
                said.append(f"a ring is left: {path}")
        return said


def run(seed: int, folder: pathlib.Path, plain: bool) -> tuple[list[str], str, str]:
    """What is wrong with a seed, its cast, and the checker's last line."""
    of = Seed(seed, folder, plain)
    said, status = of.follow()
    said = said or of.ended(status)
    said += of.asked + of.findings()
    if plain:
        return said, str(of.cast), "= unrecorded"
    try:
        checker = python_check.Checker(folder, of.cast, COMMAND)
        said += checker.check()
        closing = checker.closing()
    except Exception as error:  # of the reader, as a rule
        closing = "the checker failed"
        said.append(f"the checker failed: {error!r}")
    return said + of.rings(), str(of.cast), closing
