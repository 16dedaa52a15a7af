"""The interpreter's own functions that wait or do I/O, recorded by default, on every Python."""

import json
import pathlib
import sys

import crosscut
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pycalls"))
from pycalls_support import INTERPRETERS, SERVED  # noqa: E402

PAUSE = 0.06  # seconds
PROGRAM = f"""
import fcntl, io, json, os, select, socket, ssl, subprocess, sys, tempfile, threading, time

waits = {{}}  # seconds, by the program's own clock

def timed(name, call, *arguments):
    begin = time.perf_counter()
    result = call(*arguments)
    waits[name] = waits.get(name, 0) + time.perf_counter() - begin
    return result

def feeder(count):
    child = f"import time\\nfor _ in range({{count}}): time.sleep({PAUSE}); print(1, flush=True)"
    return subprocess.Popen([sys.executable, "-S", "-c", child], stdout=subprocess.PIPE, env={{}})

with feeder(3) as lines:          # binary lines
    assert timed("io.FileIO.readinto", list, lines.stdout) == [b"1\\n"] * 3
with feeder(3) as text:           # text
    assert timed("io.FileIO.readall", io.TextIOWrapper(text.stdout).read) == "1\\n" * 3
with feeder(2) as raw:            # unbuffered
    file = io.FileIO(raw.stdout.fileno(), closefd=False)
    assert timed("io.FileIO.readall", file.readall) == b"1\\n" * 2

class Renamed(io.FileIO):
    def fileno(self):
        raise AssertionError("a program's own code does not run for us")

with tempfile.NamedTemporaryFile() as file:
    file.write(b"x" * 100000)
    file.flush()
    with open(file.name, "rb", buffering=0) as raw:
        assert len(raw.read(1000)) == 1000
    assert len(Renamed(file.name).read(1000)) == 1000
    closed = io.FileIO(file.name)
    closed.close()
    try:
        closed.read(1)
    except ValueError as error:
        assert "closed" in str(error)

timed("time.sleep", time.sleep, {PAUSE})
here, there = socket.socketpair()
threading.Timer({PAUSE}, there.send, [b"y"]).start()
assert timed("socket.recv", here.recv, 1) == b"y"
threading.Timer({PAUSE}, there.send, [b"y"]).start()
timed("select.select", select.select, [here], [], [])

timed("os.system", os.system, "sleep {PAUSE}")
with tempfile.NamedTemporaryFile() as mine, open(mine.name) as theirs:
    fcntl.flock(mine, fcntl.LOCK_EX)
    threading.Timer({PAUSE}, fcntl.flock, [mine, fcntl.LOCK_UN]).start()
    timed("fcntl.flock", fcntl.flock, theirs, fcntl.LOCK_EX)
tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
try:
    tls.do_handshake()
except ssl.SSLWantReadError:
    pass
print(json.dumps(waits))
"""


@pytest.mark.parametrize("version", SERVED)
def test_waiting_is_idle_and_files_are_native(recorder, version):
    script = recorder.script("program.py", PROGRAM)
    done = recorder.record(INTERPRETERS[version][0], script, flags=("--plan=full",))
    assert done.returncode == 0, done.stderr
    run = crosscut.read(recorder.run_dir)
    rows = {(row["layer"], row["name"]): row for row in run.table("functions").rows()}
    # What waits is all of the program's own figure: no more, and no less but for a call's way.
    waits = json.loads(done.stdout)
    assert set(waits) == {"io.FileIO.readinto", "io.FileIO.readall", "time.sleep", "os.system",
                          "socket.recv", "select.select", "fcntl.flock"}
    for name, seconds in waits.items():
        told = rows["idle", name]
        ns = told["total_ns"] if name.startswith("io.") else told["max_ns"]
        assert 0.9e9 * seconds < ns <= 1e9 * seconds, name
    assert ("idle", "ssl.SSLSocket.do_handshake") in rows
    assert ("native", "io.FileIO.read") in rows and ("idle", "io.FileIO.read") not in rows
    assert ("native", "io.BufferedRandom.flush") in rows
