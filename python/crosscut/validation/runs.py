"""Runs a command, unrecorded and recorded in turn, and takes its times. In nanoseconds, on
CLOCK_MONOTONIC."""

from __future__ import annotations

import json
import os
import pathlib
import select
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosscut.validation.judge import Corrected

CROSSCUT = pathlib.Path(__file__).absolute().parent.parent / "bin" / "crosscut"
FINDING, USAGE, UNREADABLE = 1, 2, 3
MOST_WORDS = 2000  # of a failing command's output
LOOK_SECONDS = 0.0005
_HELPERS = "crosscut-guard", "signal-witness"  # of `record`, by their names


class Failed(Exception):
    """A run that cannot be used, in words for the user. `code`: the exit code that tells it."""

    def __init__(self, words: str, code: int = UNREADABLE) -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True)
class Command:
    """What is run, the same way in both arms."""

    words: Sequence[str]
    options: Sequence[str] = ()  # of `record`
    times: str | None = None  # a file that it writes: JSON with step_median_ns, its own clock's
    folder: str | None = None  # where; None: here
    environment: Mapping[str, str] = field(default_factory=dict)  # beside what is there


@dataclass(frozen=True)
class Recorded:
    """One recorded run. The command's life is from its start to its end, as in unrecorded runs; its
    corrected life lacks what the report subtracts from the window of its process, and what it says
    that bringing the recorder in took before that."""

    life: Corrected
    outside_ns: int  # of the life, before and after the window: nothing is corrected there
    checked: bool  # by control steps
    message: str  # why not
    step: Corrected | None  # the median step, as its own clock and as the report have it
    times: dict[str, Any]
    looked: Any  # what look() returned


@dataclass
class Runs:
    """Both arms, in the order of the pairs."""

    unrecorded: list[int] = field(default_factory=list)  # lives
    unrecorded_times: list[dict[str, Any]] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)


def measure(command: Command, pairs: int, look: Callable[[str], Any] | None = None,
            say: Callable[[str], None] = lambda line: None) -> Runs:
    """Runs it `pairs` times in either arm, interleaved ABBA, each recording with a seed of its own.

    `look` is called with each run directory, which is gone afterwards. Raises Failed where a run
    fails.
    """
    runs = Runs()
    with tempfile.TemporaryDirectory(prefix="crosscut-validate-") as work:
        check_options(command, work)
        for pair in range(pairs):
            for arm in ("AB", "BA")[pair % 2]:
                if arm == "A":
                    life, times = _unrecorded(command, work)
                    runs.unrecorded.append(life)
                    runs.unrecorded_times.append(times)
                else:
                    runs.recorded.append(_recorded(command, work, pair + 1, look))
            say(f"pair {pair + 1} of {pairs}: unrecorded {runs.unrecorded[-1] / 1e9:.3f} s, "
                f"recorded {runs.recorded[-1].life.raw_ns / 1e9:.3f}, "
                f"corrected {runs.recorded[-1].life.corrected_ns / 1e9:.3f}")
    return runs


def check_options(command: Command, work: str) -> None:
    """Raises Failed, a usage error, where `record` does not take the options."""
    if any(word == "-o" or word.startswith("-o") for word in command.options):
        raise Failed("-o: the recordings are not kept", USAGE)
    done = subprocess.run([CROSSCUT, "record", "-o", f"{work}/options", *command.options, "--",
                           "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip().removeprefix("crosscut: "), USAGE)


def _environment(command: Command, recorded: bool) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items()
           if recorded or not name.startswith("CROSSCUT_")}
    return {**own, **command.environment}


def _unrecorded(command: Command, work: str) -> tuple[int, dict[str, Any]]:
    with _output(command, work) as output:
        begin = time.monotonic_ns()
        try:
            process = subprocess.Popen(list(command.words), stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output, cwd=command.folder,
                                       env=_environment(command, recorded=False))
        except OSError as error:
            raise Failed(f"{command.words[0]}: {error.strerror}", USAGE) from None
        with process:
            process.wait()
            end = time.monotonic_ns()
    if process.returncode != 0:
        raise Failed(_how_it_failed(process.returncode, work))
    return end - begin, _times(command)


def _recorded(command: Command, work: str, seed: int,
              look: Callable[[str], Any] | None) -> Recorded:
    run = f"{work}/run"
    shutil.rmtree(run, ignore_errors=True)
    with _output(command, work) as output:
        with subprocess.Popen([CROSSCUT, "record", "-o", run, *command.options, "--",
                               *command.words], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=output, cwd=command.folder,
                              env={**_environment(command, recorded=True),
                                   "CROSSCUT_SEED": str(seed)}) as process:
            pid, life = _life_of_child(process)
    if process.returncode != 0:
        raise Failed(_how_it_failed(process.returncode, work, " when recorded, but not when "
                                    "unrecorded"), FINDING)
    if pid == 0:
        raise Failed("the command's process was not seen: it was too short to be measured")
    times = _times(command)
    row = _spokesman(table(run, "processes"), pid, work)
    outside = life - row["starting_ns"] - row["wall_ns"]
    check = next((c for c in table(run, "overhead_check") if c["process"] == row["process"]),
                 {"checked": 0, "message": "not checked: the program has no steps"})
    return Recorded(
        life=Corrected(life, *(outside + row[column] for column in
                               ("corrected_ns", "corrected_low_ns", "corrected_high_ns"))),
        outside_ns=life - row["wall_ns"] - row["excluded_ns"],
        checked=bool(check["checked"]), message=check["message"],
        step=_step(run, row["process"], times) if command.times else None,
        times=times, looked=look(run) if look else None)


def _is_ours(pid: str) -> bool:
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as name:
        return name.read().rstrip("\n") in _HELPERS


def _life_of_child(record: subprocess.Popen[bytes]) -> tuple[int, int]:
    """(pid, how long it lived) of the command. (0, 0): it was not seen.

    Children of `record` that come before it have ended by then; those that watch come behind it.
    What `record` itself does before and after does not belong to the command's life.
    """
    children = f"/proc/{record.pid}/task/{record.pid}/children"
    pid = life = 0
    while record.poll() is None:
        try:
            with open(children, encoding="ascii") as file:
                found = [int(word) for word in file.read().split() if not _is_ours(word)]
            if not found or found[0] == pid:
                time.sleep(LOOK_SECONDS)
                continue
            begin = time.monotonic_ns()
            handle = os.pidfd_open(found[0])
        except OSError:  # it has ended meanwhile
            continue
        try:
            ended = select.poll()
            ended.register(handle, select.POLLIN)
            ended.poll()
            pid, life = found[0], time.monotonic_ns() - begin
        finally:
            os.close(handle)
    return pid, life


def _spokesman(rows: list[dict[str, Any]], pid: int, work: str) -> dict[str, Any]:
    """The row of the command's own process; where nothing was recorded in it, as in a shell, of the
    process with the longest window."""
    if not rows:
        raise Failed(f"nothing was recorded:\n{_tail(work)}")
    return max(rows, key=lambda row: (row["wall_ns"] != row["corrected_ns"], row["pid"] == pid,
                                      row["wall_ns"]))


def _step(run: str, process: str, times: dict[str, Any]) -> Corrected:
    """The median of the profiled steps that count."""
    rows = [row for row in table(run, "steps") if row["process"] == process]
    # The first has what comes before the loop, the last what comes behind it.
    counted = [row for row in rows[1:-1] if not row["control"] and not row["after_switch"]]
    if not counted:
        raise Failed("--times: no steps were found in the program")
    corrected, low, high = (statistics.median(row[column] for row in counted) for column in
                            ("corrected_ns", "corrected_low_ns", "corrected_high_ns"))
    return Corrected(times["step_median_ns"], corrected, low, high)


def table(run: str, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a run. Raises Failed where it cannot be read."""
    done = subprocess.run([CROSSCUT, "table", run, name, "--format=json"], capture_output=True,
                          text=True)
    if not done.stdout:
        raise Failed(done.stderr.strip().removeprefix("crosscut: "))
    return list(_rows(json.loads(done.stdout)["columns"]))


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for cells in zip(*columns.values()):
        yield dict(zip(columns, cells))


def _output(command: Command, work: str) -> Any:
    """Where the command's stdout and stderr go; its file of times is gone before each run."""
    if command.times:
        pathlib.Path(command.folder or ".", command.times).unlink(missing_ok=True)
    return open(f"{work}/output", "wb")


def _times(command: Command) -> dict[str, Any]:
    if not command.times:
        return {}
    try:
        times = json.loads(pathlib.Path(command.folder or ".", command.times).read_bytes())
        float(times["step_median_ns"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failed(f"--times={command.times}: the command must write it, as JSON with "
                     f"step_median_ns: {type(error).__name__}: {error}") from None
    return times


def _tail(work: str) -> str:
    words = pathlib.Path(work, "output").read_text(encoding="utf-8", errors="replace")
    return words[-MOST_WORDS:].strip()


def _how_it_failed(code: int, work: str, when: str = "") -> str:
    how = f"died by signal {-code}" if code < 0 else f"ended with {code}"
    return f"the command {how}{when}:\n{_tail(work)}"
