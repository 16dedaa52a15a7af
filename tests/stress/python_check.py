"""Compares what a reader finds in a seed's runs with what the program's threads said they did: what
was certainly inside is there or told as lost, and nothing is there that nobody did.

A call is inside where its begin and end lie in one stretch of time in which the process, as whoever
changed it said, recorded. Where windows end by themselves, the run's own windows say when.
"""

from __future__ import annotations

import bisect
import collections
import json
import pathlib
import subprocess
from typing import NamedTuple

from python_world import (BEGIN, COUNTER, ENDING, FOREIGN, FORKED, HEADER, HEADER_BYTES,
                          INSTANT, OP, OPERATION, PAUSE, START, STEP, STOP, Cast)

FOREVER = 1 << 62
MARGIN_NS = 5_000_000  # of a window's edge on our clock
WORDS = {COUNTER: "counter", INSTANT: "instant", OPERATION: "operation", STEP: "step"}
SHOWN = 4


class Op(NamedTuple):
    before: int
    after: int  # 0: it did not return
    number: int
    run: int
    kind: int
    good: int


class Journal(NamedTuple):
    pid: int
    slot: int
    role: str
    ops: list[Op]


class Stretch(NamedTuple):
    """A time in which nothing changed. `state`: on, off, paused, unknown."""

    begin: int
    end: int
    state: str
    run: int


def journals_of(folder: pathlib.Path) -> list[Journal]:
    found = []
    for path in sorted((folder / "ops").iterdir(), key=lambda path: int(path.name)):
        data = path.read_bytes()
        if len(data) < HEADER_BYTES:
            continue
        pid, slot, calls, role = HEADER.unpack_from(data)
        ops = [Op._make(OP.unpack_from(data, HEADER_BYTES + i * OP.size)) for i in range(calls)]
        found.append(Journal(pid, slot, role.split(b"\0")[0].decode(), ops))
    return found


def at(stretches: list[Stretch], begin: int, end: int) -> Stretch | None:
    """The one in which the whole of a call lies."""
    place = bisect.bisect_right(stretches, begin, key=lambda stretch: stretch.begin) - 1
    if place < 0 or end == 0 or end > stretches[place].end:
        return None
    return stretches[place]


class Processes:
    """Where the session of each process stood, as its threads said."""

    def __init__(self, journals: list[Journal], armed: bool) -> None:
        self.armed = armed  # then a window may end before a fork without their doing
        self.changes: dict[int, list[Op]] = {}
        self.endings: dict[int, int] = {}  # what comes later is not certain
        for journal in journals:
            changes = [op for op in journal.ops if op.kind >= BEGIN]
            if changes and changes[0].kind == ENDING:
                self.endings[journal.pid] = changes[0].before
            elif changes:
                self.changes[journal.pid] = changes
        self.said: list[str] = []
        self._known: dict[int, list[Stretch]] = {}

    def stretches(self, pid: int) -> list[Stretch]:
        if pid not in self._known:
            self._known[pid] = self._of(pid)
        return self._known[pid]

    def _of(self, pid: int) -> list[Stretch]:
        found: list[Stretch] = []
        state, run, since = "unknown", -1, 0
        for change in self.changes.get(pid, []):
            found.append(Stretch(since, change.before, state, run))
            if change.after == 0:
                return found
            state, run = self._after(pid, change, state, run)
            since = change.after
        return [*found, Stretch(since, FOREVER, state, run)]

    def _after(self, pid: int, change: Op, state: str, run: int) -> tuple[str, int]:
        if change.kind == BEGIN:
            return ("on" if change.good else "off"), change.run
        if change.kind == FORKED:
            return self._forked(pid, change)
        if not change.good:
            return state, run
        if change.kind == START:
            return "on", change.run
        if change.kind == STOP:
            return "off", -1
        if change.kind == PAUSE:
            return "paused", run
        return ("on" if state == "paused" else state), run

    def _forked(self, pid: int, change: Op) -> tuple[str, int]:
        parent = at(self.stretches(change.number), change.before, change.after)
        if parent is None or parent.state in ("unknown", "paused"):
            return "unknown", -1
        if parent.state == "on" and not (change.good or self.armed):
            self.said.append(f"process {pid} is not recorded, though {change.number}, which forked "
                             f"it, was")
        if parent.state == "off" and change.good and not self.armed:
            self.said.append(f"process {pid} is recorded, though {change.number} was not")
        return parent.state, parent.run


# ---- What a reader finds -------------------------------------------------------------------------


class Found:
    """Of one run: how often each mark is there, what is told as lost, and the windows."""

    def __init__(self, folder: pathlib.Path, command: pathlib.Path) -> None:
        import crosscut

        run = crosscut.read(folder)
        self.times: collections.Counter[tuple[int, int, int]] = collections.Counter()
        self.lost: collections.Counter[int] = collections.Counter()
        self.windows: dict[int, list[Stretch]] = collections.defaultdict(list)
        for row in run.table("drops").rows():
            self.lost[_pid(row["process"])] += row["count"]
        for row in run.table("windows").rows():
            self.windows[_pid(row["process"])].append(
                Stretch(row["begin_ns"] + MARGIN_NS, row["end_ns"] - MARGIN_NS, "on", 0))
        for row in run.table("steps").rows():
            self.times[STEP, _pid(row["process"]), row["step"]] += 1
        for row in run.table("spans", where="kind = operation").rows():
            if row["first"] == row["span"]:  # one that outlives the function it began in has parts
                self._named(OPERATION, row["name"])
        for row in run.table("spans", where="name = (unnamed)").rows():
            self.lost[_pid(row["process"])] += 1
        self.foreign = len(run.table("spans", where=f"name = {FOREIGN}"))
        self._exported(folder, command)

    def _named(self, kind: int, name: str) -> None:
        slot, _, number = name[1:].partition(".")
        if name[0] in "oi" and slot.isdecimal() and number.isdecimal():
            self.times[kind, int(slot), int(number)] += 1

    def _exported(self, folder: pathlib.Path, command: pathlib.Path) -> None:
        """Instants and counters, which no table has."""
        path = folder.parent.parent / "exported.json"
        done = subprocess.run([command, "export", folder, "--to=chrome", "-o", path], check=False,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"export ended with {done.returncode}: {done.stderr}")
        for event in json.loads(path.read_bytes())["traceEvents"]:
            if event["ph"] in "iC" and event["name"] == "(unnamed)":  # which is told
                self.lost[event["pid"]] += 1
            elif event["ph"] == "i":
                self._named(INSTANT, event["name"])
            elif event["ph"] == "C" and event["name"][0] == "c" and event["name"][1:].isdecimal():
                value = int(event["args"]["value"])
                self.times[COUNTER, value >> 32, value & 0xFFFFFFFF] += 1
        path.unlink()


def _pid(process: str) -> int:
    return int(process[1:].partition("-")[0])


# ---- Both ----------------------------------------------------------------------------------------


class Checker:
    def __init__(self, folder: pathlib.Path, cast: Cast, command: pathlib.Path) -> None:
        self.cast = cast
        self.journals = journals_of(folder)
        self.processes = Processes(self.journals, cast.armed)
        self.runs = {int(path.name): Found(path, command)
                     for path in sorted((folder / "runs").iterdir()) if path.name.isdecimal()}
        self.of_tasks = {journal.slot for journal in self.journals if journal.role == "tasks"}
        self.said: list[str] = []
        self.required = 0

    def where(self, pid: int, op: Op) -> Stretch | None:
        """Where the session stood throughout a call; None: not known."""
        if op.after > self.processes.endings.get(pid, FOREVER):
            return None
        said = at(self.processes.stretches(pid), op.before, op.after)
        if not self.cast.armed:
            known = said is not None and said.state != "unknown"
            return said if known and not (self.cast.beside and said.state == "on") else None
        if 0 not in self.runs or self.cast.beside or said is None or said.state == "paused":
            return None
        return at(sorted(self.runs[0].windows.get(pid, [])), op.before, op.after)

    def check(self) -> list[str]:
        possible: collections.Counter = collections.Counter()  # everywhere
        inside: dict[int, collections.Counter] = collections.defaultdict(collections.Counter)
        outside: collections.Counter = collections.Counter()
        pids = {}
        for journal in self.journals:
            for op in journal.ops:
                if op.kind >= BEGIN:
                    continue
                key = (op.kind, journal.pid if op.kind == STEP else journal.slot, op.number)
                pids[key] = journal.pid
                possible[key] += 1
                where = self.where(journal.pid, op)
                if where is not None and where.state == "on":
                    inside[where.run][key] += 1
                elif where is not None and where.state == "off":
                    outside[key] += 1
        self.invented(possible - outside)
        if foreign := sum(run.foreign for run in self.runs.values()):
            self.said.append(f"{foreign} calls of other interpreters are recorded")
        if self.cast.full and not self.cast.keep:
            for run, required in inside.items():
                self.missing(run, required, pids)
        return self.processes.said + self.said

    def invented(self, possible: collections.Counter) -> None:
        found: collections.Counter = collections.Counter()
        for run in self.runs.values():
            found.update(run.times)
        for key in found:  # an operation of a task that was suspended has parts
            if key[0] == OPERATION and key[1] in self.of_tasks:
                found[key] = min(found[key], possible[key])
        # The number of a step whose call did not return is not known.
        unknown = {key[1] for key in possible if key[0] == STEP and key[2] == -1}
        more = [key for key, times in found.items() if times > possible[key] and
                not (key[0] == STEP and key[1] in unknown)]
        if more:
            self.said.append(f"{len(more)} marks are found more often than they were made while "
                             f"recording: {_shown(more)}")

    def missing(self, run: int, required: collections.Counter, pids: dict) -> None:
        self.required += sum(required.values())
        if run not in self.runs:
            self.said.append(f"run {run} is missing, which has {sum(required.values())} marks")
            return
        found, lost = self.runs[run], collections.defaultdict(list)
        for key, times in required.items():
            lost[pids[key]] += [key] * (times - found.times[key])
        for pid, keys in lost.items():
            if len(keys) > found.lost[pid]:
                of = sum(times for key, times in required.items() if pids[key] == pid)
                self.said.append(f"run {run}: {len(keys)} of {of} marks of process {pid} are lost, "
                                 f"{found.lost[pid]} told: {_shown(keys)}")

    def closing(self) -> str:
        found = sum(sum(run.times.values()) for run in self.runs.values())
        told = sum(sum(run.lost.values()) for run in self.runs.values())
        return (f"= {found} events found, {self.required} required, {told} told as lost, "
                f"{len(self.runs)} runs, {len(self.journals)} threads")


def _shown(keys: list[tuple[int, int, int]]) -> str:
    words = [f"{WORDS[kind]} {number} of {'process' if kind == STEP else 'thread'} {whose}"
             for kind, whose, number in keys[:SHOWN]]
    return ", ".join(words) + (" and others" if len(keys) > SHOWN else "")
