"""A Python program that does at random, by a seed, what the recording half allows, and tells in
files what it did: python_world.py. run.py --build python runs it and compares.

    python_program.py run DIR SEED VERSION
    python_program.py child DIR SEED VERSION    a program that `run` starts
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import traceback

import python_actors as actors
import python_control as control
from python_world import CODES, ENDING, Cast, Journal, World, cast_of

SLOWER = float(os.environ.get("STRESS_SLOWER", "1"))  # than a machine with nothing else to do


def guarded(world: World, body, *arguments) -> None:
    try:
        body(world, *arguments)
    except BaseException:
        if not world.ending:
            world.found(traceback.format_exc())


class Threads:
    def __init__(self, world: World, cast: Cast, chance: random.Random) -> None:
        self.world, self.cast, self.chance = world, cast, chance
        self.all: list[threading.Thread] = []
        self.first: list[threading.Thread] = []  # CPython cannot end amid what these do

    def start(self, body, *arguments, awaited: bool = False) -> None:
        thread = threading.Thread(target=guarded, daemon=True, name=body.__name__,
                                  args=(self.world, body, *arguments))
        thread.start()
        (self.first if awaited else self.all).append(thread)

    def start_all(self) -> None:
        cast = self.cast
        wanted = [(actors.marks, cast.markers, False), (actors.tasks, cast.tasks, False),
                  (actors.steps, cast.steps, False), (actors.forks, cast.forks, True),
                  (actors.interpreters, cast.interpreters, True),
                  (actors.functions, cast.interpreters > 0, False)]
        for body, count, awaited in wanted:
            for _ in range(count):
                self.start(body, cast, self.chance.randrange(1 << 30), awaited=awaited)


def left_s(cast: Cast) -> float | None:
    """Until the window ends by itself; None where the program ends without a look at that."""
    at = int(os.environ.get("CROSSCUT_STOP_AT", "0")) / 1e9
    return max(0.0, at - time.monotonic()) if at and cast.ms % 4 else None


def lasts_s(cast: Cast) -> float:
    """How long the program goes on."""
    left = left_s(cast)
    if left is not None:
        return left + (cast.ms - 1400) / 3000 * SLOWER  # about as long as the window
    return cast.ms / 1000 * min(SLOWER, 15)


def leave_late(cast: Cast) -> None:
    """A handler of C's that takes long at exit, behind the end of Python."""
    if cast.late_ms:
        import ctypes

        # Half of them outlast the window, whenever the program ends.
        more = (left_s(cast) or 0) * (cast.late_ms % 2)
        microseconds = int(1e6 * (cast.late_ms / 1000 * SLOWER + more))
        libc = ctypes.CDLL(None)
        libc.__cxa_atexit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        libc.__cxa_atexit(ctypes.cast(libc.usleep, ctypes.c_void_p), microseconds, None)


def end(world: World, cast: Cast, threads: Threads, journal: Journal) -> int:
    world.no_more = True
    for thread in threads.first:
        thread.join()
    print(f"seed {world.seed} ends: {cast.ending}", flush=True)
    if cast.ending in ("return", "main leaves"):
        world.stop = True
        for thread in threads.all:
            thread.join()
    world.ending = True
    journal.end(journal.begin(ENDING, 0))
    code = CODES[cast.ending]
    if cast.ending == "raises amid":
        raise RuntimeError("the end")
    if cast.ending in ("_exit amid", "a thread's _exit"):
        if cast.ending == "_exit amid":
            os._exit(code)
        threading.Thread(target=os._exit, args=(code,)).start()
        time.sleep(60)
    if cast.ending in ("kill", "SIGTERM"):
        os.kill(os.getpid(), -code)
        time.sleep(60)
    if cast.ending in ("C's exit amid", "main leaves"):
        import ctypes

        libc = ctypes.CDLL(None)
        libc.exit(code) if cast.ending == "C's exit amid" else libc.pthread_exit(None)
    return code


def run(folder: str, seed: int, version: str) -> int:
    world, cast = World(folder, seed), cast_of(seed, version)
    chance = random.Random(seed)
    changes = control.Changes(world)
    changes.begin()
    if cast.hooks:
        control.hook_forks()
    leave_late(cast)
    print(f"seed {seed} begins", flush=True)
    threads = Threads(world, cast, chance)
    threads.start(control.heart)
    if cast.controls:
        threads.start(control.controls, cast, changes, chance.randrange(1 << 30))
    if cast.hooks:
        threads.start(control.holds, cast, chance.randrange(1 << 30))
    if cast.beside:
        threads.start(control.pauses, cast, chance.randrange(1 << 30))
    threads.start_all()
    until, journal = time.monotonic() + lasts_s(cast), Journal(world, "main")
    while time.monotonic() < until:
        time.sleep(0.01)
        journal.tick()
    journal.leave()
    return end(world, cast, threads, journal)


def main() -> int:
    what, folder, seed, version = sys.argv[1:]
    if what == "child":
        return actors.child_program(folder, int(seed), cast_of(int(seed), version))
    return run(folder, int(seed), version)


if __name__ == "__main__":
    sys.exit(main())
