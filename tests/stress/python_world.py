"""What the actors of one seed of the Python half share: the cast, the chance, and files of the
seed's folder that tell what each thread did, how far everybody is and what went wrong.

All of it is mapped shared, so that who is killed has told everything. run.py reads the cast and
python_check.py the journals; the program alone marks.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# A call: before and after it (CLOCK_MONOTONIC; 0: it did not return), a number, a run, what it was
# and how it went.
OP = struct.Struct("<qqqiHH")
COUNTER, INSTANT, OPERATION, STEP = 1, 2, 3, 4
# What changes where the session stands; `number`: of BEGIN and FORKED the parent's pid.
BEGIN, FORKED, START, STOP, PAUSE, RESUME, ENDING = 11, 12, 13, 14, 15, 16, 17
FOREIGN = "zlib.adler32"  # what other interpreters call, and the main one never does
HEADER = struct.Struct("<qqq24s")  # pid, slot, calls, role
HEADER_BYTES = 64
SLOT = struct.Struct("iiIIQ24s16s")  # as world.h has it: run.py watches both
CODES = {"return": 4, "exits amid": 5, "raises amid": 1, "_exit amid": 6, "a thread's _exit": 7,
         "C's exit amid": 9, "kill": -9, "SIGTERM": -15, "main leaves": 0}


@dataclass
class Cast:
    """What a seed has. `mode`: record, timed (its window ends by itself), dormant, or own (the
    program's sessions alone)."""

    version: str
    mode: str
    level: str
    markers: int
    tasks: bool
    steps: bool
    forks: bool
    interpreters: int
    controls: bool
    beside: bool  # a second thread pauses and resumes, so nobody knows where the session stands
    source: bool
    hooks: bool  # locks of the program's own around fork()
    unique: bool  # each operation has a name of its own
    full: bool  # all steps are recorded in full: then nothing may be missing
    memory: int
    keep: bool
    ending: str
    late_ms: int  # of a handler of C's at exit
    ms: int

    @property
    def armed(self) -> bool:
        """Others end and begin windows, all in one run."""
        return self.mode in ("timed", "dormant") or self.keep

    def __str__(self) -> str:
        has = [word for word in ("tasks", "steps", "forks", "controls", "beside", "source", "hooks",
                                 "unique", "full", "keep") if getattr(self, word)]
        if self.interpreters:
            has.append(f"{self.interpreters} interpreters")
        if self.late_ms:
            has.append(f"{self.late_ms} ms late")
        return (f"{self.version} {self.mode} python={self.level} {self.markers} markers "
                f"{' '.join(has)}, {self.memory} MiB, {self.ms} ms, {self.ending}")


def cast_of(seed: int, version: str) -> Cast:
    chance = random.Random(f"cast {seed}")

    def percent(share: int) -> bool:
        return chance.randrange(100) < share

    # CPython forks no process that has other interpreters without harm.
    other = chance.choices(["forks", "interpreters", ""], [50, 35, 15])[0]
    interpreters = chance.randrange(1, 7) if other == "interpreters" else 0
    mode = chance.choices(["record", "timed", "dormant", "own"], [35, 25, 12, 28])[0]
    ending = "return" if percent(35) else chance.choice(list(CODES))
    return Cast(
        version=version, mode=mode,
        level=chance.choice(["off", "boundary", "samples", "calls"]),
        markers=chance.randrange(1, 4), tasks=percent(40), steps=percent(60),
        forks=other == "forks", interpreters=interpreters,
        controls=percent(70) or mode == "own", beside=percent(25), source=percent(30),
        hooks=percent(70), unique=percent(50), full=percent(75),
        memory=chance.choice([2, 8, 32, 64]), keep=mode in ("record", "dormant") and percent(8),
        ending=ending, late_ms=chance.randrange(100, 700) if percent(65) else 0,
        ms=chance.randrange(200, 1500))


class World:
    """The folder of the seed, and whether its threads are to stop."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder = Path(folder)
        self.seed = seed
        self.stop = False
        self.no_more = False  # children and interpreters, amid which CPython does not end
        self.ending = False  # what goes wrong from now on is CPython's end of threads

    def found(self, text: str) -> None:
        """A line of `findings`; any thread, any process."""
        line = " / ".join(text.strip().splitlines()) + "\n"
        file = os.open(self.folder / "findings", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.write(file, line.encode(errors="replace"))
        os.close(file)

    def run_dir(self, run: int) -> str:
        return str(self.folder / "runs" / str(run))

    def run_of(self, path: str) -> int:
        """The number of the run that the process records in; -1: none."""
        return int(Path(path).name) if path else -1


def _map(path: Path, size: int) -> mmap.mmap:
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if os.fstat(file).st_size < size:
            os.ftruncate(file, size)
        return mmap.mmap(file, size)
    finally:
        os.close(file)


def _take_slot(folder: Path, last: int) -> int:
    """The next place in the table of who is how far: of all processes of the seed. Without a lock,
    which a forked child might inherit."""
    while True:
        last += 1
        try:
            os.close(os.open(folder / str(last), os.O_CREAT | os.O_EXCL, 0o600))
            return last
        except FileExistsError:
            continue


class Journal:
    """What one thread does, in order; `slot` stands for it in all names that it marks."""

    PROGRESS = 4096 * SLOT.size
    last = 0  # about the newest slot

    def __init__(self, world: World, role: str, room: int = 30_000) -> None:
        self.world, self.room, self.calls, self.ticks = world, room, 0, 0
        Journal.last = self.slot = _take_slot(world.folder / "ops", Journal.last)
        self._progress = _map(world.folder / "progress", self.PROGRESS)
        self._map = _map(world.folder / "ops" / str(self.slot), HEADER_BYTES + room * OP.size)
        HEADER.pack_into(self._map, 0, os.getpid(), self.slot, 0, role.encode())
        SLOT.pack_into(self._progress, self.slot * SLOT.size, os.getpid(),
                       threading.get_native_id(), 1, 0, 0, role.encode(), b"")

    def full(self) -> bool:
        return self.calls + 64 >= self.room

    def tick(self, what: str = "") -> None:
        """Still alive."""
        self.ticks += 1
        at = self.slot * SLOT.size
        struct.pack_into("Q", self._progress, at + 16, self.ticks)
        if what:
            struct.pack_into("16s", self._progress, at + 48, what.encode())

    def leave(self) -> None:
        struct.pack_into("I", self._progress, self.slot * SLOT.size + 8, 0)

    def begin(self, kind: int, number: int, run: int = -1) -> int:
        """A call follows. Its place, for end()."""
        at = HEADER_BYTES + self.calls * OP.size
        OP.pack_into(self._map, at, time.monotonic_ns(), 0, number, run, kind, 0)
        self.calls += 1
        struct.pack_into("<q", self._map, 16, self.calls)
        self.tick()
        return at

    def since(self, at: int, before: int) -> None:
        """The call began earlier."""
        struct.pack_into("<q", self._map, at, before)

    def end(self, at: int, good: bool = True, number: int | None = None) -> None:
        if number is not None:
            struct.pack_into("<q", self._map, at + 16, number)
        struct.pack_into("<H", self._map, at + 30, good)
        struct.pack_into("<q", self._map, at + 8, time.monotonic_ns())
