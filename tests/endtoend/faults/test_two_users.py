"""Two users on one machine: what nobody (uid 65534) puts where root's rings are is not read,
drained or obeyed, refuses root nothing and ends nothing of root's; and the other way round."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import pathlib
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import pytest

from own_shm import own_shm
from runs import CROSSCUT, PACKAGE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")

NOBODY = 65534
SHARED = pathlib.Path("/dev/shm")
A_MINUTE = 60

STEPS = """
import os, sys, time, crosscut
end = sys.argv[1]
open(end + ".begun", "w").close()
while not os.path.exists(end):
    crosscut.step()
    time.sleep(0.002)
"""

# Offsets in a ring's header: docs/format.md, "The ring file".
HEADER, CHUNK, REQUEST, CONTROL = 65536, 65536, 188, 840
F_OFD_SETLK = 37


class Ring:
    """A ring as an attacker makes it up: it names root's run, and root's process where asked."""

    def __init__(self, facts, chunks=1):
        self.bytes = bytearray(HEADER + chunks * CHUNK)
        self.put(0, "QIIQQ", 0x31474E5254554343, 1, HEADER, chunks, facts["nonce"])
        self.put(32, "qQQQ", facts["pid"], facts["start"], facts["namespace"], 0)
        self.put(64, "QQ", facts["device"], facts["inode"])
        self.put(80, "IIQQqq", 2, 32, 1 << 32, 0, 0, time.time_ns() + 10**12)
        self.put(120, "II", facts["state"], 2)
        self.put(144, "QQ", chunks + 1, 1)
        self.put(200, "40s", facts["log"].encode())
        words = [1 << 8 | 3, 1000, 0, 0, 0, 0, 0, 0]  # a full chunk of the session stream
        text = b"injected by nobody\0\0\0\0\0\0"
        words += [1001 << 16 | 0x20, 0x100, 7 << 8, 18, *struct.unpack("<3Q", text)]
        words += [1002 << 16 | 0x25, 2]
        self.put(HEADER, f"{len(words)}Q", *words)

    def put(self, offset, form, *values):
        struct.pack_into("<" + form, self.bytes, offset, *values)

    def armed(self, steps):
        self.put(CONTROL + 32, "II", 1, 1)
        self.put(CONTROL + 40, "Q", steps)
        return self


def ring(facts, **changes):
    return Ring({**facts, **changes})


def name_of(facts, uid=0, **changes):
    facts = {**facts, **changes}
    return f"crosscut-{uid}-{facts['pid']}-{facts['nonce']:x}.ring"


def write(name, ring, mode=0o600):
    fd = os.open(SHARED / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    os.fchmod(fd, mode)
    os.write(fd, ring.bytes)
    return fd


# ---- What nobody does, as nobody. Each way is called with what root's run tells of itself (the
# ---- worst case: the attacker knows all of it) and leaves its files in /dev/shm.

def dead_process(f):
    write(name_of(f), ring(f), 0o644)


def own_name(f):
    write(name_of(f, NOBODY), ring(f))


def world_writable(f):
    write(name_of(f), ring(f), 0o666)


def same_nonce(f):
    write(name_of(f, nonce=f["victim"]["nonce"]), ring(f, nonce=f["victim"]["nonce"]), 0o644)


def same_log(f):
    write(name_of(f), ring(f, log=f["victim"]["log"]), 0o644)


def same_process(f):
    write(name_of(f, pid=f["victim"]["pid"]),
          ring(f, pid=f["victim"]["pid"], start=f["victim"]["start"],
               namespace=f["victim"]["namespace"]).armed(10**15), 0o666)


def living(f):
    stat = pathlib.Path("/proc/self/stat").read_text()
    self = {"pid": os.getpid(), "start": int(stat[stat.rindex(")") + 2:].split()[19]),
            "namespace": os.stat("/proc/self/ns/pid").st_ino}
    fd = write(name_of(f, **self), ring(f, **self, state=1).armed(10**15), 0o666)
    return mmap.mmap(fd, HEADER)


def cut_to_nothing(f):
    living(f)
    for path in SHARED.glob(f"crosscut-0-{os.getpid()}-*.ring"):
        os.truncate(path, 0)


def cut_to_header(f):
    os.truncate(write(name_of(f), ring(f), 0o644), HEADER)


def growing_and_shrinking(f):
    fd = write(name_of(f), ring(f), 0o644)
    if os.fork() == 0:
        while os.path.exists(SHARED / name_of(f)):
            os.ftruncate(fd, 0)
            os.pwrite(fd, ring(f).bytes, 0)
        os._exit(0)


def link_to_own(f):
    write("nobody-" + name_of(f), ring(f), 0o644)
    os.symlink(SHARED / ("nobody-" + name_of(f)), SHARED / name_of(f))


def link_to_victim(f):
    os.symlink(f["victim"]["path"], SHARED / name_of(f))


def pipe(f):
    os.mkfifo(SHARED / name_of(f), 0o666)


def folder(f):
    os.mkdir(SHARED / name_of(f), 0o777)


def a_socket(f):
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(SHARED / name_of(f)))
    return unix


def enormous(f):
    fd = write(name_of(f), ring(f), 0o644)
    os.ftruncate(fd, 1 << 40)
    os.pwrite(fd, struct.pack("<Q", 1 << 20), 16)


def impossible_count(f):
    made = ring(f)
    made.put(16, "Q", 1 << 60)
    write(name_of(f), made, 0o644)


def thousands(f):
    for nonce in range(1, 2001):
        fd = write(name_of(f, nonce=nonce), ring(f, nonce=nonce), 0o644)
        os.ftruncate(fd, HEADER)
        os.close(fd)


def finished(f):
    write(name_of(f), ring(f, state=5), 0o644)


def locked(f):
    fd = write(name_of(f), ring(f).armed(1), 0o666)
    fcntl.flock(fd, fcntl.LOCK_EX)
    fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
    return fd


def odd_name(f):
    write(b"crosscut-0-\n\xff-1.ring".decode("utf-8", "surrogateescape"), ring(f), 0o644)


def empty(f):
    os.close(os.open(SHARED / name_of(f), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))


WAYS = [dead_process, own_name, world_writable, same_nonce, same_log, same_process, living,
        cut_to_nothing, cut_to_header, growing_and_shrinking, link_to_own, link_to_victim, pipe,
        folder, a_socket, enormous, impossible_count, thousands, finished, locked, odd_name, empty]


@contextlib.contextmanager
def nobody_does(way, *arguments):
    """Runs `way` in a process of nobody's, which lives until the block ends."""
    done, end = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(end[1])
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            kept = way(*arguments)
            os.write(done[1], b"1")
            os.read(end[0], 1)
            del kept
        finally:
            os._exit(0)
    os.close(done[1])
    try:
        assert os.read(done[0], 1) == b"1", "the attacker's own program failed"
        yield child
    finally:
        for fd in (end[1], end[0], done[0]):
            os.close(fd)
        os.waitpid(child, 0)


def root(*arguments, **options):
    return subprocess.run([CROSSCUT, *map(str, arguments)], capture_output=True, text=True,
                          timeout=A_MINUTE * 2, **options)


def of_nobody():
    """What in /dev/shm is nobody's: name -> what tells whether it was changed."""
    found = {}
    for entry in os.scandir(SHARED):
        facts = entry.stat(follow_symlinks=False)
        if facts.st_uid == NOBODY:
            found[entry.name] = (facts.st_ino, facts.st_mode)
    return found


def remove(names):
    for name in names:
        path = SHARED / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


class Opened:
    """Counts who opens or reads files in /dev/shm, by inotify."""

    IN_ACCESS, IN_OPEN = 0x1, 0x20

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self.fd, os.fsencode(SHARED),
                                      self.IN_ACCESS | self.IN_OPEN) > 0

    def names(self):
        found = set()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.fd, 1 << 20):
                at = 0
                while at < len(data):
                    length = struct.unpack_from("<I", data, at + 12)[0]
                    found.add(os.fsdecode(data[at + 16:at + 16 + length].rstrip(b"\0")))
                    at += 16 + length
        return found

    def close(self):
        os.close(self.fd)


@pytest.fixture(scope="module")
def shared_memory():
    with own_shm() as made:
        if not made:
            pytest.skip("this machine gives no mount namespace")
        yield


@pytest.fixture(scope="module")
def victim(shared_memory, tmp_path_factory):
    """Root's armed program and what an attacker would like to know of it."""
    home = tmp_path_factory.mktemp("victim")
    script = home / "steps.py"
    script.write_text(STEPS)
    process = subprocess.Popen(
        [CROSSCUT, "record", "--dormant", "-o", home / "run", "--", sys.executable, script,
         home / "end"], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + A_MINUTE
    while not (home / "end.begun").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    folder = os.stat(home / "run")
    path, = SHARED.glob("crosscut-*.ring")
    head = path.read_bytes()[:4096]
    pid, start, namespace = struct.unpack_from("<qQQ", head, 32)
    facts = {"device": folder.st_dev, "inode": folder.st_ino, "pid": 4194303, "start": 1,
             "namespace": 0, "nonce": 0x1234567, "state": 4, "log": "evil.crosscut",
             "victim": {"path": str(path), "pid": pid, "start": start, "namespace": namespace,
                        "nonce": struct.unpack_from("<Q", head, 24)[0],
                        "log": head[200:456].split(b"\0")[0].decode()}}
    yield home, facts
    (home / "end").touch()
    out, err = process.communicate(timeout=A_MINUTE)
    assert process.returncode == 0, err
    assert not path.exists(), "the ring of a run that has ended stays"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_nobody_makes_up_is_neither_read_nor_obeyed_nor_removed(victim, way):
    home, facts = victim
    facts = {**facts, "nonce": secrets.randbits(60) | 1}
    before = of_nobody()
    with nobody_does(way, facts):
        made = {name: told for name, told in of_nobody().items() if name not in before}
        try:
            watch = Opened()
            started = root("start", home / "run", "--steps", "3", "--timeout", "30")
            assert started.returncode == 0, started.stdout + started.stderr
            processes = root("table", home / "run", "processes", "--format=csv")
            assert processes.returncode in (0, 3), processes.stderr
            assert len(processes.stdout.splitlines()) == 2, processes.stdout
            assert "injected" not in root("table", home / "run", "functions").stdout
            assert "cannot be trusted" not in root("report", home / "run").stdout
            if way is not growing_and_shrinking:  # which opens its own
                assert not watch.names() & set(made)
            watch.close()
            recorded = root("record", "-o", home / way.__name__, "--", "true")
            assert recorded.returncode == 0, recorded.stderr
            assert made and made.items() <= of_nobody().items(), "something was removed"
        finally:
            remove(made)


def test_a_ring_that_is_cut_while_root_asks_ends_nothing_of_roots(victim, tmp_path):
    """Nobody's own program, which root may ask: its ring is gone in the middle of it."""
    home, facts = victim
    def program():
        kept = living({**facts, "nonce": secrets.randbits(60) | 1})
        if os.fork() == 0:
            while kept[REQUEST:REQUEST + 4] == b"\0\0\0\0":
                time.sleep(0.001)
            for path in SHARED.glob(f"crosscut-0-{os.getppid()}-*.ring"):
                os.truncate(path, 0)
            os._exit(0)
        return kept
    before = of_nobody()
    with nobody_does(program) as pid:
        made = set(of_nobody()) - set(before)
        try:
            for name in made:
                os.chmod(SHARED / name, 0o600)  # such as a ring of his own would be
            asked = root("start", pid, "--steps", "5", "--timeout", "10")
            assert asked.returncode == 1, (asked.returncode, asked.stderr)
            assert "did not follow the request: it has ended in the meantime" in asked.stdout
        finally:
            remove(made)


def test_a_process_that_shows_anothers_ring_gets_it_no_requests(victim):
    home, facts = victim
    where = facts["victim"]["path"]
    script = ("mount -t tmpfs none /dev/shm && head -c 200000 /dev/zero > {0} && exec "
              "{1} -c 'import mmap, sys; f = open(sys.argv[1], \"r+b\"); "
              "m = mmap.mmap(f.fileno(), 0); print(1, flush=True); sys.stdin.read()' {0}")
    shower = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script.format(where, sys.executable)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert shower.stdout.readline() == "1\n"
        asked = root("start", shower.pid, "--steps", "5", "--timeout", "10")
        assert asked.returncode != 0
        assert "has mapped the ring of another process" in asked.stderr
    finally:
        shower.stdin.close()
        shower.wait()


def test_nobody_neither_reads_nor_asks_nor_cleans_what_is_roots(victim):
    home, facts = victim
    binary = shutil.copy(CROSSCUT, "/tmp/crosscut-for-nobody")
    try:
        for arguments in (["start", str(facts["victim"]["pid"]), "--steps", "3"],
                          ["start", str(home / "run"), "--steps", "3"],
                          ["table", str(home / "run"), "processes"]):
            asked = subprocess.run([binary, *arguments], user=NOBODY, group=NOBODY,
                                   extra_groups=[], cwd="/", capture_output=True, text=True,
                                   timeout=A_MINUTE)
            assert asked.returncode in (2, 3), (arguments, asked.stdout, asked.stderr)
        assert pathlib.Path(facts["victim"]["path"]).exists()
    finally:
        os.unlink(binary)


# ---- A folder above the run that is nobody's ----------------------------------------------------

# Everything that makes files in the run directory, once `go` is there.
MAKES_FILES = """
import os, subprocess, sys, time
import crosscut
from crosscut import _forks
home = sys.argv[1]
open(home + "/begun", "w").close()
while not os.path.exists(home + "/go"):
    time.sleep(0.01)
subprocess.run([sys.executable, "-c", "pass"])
subprocess.run([home + "/other-users-program"])
if os.fork() == 0:
    with crosscut.operation("child"):
        pass
    os._exit(0)
os.wait()
_forks.leave_note("a word")
assert crosscut.snapshot() or crosscut.error()
"""


@pytest.fixture
def open_home():
    home = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    home.chmod(0o755)
    (home / "nobodys").mkdir()
    (home / "roots").mkdir(mode=0o700)
    os.chown(home / "nobodys", NOBODY, NOBODY)
    yield home
    shutil.rmtree(home)


def test_nothing_is_written_through_a_link_that_takes_the_runs_place(shared_memory, open_home):
    program = shutil.copy("/bin/true", open_home / "other-users-program")
    os.chown(program, 12345, 12345)
    os.chmod(program, 0o4755)  # no library can be loaded before it, of which a note is left
    run, elsewhere = open_home / "nobodys" / "run", open_home / "nobodys" / "elsewhere"
    process = subprocess.Popen(
        [CROSSCUT, "record", "-o", run, "--", sys.executable, "-c", MAKES_FILES, open_home],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)}, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + A_MINUTE
    while not (open_home / "begun").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)

    def swap():
        os.rename(run, elsewhere)
        os.symlink(open_home / "roots", run)
    with nobody_does(swap):
        (open_home / "go").touch()
        _, told = process.communicate(timeout=2 * A_MINUTE)
    assert process.returncode == 0, told
    assert os.listdir(open_home / "roots") == []
    assert "was moved while it was recorded" in told
    assert len(list(elsewhere.glob("*.crosscut"))) == 1
    assert "was moved while it was recorded" in root("report", elsewhere).stdout


def test_a_link_of_nobodys_is_no_place_for_a_run(open_home):
    run = open_home / "nobodys" / "run"
    with nobody_does(os.symlink, open_home / "roots", run):
        refused = root("record", "-o", run, "--", "true")
    assert refused.returncode == 2 and "is not a folder" in refused.stderr, refused
    assert os.listdir(open_home / "roots") == []
