"""Maps inputs in processes of this machine, some at once. One that is killed is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import crosscut
from crosscut.cluster import partial, store
from crosscut.cluster.partial import Gap, Partial

TRIES = 4  # of a worker that is killed: the first one, and three more
_MAIN = ("import sys; sys.path.insert(0, sys.argv.pop(1)); "
         "from crosscut.cluster.workers import main; sys.exit(main(*sys.argv[1:]))")


@dataclass
class Mapped:
    """What became of an input: its partial, or why there is none."""

    path: str
    partial: Partial | None = None
    gap: Gap | None = None


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def map_all(paths: Sequence[str], job: str = "", at_once: int = 0) -> list[Mapped]:
    """The outcome for each input, in their order. `at_once`: processes, 0 for one per processor.
    No exception for what is wrong with an input: that is its gap."""
    with (tempfile.TemporaryDirectory(prefix="crosscut-map-") as folder,
          ThreadPoolExecutor(at_once or processors()) as threads):
        files = [os.path.join(folder, f"{number}{partial.SUFFIX}") for number in range(len(paths))]
        return list(threads.map(lambda path, file: _map_one(path, file, job), paths, files))


def _map_one(path: str, file: str, job: str) -> Mapped:
    package = os.path.dirname(os.path.dirname(os.path.abspath(crosscut.__file__)))
    for _ in range(TRIES):
        done = subprocess.run([sys.executable, "-c", _MAIN, package, path, file, job],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        if done.returncode >= 0:
            break
    what = ""
    if done.returncode < 0:
        what = (f"it could not be mapped: {signal.Signals(-done.returncode).name} ended the worker "
                f"{TRIES} times")
    elif done.returncode > 0:
        what = done.stdout.decode(errors="replace").strip() or "it could not be mapped"
    if what:
        return Mapped(path, gap=Gap(path, what))
    return Mapped(path, partial.from_bytes(store.read(file), path))


def main(path: str, file: str, job: str) -> int:
    """A worker: writes the partial of an input. What is wrong with that goes to stdout, with 1."""
    from crosscut.cluster.mapping import map_input

    try:
        store.write(file, partial.to_bytes(map_input(path, job)))
    except (OSError, ValueError, MemoryError) as error:
        print(error or type(error).__name__)
        return 1
    return 0
