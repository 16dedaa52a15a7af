"""What stays in /dev/shm when a run ends in some odd way: nothing; and what takes away the rest."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from own_shm import own_shm
from runs import CROSSCUT, PACKAGE, record_script, table

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a /dev/shm of its own")

SHARED = pathlib.Path("/dev/shm")
A_MINUTE = 60
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"}

# Marks `begun`, records "acknowledged" until `end` is there, then says how often.
COUNTS = """
import os, sys, time, crosscut
home, n = sys.argv[1], 0
while not os.path.exists(home + "/end"):
    with crosscut.operation("acknowledged"):
        n += 1
    if n == 100:
        open(home + "/begun", "w").close()
    if n % 100 == 0:
        time.sleep(0.001)
open(home + "/count", "w").write(str(n))
"""


@pytest.fixture(autouse=True)
def shared_memory():
    with own_shm() as made:
        if not made:
            pytest.skip("this machine gives no mount namespace")
        yield


def wait_for(what, why):
    end = time.monotonic() + A_MINUTE
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def nothing_is_left():
    wait_for(lambda: not list(SHARED.iterdir()), f"left: {list(SHARED.iterdir())}")


def remove(run):
    """Whoever reaps it may make a file in it meanwhile."""
    def gone():
        shutil.rmtree(run, ignore_errors=True)
        return not run.exists()
    wait_for(gone, "the run cannot be removed")


class Program:
    """COUNTS under `crosscut record`, or by itself."""

    def __init__(self, home, before=(), recorded=True, text=COUNTS):
        self.home, self.run = home, home / "run"
        (home / "counts.py").write_text(text)
        words = [*before, sys.executable, home / "counts.py", home]
        if recorded:
            words = [CROSSCUT, "record", "-o", self.run, "--", *words]
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        wait_for((home / "begun").exists, "the program does not begin")

    def command(self):
        """The pid of the program that is recorded."""
        wait_for(lambda: list(SHARED.glob("*.ring")), "there is no ring")
        return int(next(SHARED.glob("*.ring")).name.split("-")[2])

    def guard(self):
        """The pid of the process that outlives a killed record."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = path.read_text().rsplit(")", 1)
            except OSError:
                continue
            if name.endswith("(crosscut-guard") and int(rest.split()[1]) == self.process.pid:
                return int(path.parent.name)
        return None

    def end(self):
        """It looks for a file in a folder that goes with the test: a program that missed it would
        run for ever."""
        (self.home / "end").touch()
        wait_for((self.home / "count").exists, "the program does not end")

    def kill_record(self):
        wait_for(self.guard, "record has no guard")
        self.process.kill()
        self.process.wait()

    def kill_all(self):
        command = self.command()
        wait_for(self.guard, "record has no guard")
        for pid in (self.guard(), self.process.pid, command):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: has_ended(command), "the killed program does not end")


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def acknowledged(run):
    return sum(row["count"] for row in table(run, "operations")
               if row["operation"] == "acknowledged")


def doctor(*arguments):
    return subprocess.run([sys.executable, "-m", "crosscut", "doctor", *arguments],
                          env=ENVIRONMENT | {"XDG_CACHE_HOME": "/dev/null"}, capture_output=True,
                          text=True, timeout=2 * A_MINUTE)


# ---- Nothing stays ------------------------------------------------------------------------------

def test_the_run_is_removed_while_it_is_recorded(tmp_path):
    program = Program(tmp_path)
    remove(program.run)
    program.end()
    _, told = program.process.communicate(timeout=2 * A_MINUTE)
    assert program.process.returncode == 0
    assert "was removed in the meantime" in told
    nothing_is_left()


def test_the_run_is_removed_while_a_program_records_itself(tmp_path):
    text = f"import crosscut\ncrosscut.start({str(tmp_path / 'run')!r})\n" + COUNTS
    program = Program(tmp_path, recorded=False, text=text)
    remove(program.run)
    nothing_is_left()
    program.end()
    program.process.communicate(timeout=2 * A_MINUTE)
    assert program.process.returncode == 0
    nothing_is_left()


@pytest.mark.parametrize("end", ["pass", "os._exit(0)"])
def test_the_run_is_removed_just_before_a_program_ends_that_records_itself(tmp_path, end):
    text = f"""
import os, shutil, crosscut
crosscut.start({str(tmp_path / "run")!r})
with crosscut.operation("one"):
    pass
shutil.rmtree({str(tmp_path / "run")!r})
{end}
"""
    ran = subprocess.run([CROSSCUT, "record", "-o", tmp_path / "outer", "--python=off", "--", "env",
                          "-u", "CROSSCUT_RUN", sys.executable, "-c", text], env=ENVIRONMENT,
                         capture_output=True, text=True, timeout=2 * A_MINUTE)
    assert ran.returncode == 0, ran.stderr
    assert not list(SHARED.iterdir())


def test_the_run_is_moved_while_it_is_recorded(tmp_path):
    program = Program(tmp_path)
    program.run.rename(tmp_path / "elsewhere")
    program.end()
    _, told = program.process.communicate(timeout=2 * A_MINUTE)
    assert str(tmp_path / "elsewhere") in told
    nothing_is_left()
    assert acknowledged(tmp_path / "elsewhere") == int((tmp_path / "count").read_text())


def test_the_process_is_one_of_another_pid_namespace(tmp_path):
    program = Program(tmp_path, before=["unshare", "-pf"])
    assert list(SHARED.iterdir()), "the program has no ring"
    program.end()
    program.process.communicate(timeout=2 * A_MINUTE)
    nothing_is_left()
    assert acknowledged(program.run) == int((tmp_path / "count").read_text())


def test_a_living_process_of_another_pid_namespace_keeps_its_ring(tmp_path):
    program = Program(tmp_path, before=["unshare", "-pf"])
    before = acknowledged(program.run)  # which reaps what has ended
    assert doctor("--clean").returncode == 0
    assert list(SHARED.iterdir()), "the ring of a living process was removed"
    program.end()
    program.process.communicate(timeout=2 * A_MINUTE)
    assert before <= acknowledged(program.run) == int((tmp_path / "count").read_text())
    nothing_is_left()


# One call of the C library that makes the ring, in this process alone, is its last.
DIES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int dies(const char* call) {
  const char* at = secure_getenv("DIES_IN");
  return at != 0 && strcmp(at, call) == 0;
}
int ftruncate64(int fd, off64_t n) {
  static int (*real)(int, off64_t);
  if (real == 0) real = (int (*)(int, off64_t))dlsym(RTLD_NEXT, "ftruncate64");
  if (n > 65536 && dies("ftruncate")) raise(SIGKILL);
  return real(fd, n);
}
int ftruncate(int fd, off_t n) { return ftruncate64(fd, n); }
int linkat(int a, const char* from, int b, const char* to, int flags) {
  static int (*real)(int, const char*, int, const char*, int);
  if (real == 0) {
    real = (int (*)(int, const char*, int, const char*, int))dlsym(RTLD_NEXT, "linkat");
  }
  if (dies("linkat")) raise(SIGKILL);
  const int done = real(a, from, b, to, flags);
  if (dies("after linkat")) raise(SIGKILL);
  return done;
}
int madvise(void* at, size_t n, int advice) {
  static int (*real)(void*, size_t, int);
  if (real == 0) real = (int (*)(void*, size_t, int))dlsym(RTLD_NEXT, "madvise");
  if (advice == 23 && dies("madvise")) raise(SIGKILL);
  return real(at, n, advice);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("call", ["ftruncate", "linkat", "after linkat", "madvise"])
def test_the_process_is_killed_while_it_makes_its_ring(tmp_path, call):
    (tmp_path / "dies.c").write_text(DIES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "dies.so", tmp_path / "dies.c"],
                   check=True)
    ended = subprocess.run(
        [CROSSCUT, "record", "-o", tmp_path / "run", "--", sys.executable, "-c", "pass"],
        env={**ENVIRONMENT, "LD_PRELOAD": str(tmp_path / "dies.so"), "DIES_IN": call},
        capture_output=True, text=True, timeout=2 * A_MINUTE)
    assert ended.returncode == -signal.SIGKILL, ended
    nothing_is_left()


def test_children_end_by_underscore_exit(tmp_path):
    text = """
import os, crosscut
for child in range(4):
    if os.fork() == 0:
        with crosscut.operation("child"):
            pass
        os._exit(0)
for child in range(4):
    os.wait()
"""
    assert record_script(tmp_path / "run", text).returncode == 0
    nothing_is_left()
    counts = [row["count"] for row in table(tmp_path / "run", "operations")
              if row["operation"] == "child"]
    assert counts == [1] * 4


@pytest.mark.parametrize("killed_too", [False, True], ids=["it ends", "it is killed, too"])
def test_record_is_killed_and_the_program_goes_on(tmp_path, killed_too):
    program = Program(tmp_path)
    command = program.command()
    program.kill_record()
    time.sleep(0.2)
    assert list(SHARED.iterdir()), "the ring of a living process was removed"
    if killed_too:
        os.kill(command, signal.SIGKILL)
    else:
        program.end()
    nothing_is_left()
    if killed_too:
        assert acknowledged(program.run) >= 100
    else:
        assert acknowledged(program.run) == int((tmp_path / "count").read_text())


def test_record_is_killed_and_then_the_run_is_removed(tmp_path):
    program = Program(tmp_path)
    program.kill_record()
    remove(program.run)
    program.end()
    nothing_is_left()


def test_the_guard_holds_no_file_of_the_programs_and_ends_with_record(tmp_path):
    program = Program(tmp_path)
    wait_for(program.guard, "record has no guard")
    guard = program.guard()
    held = {os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")}
    assert {name for name in held if not name.startswith("pipe:")} == {
        "/dev/null", str(program.run)}
    assert len([name for name in held if name.startswith("pipe:")]) == 1
    program.end()
    program.process.communicate(timeout=2 * A_MINUTE)
    assert not pathlib.Path(f"/proc/{guard}").exists()


# ---- What else there is, `crosscut doctor` tells of and `--clean` removes -----------------------

def test_doctor_tells_of_what_sigkill_left_and_cleaning_loses_no_event(tmp_path):
    program = Program(tmp_path)
    program.kill_all()
    wait_for(lambda: "ended processes left 1 ring" in doctor().stdout, doctor().stdout)
    assert list(SHARED.iterdir()), "doctor alone removes nothing"
    cleaned = doctor("--clean")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert "emptied: 1 ring, " in cleaned.stdout and "removed: 0 rings, 0.0 MiB" in cleaned.stdout
    assert not list(SHARED.iterdir())
    assert acknowledged(program.run) >= 100
    assert "ended processes left" not in doctor().stdout


def test_cleaning_removes_rings_whose_run_is_gone_and_counts_them(tmp_path):
    program = Program(tmp_path)
    program.kill_all()
    remove(program.run)
    blocks = sum(os.stat(path).st_blocks for path in SHARED.iterdir())
    cleaned = doctor("--clean")
    assert cleaned.returncode == 0, cleaned.stdout
    assert f"removed: 1 ring, {blocks * 512 / (1 << 20):.1f} MiB" in cleaned.stdout
    assert not list(SHARED.iterdir())


def test_cleaning_leaves_what_lives_what_is_being_made_and_what_is_others(tmp_path):
    program = Program(tmp_path)
    living, = SHARED.iterdir()
    others = SHARED / "crosscut-0-4194303-1.ring"
    others.write_bytes(living.read_bytes()[:131072])
    os.chown(others, 65534, 65534)
    fresh = SHARED / "crosscut-0-4194303-2.ring"
    fresh.write_bytes(bytes(131072))  # no header yet
    assert "ended processes left" not in doctor().stdout
    cleaned = doctor("--clean")
    assert cleaned.returncode == 0, cleaned.stdout
    assert "kept: 2 rings" in cleaned.stdout, cleaned.stdout
    assert set(SHARED.iterdir()) == {living, others, fresh}
    program.end()
    program.process.communicate(timeout=2 * A_MINUTE)
    assert not living.exists()
    assert acknowledged(program.run) == int((tmp_path / "count").read_text())


def test_cleaning_removes_a_ring_that_never_had_a_header(tmp_path):
    ring = SHARED / "crosscut-0-4194303-3.ring"
    ring.write_bytes(bytes(131072))
    assert doctor("--clean").returncode == 0
    assert ring.exists(), "it may be about to get one"
    os.utime(ring, (time.time() - 120,) * 2)
    assert doctor("--clean").returncode == 0
    assert not ring.exists()


def test_cleaning_removes_a_ring_whose_pid_another_process_has_now(tmp_path):
    """The pid alone tells nothing: the ring of a dead process whose pid is taken goes."""
    program = Program(tmp_path)
    ring, = SHARED.iterdir()
    program.kill_all()
    data = bytearray(ring.read_bytes())
    data[32:40] = os.getpid().to_bytes(8, "little")  # a pid that lives, with another start
    moved = SHARED / f"crosscut-0-{os.getpid()}-{ring.name.split('-')[3]}"
    ring.unlink()
    moved.write_bytes(data)
    moved.chmod(0o600)
    assert doctor("--clean").returncode == 0
    assert not list(SHARED.iterdir())
