"""Maps inputs in processes of this machine, some at once. A process maps one input after another:
it costs more to start than to map a small trace. One that is killed is started again."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import crosscut
from crosscut._command import exit_code, why
from crosscut.cluster import partial, store, without_pandas
from crosscut.cluster.partial import Gap, Partial

TRIES = 4  # of a worker that is killed: the first one, and three more
# Without the folder where it runs, whose files are no modules.
_MAIN = ("import sys; sys.path[:] = filter(None, (sys.argv.pop(1), *sys.path)); "
         "from crosscut.cluster.workers import main; sys.exit(main())")


@dataclass
class Mapped:
    """What became of an input: the file of its partial, or why there is none."""

    path: str
    file: str | None = None
    gap: Gap | None = None


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def one_by_one(mapped: Iterable[Mapped]) -> tuple[list[Partial], list[Gap]]:
    """A partial for each input, and what is missing. OSError where a file cannot be read."""
    parts, gaps = [], []
    for one in mapped:
        if one.file is not None:
            parts.append(partial.from_bytes(store.read(one.file), one.path))
        if one.gap is not None:
            gaps.append(one.gap)
    return parts, gaps


class _Worker:
    """A process that maps what it is told, one input at a time. Used by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def map(self, path: str, file: str, job: str) -> Mapped:
        """Writes the partial of `path` to `file`."""
        code = 0
        for _ in range(TRIES):
            problem = self._ask(path, file, job)
            if problem == "":
                return Mapped(path, file)
            if problem is not None:
                return Mapped(path, gap=Gap(path, problem))
            code = self.end()
            if code >= 0:
                return Mapped(path, gap=Gap(path, "it could not be mapped"))
        name = signal.Signals(-code).name
        return Mapped(path, gap=Gap(path, f"it could not be mapped: {name} ended the worker "
                                          f"{TRIES} times"))

    def _ask(self, *words: str) -> str | None:
        """What is wrong with the input, "" for nothing; None where the process ended."""
        if self._process is None:
            package = os.path.dirname(os.path.dirname(os.path.abspath(crosscut.__file__)))
            self._process = subprocess.Popen([sys.executable, "-c", _MAIN, package],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = self._process.stdout.readline()
        return str(json.loads(answer)) if answer.endswith(b"\n") else None

    def end(self) -> int:
        """Ends the process; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdout.close()
        return process.wait()


def map_all(paths: Sequence[str], folder: str, job: str = "",
            at_once: int = 0) -> Iterator[Mapped]:
    """The outcome for each input, in their order, as soon as it is known. The partials are files in
    `folder`, named by the input's place. `at_once`: processes, 0 for one per processor. What is
    wrong with an input is its gap, and no exception."""
    count = min(at_once or processors(), max(len(paths), 1))
    free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    workers = [_Worker() for _ in range(count)]
    for worker in workers:
        free.put(worker)

    def map_one(path: str, file: str) -> Mapped:
        worker = free.get()
        try:
            return worker.map(path, file, job)
        finally:
            free.put(worker)

    try:
        with ThreadPoolExecutor(count) as threads:
            files = [os.path.join(folder, f"{number}{partial.SUFFIX}")
                     for number in range(len(paths))]
            yield from threads.map(map_one, paths, files)
    finally:
        for worker in workers:
            worker.end()


def main() -> int:
    """A worker: for each line [path, file, job] on stdin it writes the partial of the path to the
    file, and what is wrong with that to stdout, as a line of JSON."""
    return exit_code(_map_as_told)


def _map_as_told() -> bool:
    without_pandas()
    from crosscut.cluster.mapping import map_input

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what else is printed must not be taken for an answer
    for line in sys.stdin.buffer:
        path, file, job = json.loads(line)
        problem = ""
        try:
            store.write(file, partial.to_bytes(map_input(path, job)))
        except Exception as error:
            # Whoever tells the gap names the path.
            problem = why(error).removeprefix(f"{path}: ")
        try:
            answers.write(json.dumps(problem).encode() + b"\n")
        except BrokenPipeError:
            break  # who asked has ended
    return False
