"""Programs that record where recording is awkward: under the loader's lock, inside an allocator,
beside a storm of changes to the environment, without /proc, on a read-only root."""

import csv
import io
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from runs import CROSSCUT, PACKAGE, crosscut, table

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

TWO_MINUTES = 120
LIBRARY = PACKAGE / "crosscut" / "lib"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "CROSSCUT_PLAN": "full"}


def build(target, text, *flags):
    source = target.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["cc", "-O1", "-g", "-D_GNU_SOURCE", "-o", target, source,
                    f"-I{PACKAGE / 'crosscut' / 'include'}", *flags,
                    LIBRARY / "libcrosscut.so.1", f"-Wl,-rpath,{LIBRARY}", "-ldl", "-lpthread"],
                   check=True)
    return target


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=TWO_MINUTES, env={**ENVIRONMENT, **options.pop("env", {})},
                          **options)


def counted(folder, name):
    """How many spans of that name the run has, and how many events it says were dropped."""
    rows = {row["name"]: row["count"] for row in table(folder, "functions")}
    drops = csv.DictReader(io.StringIO(crosscut("table", folder, "drops", "--format=csv")))
    return rows.get(name, 0), sum(int(row["count"]) for row in drops)


SESSION = """
#include <crosscut/crosscut.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static uint32_t named(const char* text) {
  return crosscut_intern(text, strlen(text), CROSSCUT_SPAN, CROSSCUT_NATIVE, 0, 0);
}
static int begin(const char* folder) {
  crosscut_options options = {0};
  options.struct_size = sizeof options;
  options.run_dir = folder;
  return crosscut_start(&options);
}
"""

# A library whose constructor and destructor record. Its name is taken by whoever opens it first.
VISITOR = SESSION + """
static uint32_t name;
__attribute__((constructor)) static void opened(void) {
  name = named("constructor");
  crosscut_begin(name);
  crosscut_end();
}
__attribute__((destructor)) static void closed(void) {
  crosscut_begin(named("destructor"));
  crosscut_end();
}
"""

# Four threads open and close it, and walk the loaded objects, recording inside the walk: both hold
# a lock of the loader's. A fifth starts and stops sessions.
LOADER = SESSION + """
enum { kThreads = 4, kRounds = 500 };
static const char* visitor[kThreads];
static uint32_t walked;
static int objects[kThreads];
static int each(struct dl_phdr_info* info, size_t bytes, void* count) {
  (void)info; (void)bytes;
  crosscut_begin(walked);
  crosscut_end();
  ++*(int*)count;
  return 0;
}
static void* work(void* at) {
  const long i = (long)at;
  for (int round = 0; round < kRounds; ++round) {
    void* library = dlopen(visitor[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { fprintf(stderr, "%s\\n", dlerror()); exit(3); }
    dl_iterate_phdr(each, &objects[i]);
    dlclose(library);
  }
  return NULL;
}
int main(int argc, char** argv) {
  if (begin(argv[1]) != 0) { fprintf(stderr, "%s\\n", crosscut_error()); return 2; }
  walked = named("walk");
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) {
    visitor[i] = argv[2 + i];
    pthread_create(&threads[i], NULL, work, (void*)i);
  }
  long walks = 0;
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    walks += objects[i];
  }
  crosscut_stop();
  printf("%d %ld\\n", kThreads * kRounds, walks);
  return argc == 2 + kThreads ? 0 : 1;
}
"""


def test_constructors_and_walks_of_the_loaded_objects_record(tmp_path):
    """F14: under the loader's lock."""
    visitors = [build(tmp_path / f"visitor{i}.so", VISITOR, "-shared", "-fPIC") for i in range(4)]
    program = build(tmp_path / "loader", LOADER)
    done = run(program, tmp_path / "run", *visitors)
    assert done.returncode == 0, done.stderr
    opened, walks = map(int, done.stdout.split())
    found = {name: counted(tmp_path / "run", name)[0] for name in
             ("constructor", "destructor", "walk")}
    dropped = counted(tmp_path / "run", "walk")[1]
    assert found["walk"] + found["constructor"] + found["destructor"] + dropped // 2 >= \
        walks + 2 * opened
    assert found["constructor"] <= opened and found["walk"] <= walks
    if dropped == 0:
        assert found == {"constructor": opened, "destructor": opened, "walk": walks}


# An allocator before libc's that records every call while the program asks for it.
ALLOCATOR = """
#include <crosscut/crosscut.h>
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
uint32_t mark_name;
long marks;
static void mark(void) {
  if (mark_name == 0) return;
  crosscut_begin(mark_name);
  crosscut_end();
  __atomic_fetch_add(&marks, 1, __ATOMIC_RELAXED);
}
void* malloc(size_t bytes) { mark(); return __libc_malloc(bytes); }
void free(void* at) { mark(); __libc_free(at); }
"""

# Threads whose first event is the allocator's own, new names, and sessions that begin and end, all
# of which allocate inside the recorder.
ALLOCATES = SESSION + """
enum { kThreads = 8, kRounds = 300 };
static uint32_t* mark_name;
static void* work(void* at) {
  for (int round = 0; round < kRounds; ++round) {
    char text[64];
    snprintf(text, sizeof text, "name %ld %d", (long)at, round);
    crosscut_begin(named(text));
    void* volatile some = malloc(100 + round);
    free(some);
    crosscut_end();
  }
  return NULL;
}
int main(int argc, char** argv) {
  mark_name = dlsym(RTLD_DEFAULT, "mark_name");
  long* marks = dlsym(RTLD_DEFAULT, "marks");
  if (argc != 2 || mark_name == NULL || begin(argv[1]) != 0) return 2;
  *mark_name = named("allocator");
  for (int turn = 0; turn < 3; ++turn) {
    pthread_t threads[kThreads];
    for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  *mark_name = 0;
  crosscut_stop();
  printf("%ld\\n", *marks);
  return 0;
}
"""


def test_an_allocator_that_records_neither_recurses_nor_loses_uncounted(tmp_path):
    """F15: what it marks inside the recorder is dropped and counted, all else is there."""
    allocator = build(tmp_path / "allocator.so", ALLOCATOR, "-shared", "-fPIC")
    program = build(tmp_path / "allocates", ALLOCATES)
    done = run(program, tmp_path / "run", env={"LD_PRELOAD": str(allocator)})
    assert done.returncode == 0, done.stderr
    marks = int(done.stdout)
    spans, dropped = counted(tmp_path / "run", "allocator")
    assert marks >= 2 * 3 * 8 * 300
    assert spans <= marks <= spans + dropped
    assert spans >= marks // 2


# Aborts where one of our threads reads the environment.
WATCHES = """
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
static void look(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (strncmp(name, "crosscut", 8) == 0) abort();
}
char* getenv(const char* name) {
  look();
  return ((char* (*)(const char*))dlsym(RTLD_NEXT, "getenv"))(name);
}
char* secure_getenv(const char* name) {
  look();
  return ((char* (*)(const char*))dlsym(RTLD_NEXT, "secure_getenv"))(name);
}
"""

STORM = SESSION + """
static int over;
static void* storm(void* at) {
  char name[32], value[512];
  (void)at;
  memset(value, 'x', sizeof value - 1);
  value[sizeof value - 1] = 0;
  for (int i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); ++i) {
    snprintf(name, sizeof name, "STORM_%d", i % 5000);
    setenv(name, value + i % 500, 1);
  }
  return NULL;
}
static void* marks(void* at) {
  const uint32_t name = named("mark");
  for (long i = 0; i < (long)at; ++i) {
    crosscut_begin(name);
    crosscut_end();
    if (i % 1000 == 0) crosscut_flush();
  }
  return NULL;
}
int main(int argc, char** argv) {
  if (argc != 2 || begin(argv[1]) != 0) return 2;
  pthread_t one, others[4];
  pthread_create(&one, NULL, storm, NULL);
  for (int i = 0; i < 4; ++i) pthread_create(&others[i], NULL, marks, (void*)20000l);
  for (int i = 0; i < 4; ++i) pthread_join(others[i], NULL);
  crosscut_pause();
  crosscut_resume();
  crosscut_stop();
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  pthread_join(one, NULL);
  puts("done");
  return 0;
}
"""


def test_no_thread_of_ours_reads_the_environment_while_the_program_changes_it(tmp_path):
    """F17: another thread's reading beside setenv reads freed memory."""
    watch = tmp_path / "watches.so"
    watch.with_suffix(".c").write_text(WATCHES)
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", watch,
                    watch.with_suffix(".c"), "-ldl"], check=True)
    done = run(build(tmp_path / "storm", STORM), tmp_path / "run",
               env={"LD_PRELOAD": str(watch)})
    assert done.returncode == 0 and done.stdout == "done\n", (done.returncode, done.stderr)
    spans, dropped = counted(tmp_path / "run", "mark")
    assert spans <= 80000 <= spans + dropped


PLAIN = """
import sys, crosscut
for turn in range(3):
    with crosscut.operation("work"):
        sum(range(1000))
print("result", 6 * 7)
sys.exit(5)
"""


def jailed(tmp_path, setup, *flags):
    """`crosscut record` of PLAIN in a mount namespace that `setup` (shell) has changed."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for a mount namespace")
    (tmp_path / "plain.py").write_text(PLAIN)
    script = f"set -e; mount --make-rprivate /; {setup}; exec \"$@\""
    return run("unshare", "-m", "sh", "-c", script, "sh", CROSSCUT, "record", "-o",
               tmp_path / "run", *flags, "--", sys.executable, tmp_path / "plain.py",
               cwd=tmp_path)


@pytest.mark.parametrize("setup, flags", [
    ("umount -l /proc", []),
    ("umount -l /proc", ["--python=samples"]),
    ("umount -l /dev/shm; chmod 0755 /dev/shm; mount -t tmpfs -o ro none /dev/shm", []),
    ("mount --bind {0} {0}; mount -o remount,bind,ro /", []),
], ids=["no /proc", "no /proc, samples", "no place in /dev/shm", "read-only root"])
def test_a_container_without_rights_runs_the_program_as_ever_and_records(tmp_path, setup, flags):
    """F40."""
    done = jailed(tmp_path, setup.format(tmp_path), *flags)
    assert done.returncode == 5, done.stderr
    assert done.stdout == "result 42\n"
    assert len(done.stderr.splitlines()) <= 10, done.stderr
    found = {row["operation"]: row["count"] for row in table(tmp_path / "run", "operations")}
    assert found["work"] == 3


def test_nothing_of_ours_needs_to_trace_a_process(tmp_path):
    """F40: ptrace is forbidden to all (as in most containers) for a user without rights."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, to give rights away")
    (tmp_path / "plain.py").write_text(PLAIN)
    done = run("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs",
               CROSSCUT, "record", "-o", tmp_path / "run", "--", sys.executable,
               tmp_path / "plain.py")
    assert done.returncode == 5 and done.stdout == "result 42\n", done.stderr
    found = {row["operation"]: row["count"] for row in table(tmp_path / "run", "operations")}
    assert found["work"] == 3


# A filter on the thread that makes the steps, of calls that the program itself does not need.
SHUTS_ITSELF_IN = SESSION + """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \\
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void steps(void) {
  for (int i = 0; i < 300; ++i) {
    crosscut_step(0);
    for (volatile int j = 0; j < 100000; ++j) {}
  }
}
int main(int argc, char** argv) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(read), ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(futex), ALLOW(brk),
      ALLOW(mmap), ALLOW(munmap), ALLOW(rt_sigreturn), ALLOW(membarrier),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  crosscut_options options = {0};
  options.struct_size = sizeof options;
  options.run_dir = argv[1];
  options.budget_percent = 2;
  if (crosscut_start(&options) != 0) return 5;
  steps();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (argc > 2 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    return 4;
  }
  steps();
  syscall(SYS_exit_group, 3);
}
"""


@pytest.mark.parametrize("way", [[], ["syscall"]], ids=["prctl", "syscall"])
def test_the_budget_reads_no_clock_that_is_forbidden_to_the_thread(tmp_path, way):
    done = run(build(tmp_path / "shut", SHUTS_ITSELF_IN), tmp_path / "run", *way,
               env={"LD_PRELOAD": str(LIBRARY / "libcrosscut_preload.so")})
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert len(table(tmp_path / "run", "steps")) == 600


ENDS_SHUT_IN = SHUTS_ITSELF_IN.replace("""  steps();
  syscall(SYS_exit_group, 3);
""", "  return 3;\n").replace("if (crosscut_start(&options)", """
  const int armed = strcmp(argv[2], "armed") == 0;
  if ((armed ? crosscut_arm(&options) : crosscut_start(&options))""").replace(
    "  prctl(PR_SET_NO", """  if (strcmp(argv[2], "stopped") == 0) crosscut_stop();
  prctl(PR_SET_NO""")


@pytest.mark.parametrize("state", ["recording", "stopped", "armed"])
def test_the_end_makes_no_call_that_is_forbidden_to_the_thread(tmp_path, state):
    done = run(build(tmp_path / "shut", ENDS_SHUT_IN), tmp_path / "run", state,
               env={"LD_PRELOAD": str(LIBRARY / "libcrosscut_preload.so")})
    assert done.returncode == 3, (done.returncode, done.stderr)
    logs = list((tmp_path / "run").glob("*.crosscut"))
    assert len(logs) == (state != "armed")
    if logs:
        assert len(table(tmp_path / "run", "steps")) == 300
