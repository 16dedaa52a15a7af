"""Programs under limits of resources: recorded or not, they end as without us."""

import os
import random
import resource
import subprocess
import sys

import pytest
from runs import CROSSCUT, PACKAGE

MIB = 1 << 20
SEED = int(os.environ.get("CROSSCUT_TEST_SEED", "1"))

# Tells whether it gets a thread, a file and 64 MiB.
TAKES = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void* none(void* at) { return at; }
int main(void) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, none, NULL);
  if (error == 0) pthread_join(thread, NULL);
  printf("%d %d %d\n", error, fopen("/dev/null", "r") != NULL, malloc(64 << 20) != NULL);
  return 7;
}
"""
LOCKS = r"""
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  int error = mlockall(MCL_CURRENT | MCL_FUTURE);
  void* more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %d\n", error, more != MAP_FAILED);
  return 8;
}
"""
PYTHON = """
import sys, threading
def take():
    print("took")
try:
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
except Exception as error:
    print(repr(error))
sys.exit(4)
"""

# What was seen to end otherwise, or to lack what we had taken.
SEEN = [("NOFILE", 4, "takes"), ("NOFILE", 5, "shell"), ("NOFILE", 6, "python"),
        ("AS", 24 * MIB, "takes"), ("AS", 80 * MIB, "python"), ("AS", 160 * MIB, "shell"),
        ("DATA", 16 * MIB, "takes"), ("DATA", 24 * MIB, "python"),
        ("NPROC", 0, "takes"), ("NPROC", 1, "takes"), ("NPROC", 2, "shell"),
        ("MEMLOCK", 8 * MIB, "locks"), ("MEMLOCK", 0, "locks")]


WORDS = {"NOFILE": "open files (ulimit -n)", "AS": "memory (ulimit -v)", "DATA": "data (ulimit -d)",
         "NPROC": "processes (ulimit -u)"}


def drawn(count):
    choose = random.Random(SEED)
    ranges = {"NOFILE": (4, 64), "AS": (20 * MIB, 1500 * MIB), "DATA": (8 * MIB, 600 * MIB),
              "NPROC": (0, 40), "MEMLOCK": (0, 16 * MIB), "STACK": (128 << 10, 16 * MIB)}
    for _ in range(count):
        name = choose.choice(sorted(ranges))
        kinds = ["takes", "shell", "locks"] + ["python"] * (name not in ("NPROC", "MEMLOCK"))
        yield name, choose.randint(*ranges[name]), choose.choice(kinds)


def let_others_in(folder):
    """Another user runs what is there, and makes its run there."""
    for one in (folder, *folder.parents):
        if one.stat().st_uid == os.geteuid() and one.as_posix().startswith("/tmp/"):
            one.chmod(0o755)
    folder.chmod(0o777)


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    for name, text in (("takes", TAKES), ("locks", LOCKS)):
        subprocess.run(["cc", "-xc", "-O1", "-pthread", "-", "-o", folder / name], input=text,
                       text=True, check=True)
    let_others_in(folder)
    found = {path.name: [str(path)] for path in folder.iterdir()}
    return {**found, "shell": ["sh", "-c", f"{found['takes'][0]}; echo $?; exit 6"],
            "python": [sys.executable, "-S", "-c", PYTHON]}


def run(command, name, limit):
    other_user = name in ("NPROC", "MEMLOCK")  # which do not hold for root

    def enter():
        which = getattr(resource, f"RLIMIT_{name}")
        most = resource.getrlimit(which)[1]
        least = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(which, (least, least))
        if other_user and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)

    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run(command, preexec_fn=enter, capture_output=True, text=True, env=env,
                          timeout=120, cwd="/")


@pytest.mark.parametrize("name, limit, kind", [*SEEN, *drawn(24)])
def test_a_limited_program_ends_as_without_us(commands, tmp_path, name, limit, kind):
    let_others_in(tmp_path)
    plain = run(commands[kind], name, limit)
    done = run([CROSSCUT, "record", "-o", tmp_path / "run", "--", *commands[kind]], name, limit)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    lines = done.stderr.splitlines()
    ours = [line for line in lines if line.startswith("crosscut:")]
    assert [line for line in lines if line not in ours] == plain.stderr.splitlines()
    refused = [f"crosscut: nothing is recorded: the limit of {WORDS.get(name)} leaves no room for "
               "it"]
    locked = ["crosscut: a process is not recorded: locks locks its memory (mlockall) under a "
              "limit (ulimit -l) that ours would count against",
              "crosscut: nothing was recorded: Crosscut got into none of the command's processes "
              f"(run directory {tmp_path}/run)"]
    recorded = [f"crosscut: 1 process recorded in {tmp_path}/run; next: crosscut report "
                f"{tmp_path}/run"]
    if (name, limit, kind) in SEEN and name != "MEMLOCK":
        assert ours == refused
    else:
        assert ours in ([refused] * (name in WORDS) + [locked] * (name == "MEMLOCK") + [recorded])


@pytest.mark.parametrize("limit", ["-n 20", "-v 300000", "-d 100000"])
def test_a_child_that_is_limited_ends_as_without_us_and_is_told(commands, tmp_path, limit):
    import shlex

    command = ["sh", "-c", f"ulimit {limit}; {shlex.join(commands['python'])}; echo $?"]
    command[2] = command[2].replace(" -S ", " ")  # Python starts as it does
    plain = run(command, "NOFILE", 1000)
    done = run([CROSSCUT, "record", "-o", tmp_path / "run", "--", *command], "NOFILE", 1000)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    assert "leaves no room for a recording" in done.stderr
