"""The threads of the Python half: who marks, runs tasks, forks, has other interpreters."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from python_world import (BEGIN, COUNTER, FOREIGN, FORKED, INSTANT, OPERATION, STEP, Cast, Journal,
                          World)

if os.environ.get("STRESS_PLAIN"):  # what CPython does by itself
    import python_plain as crosscut
else:
    import crosscut

PROGRAM = str(Path(__file__).with_name("python_program.py"))
log = logging.getLogger("stress")
log.addHandler(logging.NullHandler())


class Marker:
    """One thread that marks."""

    def __init__(self, world: World, cast: Cast, role: str) -> None:
        self.journal = Journal(world, role)
        self.cast, self.number = cast, 0

    def _next(self) -> int:
        self.number += 1
        return self.number

    def counter(self) -> None:
        number = self._next()
        at = self.journal.begin(COUNTER, number)
        crosscut.counter(f"c{self.journal.slot}", self.journal.slot << 32 | number)
        self.journal.end(at)

    def instant(self) -> None:
        number = self._next()
        at = self.journal.begin(INSTANT, number)
        crosscut.instant(f"i{self.journal.slot}.{number}")
        self.journal.end(at)

    def operation(self) -> OperationOf:
        return OperationOf(self.journal, self._next() if self.cast.unique else 0)

    def some(self, chance: random.Random, depth: int = 0) -> None:
        """A few marks, some inside others."""
        which = chance.randrange(4)
        if which == 0:
            self.counter()
        elif which == 1:
            self.instant()
        else:
            with self.operation():
                if depth < 3 and which == 3:
                    self.some(chance, depth + 1)


class OperationOf:
    def __init__(self, journal: Journal, number: int) -> None:
        self.journal, self.number = journal, number

    def __enter__(self) -> None:
        self.at = self.journal.begin(OPERATION, self.number)
        self.operation = crosscut.operation(f"o{self.journal.slot}.{self.number}")
        self.operation.__enter__()

    def __exit__(self, *error: object) -> None:
        self.operation.__exit__(*error)
        self.journal.end(self.at)


def marks(world: World, cast: Cast, seed: int) -> None:
    marker, chance = Marker(world, cast, "marks"), random.Random(seed)
    while not world.stop and not marker.journal.full():
        marker.some(chance)
        if chance.randrange(20) == 0:
            time.sleep(chance.random() * 0.002)
        if chance.randrange(50) == 0:
            log.warning("a line %d", marker.number)
        if chance.randrange(200) == 0:  # a thread that is gone at once
            beside = threading.Thread(target=marks_once, args=(world, cast), daemon=True)
            beside.start()
            beside.join()
    marker.journal.leave()


def marks_once(world: World, cast: Cast) -> None:
    marker = Marker(world, cast, "once")
    with marker.operation():
        marker.instant()
    marker.journal.leave()


def steps(world: World, cast: Cast, seed: int) -> None:
    marker, chance = Marker(world, cast, "steps"), random.Random(seed)
    while not world.stop and not marker.journal.full():
        at = marker.journal.begin(STEP, -1)
        number = crosscut.step(chance.choice([None, "train", "rollout"]))
        marker.journal.end(at, number=number)
        with marker.operation():
            time.sleep(chance.random() * 0.003)
    marker.journal.leave()


def tasks(world: World, cast: Cast, seed: int) -> None:
    """An event loop whose tasks have operations open while others run."""
    marker, chance = Marker(world, cast, "tasks"), random.Random(seed)

    async def task() -> None:
        with marker.operation():
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(chance.random() * 0.001)
                marker.some(chance)

    async def loop() -> None:
        while not world.stop and not marker.journal.full():
            await asyncio.gather(*(task() for _ in range(chance.randrange(1, 6))))

    asyncio.run(loop())
    marker.journal.leave()


# ---- Children ------------------------------------------------------------------------------------


class Forked:
    """A child's own journal, which says when it was forked."""

    def __init__(self, world: World, cast: Cast) -> None:
        self.world, self.cast = world, cast
        self.parent, self.before = os.getpid(), time.monotonic_ns()

    def marks(self, chance: random.Random, count: int) -> None:
        marker = Marker(self.world, self.cast, "child")
        at = marker.journal.begin(FORKED, self.parent, self.world.run_of(crosscut.run_dir()))
        marker.journal.since(at, self.before)
        marker.journal.end(at, crosscut.active())
        for _ in range(count):
            marker.some(chance)
        marker.journal.leave()


def _await(world: World, pid: int, code: int) -> None:
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if ended != code and not world.ending:
        world.found(f"a forked child ended with {ended}, not {code}")


def _forks(world: World, cast: Cast, seed: int) -> None:
    chance, child = random.Random(seed), Forked(world, cast)
    if (pid := os.fork()) == 0:
        code = 99
        try:
            child.marks(chance, chance.choice([0, 3, 30]))
            code = 3
        except BaseException as error:
            world.found(f"in a child: {error!r}")
        finally:
            os._exit(code)
    _await(world, pid, 3)


def in_a_process(folder: str, seed: int, cast: Cast, parent: int, before: int) -> int:
    """What multiprocessing's children do: forked without a word of ours between."""
    world = World(folder, seed)
    child = Forked(world, cast)
    child.parent, child.before = parent, before
    child.marks(random.Random(seed), 5)
    return seed


def _by_multiprocessing(world: World, cast: Cast, seed: int) -> None:
    of = (str(world.folder), seed, cast, os.getpid(), time.monotonic_ns())
    process = multiprocessing.get_context("fork").Process(target=in_a_process, args=of)
    process.start()
    process.join()
    if process.exitcode != 0 and not world.ending:
        world.found(f"a child of multiprocessing ended with {process.exitcode}")


def _by_an_executor(world: World, cast: Cast, seed: int) -> None:
    of = (str(world.folder), seed, cast, os.getpid(), time.monotonic_ns())
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        if pool.submit(in_a_process, *of).result() != seed:
            world.found("another result than that of a child")


def _by_threads(world: World, cast: Cast, seed: int) -> None:
    """A pool of threads that fork, which it starts meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(_forks, world, cast, seed + i) for i in range(4)]:
            done.result()


def _as_a_program(world: World, cast: Cast, seed: int) -> None:
    done = subprocess.run([sys.executable, PROGRAM, "child", str(world.folder), str(world.seed),
                           cast.version], check=False)
    if done.returncode != 3 and not world.ending:
        world.found(f"a program started ended with {done.returncode}")


def _another(world: World, cast: Cast, seed: int) -> None:
    if subprocess.run(["/bin/sh", "-c", "exit 5"], check=False).returncode != 5:
        world.found("a shell did not end with 5")


def forks(world: World, cast: Cast, seed: int) -> None:
    journal, chance = Journal(world, "forks"), random.Random(seed)
    ways = [_forks, _by_multiprocessing, _by_an_executor, _by_threads, _as_a_program, _another]
    while not world.no_more:
        way = chance.choices(ways, [60, 10, 5, 15, 4, 6])[0]
        journal.tick(way.__name__[:15])
        way(world, cast, chance.randrange(1 << 30))
    journal.leave()


def child_program(folder: str, seed: int, cast: Cast) -> int:
    """A program that the program starts: its own journal and few marks."""
    world = World(folder, seed)
    marker = Marker(world, cast, "program")
    at = marker.journal.begin(BEGIN, os.getppid(), world.run_of(crosscut.run_dir()))
    marker.journal.end(at, crosscut.active())
    for _ in range(20):
        marker.some(random.Random(os.getpid()))
    marker.journal.leave()
    return 3


# ---- Other interpreters --------------------------------------------------------------------------

# New functions, and with them new places that call native code.

FUNCTIONS = """
import math, select, time, zlib
end, count = time.monotonic() + SECONDS, 0
while time.monotonic() < end:
    names = {'time': time, 'zlib': zlib, 'select': select, 'math': math}
    calls = ' time.sleep(0)\\n zlib.crc32(b"x"); math.sqrt(2); select.select([], [], [], 0)\\n'
    exec(compile(f'def f{count}():\\n' + calls * 20 + f'f{count}()', f'file{count}', 'exec'), names)
    count += 1
"""


def interpreters(world: World, cast: Cast, seed: int) -> None:
    """One after the other, with a GIL of their own where CPython has that."""
    try:
        import _interpreters as module
    except ImportError:
        import _xxsubinterpreters as module
    journal, chance = Journal(world, "interpreters"), random.Random(seed)
    run = getattr(module, "exec", None) or module.run_string
    while not world.no_more:
        journal.tick("create")
        other = module.create()
        journal.tick("run")
        failure = run(other, FUNCTIONS.replace("SECONDS", str(chance.random() * 0.6))
                      .replace("zlib.crc32", FOREIGN))
        if failure is not None:
            world.found(f"another interpreter failed: {failure}")
        journal.tick("destroy")
        module.destroy(other)
    journal.leave()


def functions(world: World, cast: Cast, seed: int) -> None:
    """What other interpreters run, in the main one at the same time."""
    journal = Journal(world, "functions")
    while not world.stop:
        journal.tick()
        exec(FUNCTIONS.replace("SECONDS", "0.05"), {})
    journal.leave()
