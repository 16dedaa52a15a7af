"""Waits for a program of a seed, and sees who of it stands still: by the table of its folder in
which each thread counts what it does."""

from __future__ import annotations

import pathlib
import re
import shutil
import struct
import subprocess
import time

STANDS_STILL_S = 30
LONGEST_S = 300  # of a seed, whatever it does
SLOT = struct.Struct("iiIIQ24s16s")  # world.h, Progress


def text(field: bytes) -> str:
    return field.split(b"\0")[0].decode(errors="replace")


class Watch:
    """Who stands still: the counts of the shared table, and since when each has not changed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "progress"
        self.seen: dict[int, tuple[int, float]] = {}

    def still(self) -> list[str]:
        if not self.path.exists():
            return []
        now, said, pids = time.monotonic(), [], set()
        table = self.path.read_bytes()
        for at in range(SLOT.size, len(table) - SLOT.size + 1, SLOT.size):
            pid, tid, running, _, count, role, what = SLOT.unpack_from(table, at)
            if pid == 0:
                break
            if not running or not pathlib.Path(f"/proc/{pid}/task/{tid}").exists():
                continue
            before, since = self.seen.get(at, (None, now))
            if before != count:
                since = now
            self.seen[at] = (count, since)
            if now - since > STANDS_STILL_S:
                said.append(f"{text(role)} (thread {tid} of {pid}) stands still: {text(what)}")
                pids.update(family(pid))
        return said + [line for pid in sorted(pids) for line in stacks(pid)] if said else []


def family(pid: int) -> list[int]:
    """A process and its children, and theirs."""
    children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    below = [int(word) for path in children for word in path.read_text().split()]
    return [pid, *(one for child in below for one in family(child))]


def stacks(pid: int) -> list[str]:
    """A line for each thread of a process, innermost function first; by gdb where it is."""
    tasks = {int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
    if shutil.which("gdb") is None:
        return [f"  {task} of {pid}: {pathlib.Path(f'/proc/{task}/wchan').read_text()}"
                for task in tasks]
    gdb = subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all bt 16"],
                         capture_output=True, text=True, timeout=60, check=False)
    said, there = [], False
    # A forked child has its parent's list of threads.
    for line in gdb.stdout.splitlines():
        if thread := re.match(r'Thread .*LWP (\d+)\)(?: "(.*)")?', line):
            there = int(thread[1]) in tasks
            if there:
                said.append(f"  {thread[1]} of {pid} {thread[2] or ''}:")
        elif there and (frame := re.match(r"#\d+ +(?:0x\w+ in )?([\w:~<> ]+?) \(", line)):
            said[-1] += " " + frame[1].replace("crosscut::", "")
    return said


def followed(program: subprocess.Popen, folder: pathlib.Path) -> list[str]:
    """Waits for the program. Who stands still, and where."""
    watch, begin = Watch(folder), time.monotonic()
    while program.poll() is None:
        time.sleep(0.05)
        if said := watch.still():
            return said
        if time.monotonic() - begin > LONGEST_S:
            return [f"it has run for {LONGEST_S} s", *stacks(program.pid)]
    return []
