"""Programs that a recorded one starts and that our library cannot be loaded before."""

import os
import shutil
import subprocess
import sys

import pytest
from runs import crosscut, record, table

ENDS = '#include <stdio.h>\nint main() { puts("hello"); return 5; }'


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """By what is special about them; a script counts as its interpreter."""
    folder = tmp_path_factory.mktemp("programs")

    def build(name, *flags):
        subprocess.run(["cc", "-xc", *flags, "-", "-o", folder / name], check=True, input=ENDS,
                       text=True)
        return folder / name

    found = {"plain": build("plain"), "address": build("address", "-fsanitize=address"),
             "thread": build("thread", "-fsanitize=thread"), "static": build("static", "-static")}
    script = folder / "script"
    script.write_text(f"#!{found['address']}\n")
    script.chmod(0o755)
    # The same but for where it says which processor it is for: the kernel will not run it.
    other = folder / "other"
    code = bytearray(found["plain"].read_bytes())
    code[18] ^= 0xff
    other.write_bytes(code)
    other.chmod(0o755)
    return {**found, "script": script, "other": other}


# Says whether a library is preloaded; nothing else that it calls could matter to us.
SHOWS = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char* preload = getenv("LD_PRELOAD");
  return puts(preload == NULL ? "none" : preload) < 0 ? 1 : 5;
}
"""


@pytest.fixture(scope="session")
def shows(tmp_path_factory):
    program = tmp_path_factory.mktemp("shows") / "shows"
    subprocess.run(["cc", "-xc", "-", "-o", program], check=True, input=SHOWS, text=True)
    return program


# Every way of the C library, called with the program's path as %r; each ends as the program does.
WAYS = {
    "sh": "import os; os._exit(os.waitstatus_to_exitcode(os.system({!r})))",
    "vfork": "import subprocess; raise SystemExit(subprocess.run([{!r}]).returncode)",
    "fork": "import subprocess\nraise SystemExit(subprocess.run([{!r}], preexec_fn=lambda: None)"
            ".returncode)",
    "execv": "import os; os.execv({0!r}, [{0!r}])",
    "execve": "import os; os.execve({0!r}, [{0!r}], dict(os.environ))",
    "execvp": "import ctypes; c = ctypes.CDLL(None)\n"
              "c.execvp({0!r}.encode(), (ctypes.c_char_p * 2)({0!r}.encode(), None))",
    "execl": "import ctypes; c = ctypes.CDLL(None)\n"
             "c.execl({0!r}.encode(), b'zero', b'one', b'two', None)",
    "execlp": "import ctypes; c = ctypes.CDLL(None)\nc.execlp({0!r}.encode(), b'zero', None)",
    "fexecve": "import os; os.execve(os.open({0!r}, os.O_RDONLY), ['x'], dict(os.environ))",
    "posix_spawn": "import os\nchild = os.posix_spawn({0!r}, [{0!r}], dict(os.environ))\n"
                   "os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "posix_spawnp": "import os\nchild = os.posix_spawnp({0!r}, [{0!r}], dict(os.environ))\n"
                    "os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
}


def run_plain(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def ours(stderr):
    return [line for line in stderr.splitlines() if line.startswith("crosscut:")]


def others(stderr):
    return [line for line in stderr.splitlines() if not line.startswith("crosscut:")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["address", "thread"])
def test_a_child_built_with_a_sanitizer_ends_as_without_us_and_is_told(programs, tmp_path, kind,
                                                                       way):
    command = [sys.executable, "-c", WAYS[way].format(str(programs[kind]))]
    plain, done = run_plain(command), record(tmp_path / "run", command)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert done.returncode == 5 and others(done.stderr) == others(plain.stderr)
    assert f"is built with {kind.title()}Sanitizer" in "".join(ours(done.stderr))


@pytest.mark.parametrize("kind", ["plain", "static", "script", "other"])
def test_other_children_end_as_without_us(programs, tmp_path, kind):
    command = ["sh", "-c", f"{programs[kind]}; exit $?"]
    plain, done = run_plain(command), record(tmp_path / "run", command)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert others(done.stderr) == others(plain.stderr)
    told = "a child is not recorded" in done.stderr
    assert told == (kind in ("script", "other"))


@pytest.mark.parametrize("way", WAYS)
def test_a_child_that_starts_no_program_itself_is_started_without_our_library(shows, tmp_path, way):
    command = [sys.executable, "-c", WAYS[way].format(str(shows))]
    plain, done = run_plain(command), record(tmp_path / "run", command)
    assert plain.stdout == "none\n"
    assert (done.returncode, done.stdout) == (5, "none\n")
    assert others(done.stderr) == others(plain.stderr)
    assert "is not recorded" not in done.stderr


def test_a_child_that_may_start_programs_or_has_others_preloaded_keeps_ours(shows, tmp_path):
    shell = record(tmp_path / "shell", [sys.executable, "-c", "import os\n"
                                        "os.system('echo $LD_PRELOAD; :')"])
    assert shell.stdout.endswith("libcrosscut_preload.so\n")
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-xc", "-", "-o", other], check=True, input="", text=True)
    both = record(tmp_path / "both", [sys.executable, "-c", WAYS["vfork"].format(str(shows))],
                  env={"LD_PRELOAD": str(other)})
    assert both.stdout.startswith(f"{other}:") and "libcrosscut_preload.so" in both.stdout


def test_what_a_launcher_starts_is_the_command_whatever_it_calls(shows, tmp_path):
    done = record(tmp_path / "run", ["env", "A=1", shows])
    assert done.returncode == 5 and "libcrosscut_preload.so" in done.stdout
    assert [row["name"] for row in table(tmp_path / "run", "processes")] == ["shows"]


def test_a_program_that_is_replaced_by_another_is_looked_at_again(shows, programs, tmp_path):
    """By one of the same name, length and times, under which the first was known."""
    files = [tmp_path / "first", tmp_path / "second"]
    for file, source in zip(files, (shows, programs["address"])):
        shutil.copy(source, file)
    size = max(file.stat().st_size for file in files)
    for file in files:
        os.truncate(file, size)
        os.utime(file, (1, 1))
    script = (f"import os, subprocess, time\nfirst, second, name = {str(files[0])!r}, "
              f"{str(files[1])!r}, {str(tmp_path / 'name')!r}\n"
              "for file in first, second:\n"
              "    os.rename(file, name)\n"
              "    time.sleep(2.1)\n"
              "    for _ in range(3): print(subprocess.run([name]).returncode, flush=True)\n")
    done = record(tmp_path / "run", [sys.executable, "-c", script])
    assert done.stdout == 3 * "none\n5\n" + 3 * "hello\n5\n", done.stderr
    assert "2 more like it" in done.stderr


def test_no_word_is_left_in_a_folder_that_took_the_runs_place(programs, tmp_path):
    run, other = tmp_path / "run", tmp_path / "other"
    other.mkdir()
    script = (f"import os, subprocess\nos.rename({str(run)!r}, {str(tmp_path / 'moved')!r})\n"
              f"os.rename({str(other)!r}, {str(run)!r})\n"
              f"subprocess.run([{str(programs['address'])!r}])\n")
    record(run, [sys.executable, "-c", script])
    assert list(run.iterdir()) == []


STARTS = """
import crosscut, ctypes, os, subprocess
library = [line.split()[-1] for line in open("/proc/self/maps") if "libcrosscut.so" in line][0]
for step in range(10):
    subprocess.run(["true"], check=True)
    os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
    subprocess.run(["sh", "-c", ":"], check=True)
    os.system(":")
    subprocess.run(["sh", "-c", ":"], check=True, preexec_fn=lambda: None)
    try:
        subprocess.run(["no such program"])
    except FileNotFoundError:
        pass
    ctypes.CDLL(library).crosscut_flush()
    crosscut.step()
"""


def test_each_start_is_told_with_what_it_costs(tmp_path):
    """Children of vfork() and posix_spawn(), and the shell of system(); not what forked children
    start, nor what cannot be started."""
    script = tmp_path / "starts.py"
    script.write_text(STARTS)
    done = record(tmp_path / "run", [sys.executable, script], "--control-steps=0")
    assert done.returncode == 0, done.stderr
    rows = {row["probe"]: row for row in table(tmp_path / "run", "overhead")}
    looked = rows["programs started"]
    loaded = rows["programs started with Crosscut's library"]
    assert (looked["count"], loaded["count"]) == (20, 20)
    for row in looked, loaded:
        assert row["outside_ns"] == 0 and row["low_ns"] < row["inside_ns"] < row["high_ns"]
        assert row["subtracted_ns"] == row["inside_ns"]
    assert looked["inside_ns"] < loaded["inside_ns"] < 20 * 1_000_000


def test_children_of_a_kind_are_told_of_once_and_counted(programs, tmp_path):
    one = programs["address"]
    done = record(tmp_path / "run", ["sh", "-c", f"for i in 1 2 3 4 5; do {one}; done; exit 0"])
    assert done.returncode == 0 and done.stdout == "hello\n" * 5
    (line,) = [line for line in ours(done.stderr) if "a child" in line]
    assert str(one) in line and "4 more like it" in line
    assert "4 more like it" in " ".join(crosscut("report", tmp_path / "run").split())


def test_only_our_entry_is_taken_out_and_the_callers_own_variables_stay(programs, tmp_path):
    mine = shutil.copy(os.path.realpath("/lib/x86_64-linux-gnu/libutil.so.1"), tmp_path / "m.so") \
        if os.path.exists("/lib/x86_64-linux-gnu/libutil.so.1") else ""
    shows = tmp_path / "shows"
    subprocess.run(["cc", "-xc", "-fsanitize=address", "-", "-o", shows], check=True, text=True,
                   input="#include <stdio.h>\n#include <stdlib.h>\n"
                         "int main() { puts(getenv(\"LD_PRELOAD\") ? getenv(\"LD_PRELOAD\")"
                         " : \"none\"); puts(getenv(\"MINE\")); }")
    script = (f"import os, subprocess\nenv = dict(os.environ, MINE='1')\nbefore = dict(env)\n"
              f"print(subprocess.run([{str(shows)!r}], env=env, capture_output=True, text=True)"
              f".stdout)\nprint(env == before, 'preload' in os.environ['LD_PRELOAD'])")
    env = {"LD_PRELOAD": str(mine), "ASAN_OPTIONS": "verify_asan_link_order=0"} if mine else {}
    done = record(tmp_path / "run", [sys.executable, "-c", script], env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{mine or 'none'}\n1\n\nTrue True\n"


# Starts argv[2] in the way argv[1], 20 times, each from a thread with the smallest stack.
SMALL = r"""
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
static char** words;
static int status = -1;
static void* Start(void* none) {
  pid_t child;
  if (strcmp(words[1], "vfork") != 0) {
    if (posix_spawnp(&child, words[2], NULL, NULL, words + 2, environ) != 0) return none;
  } else if ((child = vfork()) == 0) {
    execvp(words[2], words + 2);
    _exit(99);
  }
  waitpid(child, &status, 0);
  return none;
}
static int Pages(void) {
  FILE* sizes = fopen("/proc/self/statm", "r");
  int pages = 0;
  return fscanf(sizes, "%d", &pages), fclose(sizes), pages;
}
int main(int argc, char** argv) {
  pthread_attr_t small;
  int pages = 0;
  words = argv;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    if (argc < 3 || pthread_create(&thread, &small, Start, NULL) != 0) return 9;
    pthread_join(thread, NULL);
    if (i == 0) pages = Pages();
  }
  printf("%d %s\n", status, Pages() - pages < 400 ? "bounded" : "grows");
}
"""


@pytest.mark.parametrize("kind", ["plain", "address", "script"])
@pytest.mark.parametrize("way", ["vfork", "spawn"])
def test_a_thread_with_the_smallest_stack_starts_programs_as_without_us(programs, tmp_path, way,
                                                                        kind):
    small = tmp_path / "small"
    subprocess.run(["cc", "-xc", "-", "-o", small, "-pthread"], check=True, input=SMALL, text=True)
    command = [small, way, programs[kind]]
    plain, done = run_plain(command), record(tmp_path / "run", command)
    assert plain.stdout.endswith("1280 bounded\n")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert ("19 more like it" in done.stderr) == (kind != "plain")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount")
@pytest.mark.parametrize("how", ["mount -t tmpfs none {0} && /bin/true",
                                 "mount -t tmpfs none {0} && exec /bin/true",
                                 "mount -t tmpfs none {0} && sh -c '/bin/echo told; exit 6'"])
def test_where_our_library_is_out_of_reach_no_loader_complains(tmp_path, how):
    """In another mount namespace something lies over the folder of the package."""
    from runs import PACKAGE

    command = ["unshare", "-m", "sh", "-c", how.format(PACKAGE.resolve())]
    if run_plain(["unshare", "-m", "true"]).returncode != 0:
        pytest.skip("no mount namespaces here")
    plain, done = run_plain(command), record(tmp_path / "run", command)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert others(done.stderr) == others(plain.stderr)
    assert "where our library cannot be read" in done.stderr


FILTERS = r"""
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(int argc, char** argv) {
  (void)argv;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(read), ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(futex), ALLOW(brk),
      ALLOW(mmap), ALLOW(munmap), ALLOW(clock_gettime), ALLOW(clock_nanosleep),
      ALLOW(rt_sigreturn), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  puts("before");
  fflush(stdout);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (argc > 1 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    return 4;
  }
  struct timespec nap = {0, 300000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, 0);
  puts("behind");
  return 3;
}
"""


@pytest.mark.parametrize("threads", [[], ["all"]], ids=["its own", "all"])
def test_a_filter_of_system_calls_meets_none_of_ours(tmp_path, threads):
    program = tmp_path / "filters"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-xc", "-", "-o", program], input=FILTERS, text=True,
                   check=True)
    plain = run_plain([program, *threads])
    done = record(tmp_path / "run", [program, *threads])
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    assert plain.returncode == 3
    assert table(tmp_path / "run", "processes")


def test_a_python_program_that_is_refused_a_namespace_is_told_why(tmp_path):
    program = ("import ctypes; c = ctypes.CDLL(None, use_errno=True); "
               "print(c.unshare(0x10000000), ctypes.get_errno())")
    plain = run_plain([sys.executable, "-c", program])
    done = record(tmp_path / "run", [sys.executable, "-c", program])
    if done.stdout != plain.stdout:
        assert "unshare() was refused to the program" in done.stderr


UNSHARES = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
int main(void) {
  printf("%d\n", unshare(CLONE_NEWUSER));
  return 3;
}
"""


def test_a_program_that_wants_to_be_of_one_thread_is_left_alone_and_told(tmp_path):
    program = tmp_path / "unshares"
    subprocess.run(["cc", "-xc", "-", "-o", program], input=UNSHARES, text=True, check=True)
    plain, done = run_plain([program]), record(tmp_path / "run", [program])
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    assert "which may fail where a program has a thread of ours" in done.stderr


def test_a_program_without_a_thread_of_ours_is_refused_by_none_of_them(tmp_path):
    program = tmp_path / "unshares"
    code = UNSHARES.replace("int main(void) {", """
#include <pthread.h>
#include <unistd.h>
static void* Waits(void* none) { return pause(), none; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Waits, NULL);""")
    subprocess.run(["cc", "-xc", "-", "-pthread", "-o", program], input=code, text=True, check=True)
    plain, done = run_plain([program]), record(tmp_path / "run", [program])
    assert (done.returncode, done.stdout, plain.stdout) == (plain.returncode, plain.stdout, "-1\n")
    assert "unshare() was refused" not in done.stderr
