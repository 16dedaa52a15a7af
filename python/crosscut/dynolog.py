"""Lets `dyno gputrace` begin windows: answers for the processes of a run, from outside of them.

    KINETO_USE_DAEMON=1 crosscut record --dormant -o RUN -- torchrun train.py
    python -m crosscut.dynolog RUN    # the same by hand, where the variable is not set

What Kineto does inside of a process with KINETO_USE_DAEMON set, this does beside it: it registers
each process that waits for a window with the daemon of its machine (a datagram socket of the name
"dynolog"), asks once a second what the daemon wants, carries that out by `crosscut start`, and
exports the run to the file that was asked for. Of a process that records already it exports what
is recorded while the window lasts. The program has no socket and no thread for it. It runs until
the last of the processes has ended. docs/on-demand.md says what is understood.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid

from crosscut import _plugins, _record

_DAEMON = "dynolog"
_TYPE_BYTES = 32
_HEAD = struct.Struct(f"<Q{_TYPE_BYTES}s")   # bytes of the payload; its type
_CONTEXT = struct.Struct("<iiq")             # GPU, process, job
_REQUEST = struct.Struct("<iiq")             # kinds, number of processes, job; then these
_COUNT = struct.Struct("<i")
_CREDENTIALS = struct.Struct("3i")           # process, user, group
_ACTIVITIES = 2
_ANCESTORS = 10
_EVERY_SECONDS = 1.0
_ANSWER_SECONDS = 0.5
_LOOK_SECONDS = 0.1
_MOST_BYTES = 1 << 16
_LONGEST_SECONDS = 86_400.0
_MOST_STEPS = 10**9
_RECORDS = ("already recording", "records, but takes no requests")  # what `crosscut start` says


class BadRequest(Exception):
    """What a daemon asks for is not understood, or not allowed."""


def pack(kind: str, payload: bytes) -> bytes:
    """A message as dynolog's IPC fabric sends it."""
    return _HEAD.pack(len(payload), kind.encode()) + payload


def unpack(message: bytes) -> tuple[str, bytes]:
    """(type, payload) of a message; BadRequest where it is none."""
    if len(message) < _HEAD.size:
        raise BadRequest(f"a message of {len(message)} bytes")
    size, kind = _HEAD.unpack_from(message)
    payload = message[_HEAD.size:]
    if size != len(payload):
        raise BadRequest(f"a message that says {size} bytes and has {len(payload)}")
    return kind.split(b"\0", 1)[0].decode("ascii", "replace"), payload


def address(name: str) -> str | bytes:
    """Of a socket: abstract, with a NUL behind it, or a file of KINETO_IPC_SOCKET_DIR."""
    folder = os.environ.get("KINETO_IPC_SOCKET_DIR")
    return os.path.join(folder, name) if folder else b"\0" + name.encode() + b"\0"


class Window:
    """What one configuration asks for."""

    def __init__(self, text: str) -> None:
        """BadRequest where it is not to be carried out."""
        lines = [line.partition("=") for line in text.splitlines() if line.strip()]
        self._values = {key.strip(): value.strip() for key, _, value in lines}
        self.steps = self._number("ACTIVITIES_ITERATIONS", _MOST_STEPS)
        self.seconds = self._number("ACTIVITIES_DURATION_MSECS", int(_LONGEST_SECONDS * 1e3)) / 1e3
        self.seconds += self._number("ACTIVITIES_DURATION_SECS", int(_LONGEST_SECONDS))
        self.begins = self._number("PROFILE_START_TIME", 1 << 50) / 1e3  # of time.time()
        if bool(self.steps) == bool(self.seconds):
            raise BadRequest("neither a duration nor a number of iterations, or both")
        self.file = self._values.get("ACTIVITIES_LOG_FILE", "")
        if self.file:
            _check_file(self.file)

    def _number(self, key: str, most: int) -> int:
        text = self._values.get(key, "0") or "0"
        number = _whole(text)
        if number is None or number > most:
            raise BadRequest(f"{key}={text[:40]}")
        return number

    def file_of(self, pid: int) -> str:
        """Where the trace of a process goes, as Kineto calls it."""
        stem, extension = os.path.splitext(self.file)
        return f"{stem}_{pid}{extension or '.json'}"


def _check_file(path: str) -> None:
    """Whoever may talk to the daemon chooses the file: below /tmp, as with Kineto, unless
    KINETO_ONDEMAND_TRACE_DIR says otherwise."""
    root = os.path.realpath(os.environ.get("KINETO_ONDEMAND_TRACE_DIR") or "/tmp")
    parts = path.split("/")
    if (not path.startswith("/") or ".." in parts or not path.isprintable()
            or not os.path.realpath(os.path.dirname(path)).startswith(root.rstrip("/") + "/")
            and os.path.realpath(os.path.dirname(path)) != root):
        raise BadRequest(f"a file that is not below {root}: {path[:200]!r}")


class Fabric:
    """A socket that talks to the daemon of this machine. Not thread-safe."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._address = address(f"dynoconfigclient{uuid.uuid4()}")
        self._socket.bind(self._address)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(_ANSWER_SECONDS)
        if isinstance(self._address, str):
            os.chmod(self._address, 0o666)  # the daemon may be another user

    def close(self) -> None:
        self._socket.close()
        if isinstance(self._address, str):
            with contextlib.suppress(OSError):
                os.unlink(self._address)

    def ask(self, kind: str, payload: bytes) -> bytes | None:
        """The daemon's answer; None where it gives none. BadRequest where it is nonsense."""
        self._drop_late_answers()
        try:
            self._socket.sendto(pack(kind, payload), address(_DAEMON))
            return self._receive(kind)
        except OSError:
            return None  # no daemon, or a slow one

    def _receive(self, kind: str) -> bytes:
        message, control, flags, _ = self._socket.recvmsg(
            _MOST_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
        if flags & socket.MSG_TRUNC:
            raise BadRequest("a message that is too long")
        # Anybody may take an abstract name while no daemon runs.
        users = [_CREDENTIALS.unpack(data[:_CREDENTIALS.size])[1] for level, what, data in control
                 if (level, what) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
        if not users or users[0] not in (0, os.getuid()):
            raise BadRequest(f"a message of user {users[0] if users else '?'}, who is not trusted")
        told, answer = unpack(message)
        if told != kind:
            raise BadRequest(f"an answer of type {told!r} to {kind!r}")
        return answer

    def _drop_late_answers(self) -> None:
        self._socket.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(1)
        self._socket.settimeout(_ANSWER_SECONDS)


def _whole(text: str) -> int | None:
    """The number of 0 to 9 alone, at most nineteen of them; None for any other text."""
    return int(text) if re.fullmatch("[0-9]{1,19}", text) else None


def _job(pid: int) -> int:
    number = _whole(_environment(pid).get("SLURM_JOB_ID", ""))
    return number if number is not None and number < 1 << 63 else 0


def _environment(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").split("\0")
    except OSError:
        return {}
    return dict(line.partition("=")[::2] for line in lines if "=" in line)


def _stat(pid: int) -> list[bytes]:
    """The fields of its stat behind its name: its state, its parent and so on; [] of none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _with_ancestors(pid: int) -> list[int]:
    """The process and those above it, the nearest first: what `dyno gputrace --pids` may name."""
    found: list[int] = []
    while pid > 1 and len(found) < _ANCESTORS:
        found.append(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return found


def _lives(pid: int, seconds: float) -> bool:
    """Waits so long, at most until the process has ended. Whether it still lives."""
    until = time.monotonic() + seconds
    while _stat(pid)[:1] not in ([], [b"Z"]):
        left = until - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, _LOOK_SECONDS))
    return False


def _now() -> tuple[int, int]:
    """By the recorder's clock, which all processes of a machine have, and by CLOCK_MONOTONIC."""
    return _record.now(), time.monotonic_ns()


def _key_of(run: str, pid: int) -> str | None:
    """Of a process: its newest log's name."""
    logs = sorted(glob.glob(os.path.join(glob.escape(run), f"p{pid}-*.crosscut")),
                  key=os.path.getmtime)
    return os.path.basename(logs[-1]).removesuffix(".crosscut") if logs else None


def processes_of(run: str) -> list[int]:
    """Processes of this user that record into the run, or wait for that."""
    run = os.path.realpath(run)
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        pid = int(os.path.basename(folder))
        theirs = _environment(pid).get("CROSSCUT_RUN")
        if os.path.realpath(theirs) != run if theirs else _key_of(run, pid) is None:
            continue
        with contextlib.suppress(OSError):
            with open(f"{folder}/maps", "rb") as maps:
                if any(f"-{pid}-".encode() in line and b".ring" in line for line in maps):
                    found.append(pid)
    return found


class Answers:
    """What this does for the processes of one run."""

    def __init__(self, run: str, command: str) -> None:
        self._run, self._command = run, command
        self._fabric = Fabric()
        self._registered: set[int] = set()
        self._windows: dict[int, threading.Thread] = {}
        self._complaints: set[str] = set()
        self._exporting = threading.Lock()

    def close(self) -> None:
        for thread in self._windows.values():
            thread.join()
        self._fabric.close()

    def is_the_jobs_child(self) -> bool:
        """Whether a process of the run has adopted this one, and may wait for its end."""
        return os.getppid() in processes_of(self._run)

    def round(self) -> bool:
        """Asks for every process. False where there is none."""
        pids = processes_of(self._run)
        for pid in pids:
            try:
                self._ask(pid)
            except BadRequest as problem:
                self._complain(f"process {pid}: refused: {problem}")
        return bool(pids)

    def _ask(self, pid: int) -> None:
        job = _job(pid)
        if pid not in self._registered:
            answer = self._fabric.ask("ctxt", _CONTEXT.pack(0, pid, job))
            if answer is None:
                return
            if len(answer) != _COUNT.size:
                raise BadRequest(f"{len(answer)} bytes as a number of processes")
            self._registered.add(pid)
        pids = _with_ancestors(pid)
        text = self._fabric.ask("req", _REQUEST.pack(_ACTIVITIES, len(pids), job)
                                + struct.pack(f"<{len(pids)}i", *pids))
        if text is None or not text.strip(b"\0\n "):
            return
        try:
            window = Window(text.rstrip(b"\0").decode())
        except UnicodeDecodeError:
            raise BadRequest("a configuration that is no text") from None
        before = self._windows.get(pid)
        if before is not None and before.is_alive():
            raise BadRequest("a window is under way")
        self._windows[pid] = threading.Thread(target=self._carry_out, args=(pid, window))
        self._windows[pid].start()

    def _carry_out(self, pid: int, window: Window) -> None:
        if not _lives(pid, min(window.begins - time.time(), _LONGEST_SECONDS)):
            return _say(f"process {pid}: it ended before its window began")
        how = (["--steps", str(window.steps)] if window.steps
               else ["--seconds", f"{window.seconds:.3f}"])
        _say(f"process {pid}: a window of {how[1]} {how[0][2:]}, as dynolog asks")
        begin = _now()
        begun = self._call("start", str(pid), *how, unless=_RECORDS)
        if begun is None:
            self._cut(pid, window, begin)
        elif begun and window.file:
            with self._exporting:
                self._call("export", self._run, "--to=chrome", "-o", window.file_of(pid))

    def _cut(self, pid: int, window: Window, begin: tuple[int, int]) -> None:
        """Of a process that records already: what it records meanwhile."""
        if not window.seconds or not window.file:
            return _say(f"process {pid}: it records already, and can be asked for a file and a "
                        "duration alone")
        _lives(pid, window.seconds - (time.monotonic_ns() - begin[1]) / 1e9)
        (tick, ns), key = _now(), _key_of(self._run, pid)
        if key is None:
            return _say(f"process {pid}: it has no log in {self._run}")
        time.sleep(_plugins.HANDED_OVER_SECONDS)
        with self._exporting, tempfile.TemporaryDirectory(prefix="crosscut-dynolog-") as folder:
            part = os.path.join(folder, "run")
            from crosscut import _read

            try:
                _read.cut_run(self._run, key, [(begin[0], tick, begin[1], ns)], [], part)
            except (OSError, ValueError) as problem:
                return _say(f"process {pid}: {problem}")
            self._call("export", part, "--to=chrome", "-o", window.file_of(pid))

    def _call(self, *arguments: str, unless: tuple[str, ...] = ()) -> bool | None:
        """Whether the command did it, or all but what was not recorded; None where it says one of
        `unless`."""
        done = subprocess.run([self._command, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if any(words in done.stderr for words in unless):
            return None
        if done.returncode != 0:
            _say(f"crosscut {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
        return done.returncode in (0, 3)

    def _complain(self, words: str) -> None:
        if words not in self._complaints and len(self._complaints) < 100:
            self._complaints.add(words)
            _say(words)


def _say(words: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"crosscut: {words}", file=sys.stderr, flush=True)


def _is_the_only_one(run: str) -> bool:
    """Each process that begins a part of the run on this machine may start one."""
    try:
        file = os.open(os.path.join(run, f".dynolog-{socket.gethostname()}.lock"),
                       os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as long as this process lives
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def main(arguments: list[str]) -> int:
    """Answers for RUN until it has no process any more. 2: a wrong command line, 3: no process.
    "--beside" before RUN: a process of the run has started this, and shall not get it as a child.
    """
    beside = arguments[:1] == ["--beside"]
    arguments = arguments[beside:]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m crosscut.dynolog RUN", file=sys.stderr)
        return 2
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "crosscut")
    command = own if os.access(own, os.X_OK) else shutil.which("crosscut") or "crosscut"
    answers = Answers(arguments[0], command)
    try:
        if not _is_the_only_one(arguments[0]):
            return 0
        if not answers.round():
            _say(f"no process records into {arguments[0]}, or waits for that")
            return 3
        while answers.round():
            if beside and answers.is_the_jobs_child():
                _say("the job adopts orphans, and may wait for them: start python -m "
                     f"crosscut.dynolog {arguments[0]} outside of it")
                return 0
            time.sleep(_EVERY_SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        answers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
