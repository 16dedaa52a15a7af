"""Who starts, stops and pauses in the Python half, and who sees whether others run meanwhile."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

from python_actors import Marker, crosscut
from python_world import BEGIN, PAUSE, RESUME, START, STOP, Cast, Journal, World

STOOD_STILL_S = 0.7
fork_lock = threading.Lock()  # of the program's own, as logging and concurrent.futures have some


class Changes:
    """What changes where the session stands, by one thread at a time."""

    def __init__(self, world: World) -> None:
        self.journal, self.world = Journal(world, "changes"), world

    def begin(self) -> None:
        at = self.journal.begin(BEGIN, os.getppid(), self.world.run_of(crosscut.run_dir()))
        self.journal.end(at, crosscut.active())
        self.journal.leave()  # this thread makes no more of them


# ---- Whether anybody has the GIL for long --------------------------------------------------------

beats = 0


def heart(world: World) -> None:
    """Any other thread of the program."""
    global beats
    while not world.stop:
        beats += 1
        time.sleep(0.001)


def _starved() -> dict[str, int]:
    """How long each thread has waited for a processor, in ns."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            found[task.name] = int((task / "schedstat").read_text().split()[1])
        except OSError:
            continue
    return found


def watched(world: World, what: str, call, *arguments, **options) -> bool:
    """Calls it. Others run Python meanwhile, or the machine had no processor for them."""
    count, starved, begin = beats, _starved(), time.monotonic()
    result = call(*arguments, **options)
    took = time.monotonic() - begin
    if took < STOOD_STILL_S or beats != count or count == 0 or world.ending:
        return result
    longest = max((of - starved.get(task, 0) for task, of in _starved().items()), default=0) / 1e9
    if longest < took / 2:
        world.found(f"{what} returned {result} after {took:.2f} s ({crosscut.error()}), and no "
                    f"other thread ran meanwhile, though each had a processor")
    return result


# ---- Who starts and stops ------------------------------------------------------------------------


class Controller:
    def __init__(self, world: World, cast: Cast, changes: Changes, seed: int) -> None:
        self.world, self.cast, self.changes = world, cast, changes
        self.chance, self.runs, self.paused = random.Random(seed), 1, False
        self.progress = Journal(world, "controls", room=100)

    def act(self) -> None:
        active, move = crosscut.active(), self.chance.randrange(100)
        if not active and (self.cast.mode != "own" or move < 90):
            self.start()
        elif move < 15:
            self.write(crosscut.flush)
        elif move < 20:
            self.write(crosscut.snapshot)
        elif self.paused and move < 75:
            self.paused = not self.change(RESUME, "resume()", crosscut.resume)
        elif move < 60:
            self.paused = self.change(PAUSE, "pause()", crosscut.pause)
        elif self.cast.mode != "timed" or self.cast.beside:  # else it ends by itself
            if self.change(STOP, "stop()", crosscut.stop):
                self.paused = False
            if self.chance.randrange(2):
                self.start()

    def change(self, kind: int, what: str, call, run: int = -1, **options) -> bool:
        journal = self.changes.journal
        self.progress.tick(what)
        at = journal.begin(kind, 0, run)
        good = bool(watched(self.world, what, call, **options))
        journal.end(at, good)
        return good

    def start(self) -> None:
        if self.cast.armed:  # for one run
            self.change(START, "start()", crosscut.start)
            return
        if self.runs == 1 or self.chance.randrange(3) == 0:
            self.runs += 1
        run = self.chance.randrange(1, self.runs)
        if self.cast.mode == "record" and self.chance.randrange(3):
            run = 0
        where = {} if run == 0 else {"run_dir": self.world.run_dir(run)}
        plan = {"plan": "full", "budget": 0} if self.cast.full else {}
        good = self.change(START, "start()", crosscut.start, run, python=self.cast.level,
                           memory_mib=self.cast.memory, control_percent=0 if plan else 20.0,
                           **where, **plan)
        words = crosscut.error()
        if not (good or crosscut.active() or "under way" in words or self.world.ending or
                os.environ.get("STRESS_PLAIN")):
            self.world.found(f"start() failed: {words}")

    def write(self, call) -> None:
        self.progress.tick(call.__name__)
        watched(self.world, call.__name__ + "()", call)


class Source:
    """A source in Python: its calls wait for the GIL while others start, stop and pause."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.handle, self.level = chance, 0, 0

    def set_level(self, level: int) -> None:
        self.level = level
        for _ in range(self.chance.randrange(4)):
            time.sleep(0)

    def change(self) -> None:
        from crosscut import _record

        if self.handle:
            _record.remove_source(self.handle)
            self.handle = 0
        else:
            self.handle = _record.add_source("mine", "1", self.set_level)


def controls(world: World, cast: Cast, changes: Changes, seed: int) -> None:
    controller = Controller(world, cast, changes, seed)
    of_its_own = cast.source and not os.environ.get("STRESS_PLAIN")
    source = Source(controller.chance) if of_its_own else None
    while not world.stop:
        controller.act()
        if source is not None and controller.chance.randrange(5) == 0:
            controller.progress.tick("source")
            source.change()
        time.sleep(controller.chance.choice([0, 0.001, 0.03]) * controller.chance.random())
    controller.progress.leave()


def pauses(world: World, cast: Cast, seed: int) -> None:
    """Pauses whatever others do."""
    journal, chance = Journal(world, "pauses"), random.Random(seed)
    while not world.stop:
        journal.tick("pause()")
        watched(world, "pause()", crosscut.pause)
        time.sleep(chance.random() * 0.002)
        journal.tick("resume()")
        watched(world, "resume()", crosscut.resume)
    journal.leave()


# ---- The program's own hooks of fork() -----------------------------------------------------------


def hook_forks() -> None:
    os.register_at_fork(before=fork_lock.acquire, after_in_parent=fork_lock.release,
                        after_in_child=fork_lock.release)


def holds(world: World, cast: Cast, seed: int) -> None:
    """Works under a lock that each fork waits for."""
    marker, chance = Marker(world, cast, "holds"), random.Random(seed)
    while not world.stop and not marker.journal.full():
        with fork_lock:
            marker.some(chance)
            time.sleep(chance.random() * 0.002)
        time.sleep(chance.random() * 0.004)
    marker.journal.leave()

