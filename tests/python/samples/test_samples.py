"""Stacks that samples show, on every CPython that is built for, and what they say of programs."""

import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from runs import sees_native

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CASES = HERE / "cases_samples.py"
# The soak runs packages' own tests as well, each so often; they are installed there.
SUITE_RUNS = int(os.environ.get("CROSSCUT_TEST_SUITE_RUNS", "1"))
SUITES = ["imports", "sympy", "networkx", "sklearn"] if SUITE_RUNS > 1 else ["imports"]
SUITE_PACKAGES = ROOT / "build" / "soak" / "packages"
sys.path.insert(0, str(ROOT / "tests/python/pycalls"))
from pycalls_support import INTERPRETERS, SERVED  # noqa: E402


def run(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600,
                          **options)


def record(folder, *command, control_steps=0, rate=100, **options):
    out = folder / "run"
    done = run("crosscut", "record", "-o", out, "--python=samples", f"--sample-rate={rate}",
               f"--control-steps={control_steps}", "--", *command, **options)
    return out, done


def table(out, name):
    done = run("crosscut", "table", out, name)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def stacks(out, folder):
    """[(frames as (file, line, function), leaf, ns)]"""
    path = folder / "out.collapsed"
    done = run("crosscut", "export", out, "--to=collapsed-samples", "-o", path)
    assert done.returncode == 0, done.stderr
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        stack, ns = text.rsplit(" ", 1)
        frames, leaf = [], ""
        for frame in stack.split(";"):
            place = re.fullmatch(r"([^:]+\.py|<[^>]*>):(\d+) (.+)", frame)
            if place:
                frames.append((place[1], int(place[2]), place[3]))
            else:
                leaf = frame
        found.append((frames, leaf, int(ns)))
    return found


def case_names():
    spec = importlib.util.spec_from_file_location("cases_samples", CASES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [case.__name__ for case in module.CASES], module.STAY


NAMES, STAY = case_names()


@pytest.mark.parametrize("version", SERVED)
@pytest.mark.parametrize("case", NAMES)
def test_stacks_are_those_of_the_program(tmp_path, version, case):
    out, done = record(tmp_path, INTERPRETERS[version][0], CASES, case)
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout)
    wanted = [("cases_samples.py", int(place.split(":")[1]), place.split(":")[0])
              for place in expected["frames"]]
    ns = sum(ns for frames, _, ns in stacks(out, tmp_path)
             if any(frames[i:i + len(wanted)] == wanted for i in range(len(frames))))
    assert ns > 0.6 * STAY * 1e9, stacks(out, tmp_path)
    assert expected["thread"] in {row["thread"] for row in table(out, "samples")}


def test_the_samples_of_a_thread_cover_its_work(tmp_path):
    out, done = record(tmp_path, sys.executable, CASES, "another_thread")
    assert done.returncode == 0
    seen = {}
    for row in table(out, "samples"):
        seen[row["thread"]] = seen.get(row["thread"], 0) + int(row["ns"])
    # Not its life: on a busy machine it is long until the sampling thread has its first turn.
    wall = int(table(out, "processes")[0]["wall_ns"])
    assert 0.6 * STAY * 1e9 <= seen["main"] <= wall
    assert 0.6 * STAY * 1e9 <= seen["worker"] <= wall


SHORT = """
import threading, time
slept = 0
def nap():
    global slept
    begin = time.monotonic_ns()
    time.sleep(0.2)  # a look comes after 0.25 s at least
    slept += time.monotonic_ns() - begin
end = time.monotonic() + 10
while time.monotonic() < end:
    thread = threading.Thread(target=nap)
    thread.start()
    thread.join()
print(slept)
"""


def test_samples_of_threads_that_live_shorter_than_looks_are_apart_add_up(tmp_path):
    script = tmp_path / "short.py"
    script.write_text(SHORT)
    out, done = record(tmp_path, sys.executable, script, rate=1)
    assert done.returncode == 0, done.stderr
    ns = sum(int(row["ns"]) for row in table(out, "samples")
             if row["own_line"].endswith(":7 nap"))
    assert 0.5 * int(done.stdout) < ns < 1.6 * int(done.stdout)


DEEP = """
import time
def down(levels):
    if levels:
        return down(levels - 1)
    time.sleep(0.5)
down(400)
"""


def test_stacks_deeper_than_what_is_read_are_counted(tmp_path):
    out, done = record(tmp_path, sys.executable, "-c", DEEP)
    assert done.returncode == 0, done.stderr
    slept = [row for row in table(out, "samples") if row["line"] == "<string>:6 down"]
    count = sum(int(row["count"]) for row in slept)
    (own_line,) = {row["own_line"] for row in slept}
    assert count > 0 and own_line.startswith("python -c import time [")
    assert own_line.endswith("]/<string>:6 down")
    [gap] = [row["message"] for row in table(out, "gaps") if "deeper" in row["message"]]
    assert f" {count} samples have only the inner part of their Python stack" in gap


CALLS_ITSELF = """
import copy, time
nested = []
for i in range(200):
    nested = [nested, i]
begin = time.perf_counter()
while time.thread_time() < 1.5:
    copy.deepcopy(nested)
print(time.perf_counter() - begin)
"""


def test_a_library_that_calls_itself_leaves_its_time_at_the_programs_line(tmp_path):
    """Frames end while they are read, and the one that is then outermost is none."""
    script = tmp_path / "calls.py"
    script.write_text(CALLS_ITSELF)
    out, done = record(tmp_path, sys.executable, script)
    assert done.returncode == 0, done.stderr
    rows = table(out, "lines")
    at_line = sum(int(row["ns"]) for row in rows if row["line"] in (
        "calls.py:7 <module>", "calls.py:8 <module>"))
    library = sum(int(row["ns"]) for row in rows if row["what"] == "library")
    assert at_line > 0.9e9 * float(done.stdout) and library < 0.02e9 * float(done.stdout)


HASHES = """
import hashlib, time
digest = hashlib.sha256()
data = bytes(4_000_000)
begin = time.process_time()
while time.process_time() - begin < 0.6:  # on a busy machine, too
    digest.update(data)  # nothing of this is recorded by the boundary
begin = time.monotonic_ns()
time.sleep(0.3)
print(time.monotonic_ns() - begin)
"""


@pytest.mark.skipif(not sees_native(), reason="perf_event_open is refused")
def test_native_code_and_waits_have_names(tmp_path):
    script = tmp_path / "hashes.py"
    script.write_text(HASHES)
    out, done = record(tmp_path, sys.executable, script)
    assert done.returncode == 0
    rows = table(out, "samples")
    hashing = [row for row in rows if row["line"].startswith("hashes.py:7 ")]
    assert sum(int(row["ns"]) for row in hashing) > 0.3e9
    # What it waits for a processor, on a busy machine most of the time, has no function.
    seen = [row for row in hashing if not row["waits_for"]]
    native = sum(int(row["ns"]) for row in seen if "crypto" in row["library"])
    assert native > max(0.8 * sum(int(row["ns"]) for row in seen), 0.01e9)
    # At exit the recorder may nap, too, where no line is.
    waits = [row for row in rows if row["waits_for"] == "clock_nanosleep" and row["line"]]
    assert all(row["line"].startswith("hashes.py:9 ") for row in waits)
    assert 0.2e9 < sum(int(row["ns"]) for row in waits) < int(done.stdout) + 0.5e9
    assert {row["layer"] for row in waits} == {"idle"}


def test_a_forked_child_is_sampled_too(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text("""
import os, time
time.sleep(0.1)
if os.fork() == 0:
    time.sleep(0.4)  # the child
    os._exit(0)
os.wait()
""")
    out, done = record(tmp_path, sys.executable, script)
    assert done.returncode == 0
    rows = [row for row in table(out, "samples") if row["line"] == "forks.py:5 <module>"]
    assert sum(int(row["ns"]) for row in rows) > 0.25e9
    assert len({row["process"] for row in table(out, "samples")}) == 2


def test_control_steps_are_not_sampled(tmp_path):
    script = tmp_path / "steps.py"
    script.write_text("""
import time, crosscut
for _ in range(60):
    crosscut.step()
    time.sleep(0.02)
""")
    out, done = record(tmp_path, sys.executable, script, control_steps=40)
    assert done.returncode == 0, done.stderr
    controls = [(int(row["begin_ns"]), int(row["end_ns"])) for row in table(out, "steps")
                if row["control"] == "1"]
    assert len(controls) > 5
    path = tmp_path / "trace.json"
    assert run("crosscut", "export", out, "--to=chrome", "-o", path).returncode == 0
    trace = json.loads(path.read_text())
    assert any(event.get("name") == "[sample]" for event in trace["traceEvents"])
    total = sum(int(row["ns"]) for row in table(out, "samples") if row["thread"] == "main")
    paused = sum(end - begin for begin, end in controls)
    recorded = int(table(out, "processes")[0]["wall_ns"]) - paused
    assert total <= recorded * 1.02


def test_the_program_is_unharmed(tmp_path):
    """Neither signals nor output, nor a thread that `threading` knows of."""
    script = tmp_path / "quiet.py"
    script.write_text("""
import signal, threading, time, sys
hits = []
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, lambda *args: hits.append(args))
    except (OSError, ValueError):
        pass
end = time.perf_counter() + 0.5
while time.perf_counter() < end:
    time.sleep(0.001)
print(hits, threading.active_count())
sys.exit(3)
""")
    out, done = record(tmp_path, sys.executable, script)
    assert (done.returncode, done.stdout) == (3, "[] 1\n")
    assert len(done.stderr.splitlines()) <= 10


def test_the_programs_descriptors_are_its_own(tmp_path):
    """The next one that it opens has the number that it would have; it may close all others."""
    script = tmp_path / "descriptors.py"
    script.write_text("""
import os, time
time.sleep(0.1)
first = os.open("/dev/null", os.O_RDONLY)
os.closerange(3, 70000)
files = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
time.sleep(0.3)  # goes on
print(first, [os.fstat(f).st_rdev == os.stat("/dev/null").st_rdev for f in files].count(True))
""")
    plain = run(sys.executable, script)
    out, done = record(tmp_path, sys.executable, script)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    rows = [row for row in table(out, "samples") if row["line"].startswith("descriptors.py:7 ")]
    assert sum(int(row["ns"]) for row in rows) > 0.15e9


DEFAULT = """
import os, time
print(len(os.listdir("/proc/self/fd")), os.open("/dev/null", os.O_RDONLY))
end = time.thread_time() + 0.3
while time.thread_time() < end:
    pass  # burns
time.sleep(0.3)
"""


def test_by_default_samples_are_python_alone_and_touch_no_thread(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text(DEFAULT)
    seen = {}
    for name in ("boundary", "default"):
        flags = ["--python=boundary"] if name == "boundary" else []
        done = run("crosscut", "record", "-o", tmp_path / name, *flags, sys.executable, script)
        assert done.returncode == 0, done.stderr
        seen[name] = done.stdout
    assert seen["default"] == seen["boundary"]  # the descriptors that the program has and gets
    assert not table(tmp_path / "boundary", "samples")
    rows = table(tmp_path / "default", "samples")
    assert {row["library"] for row in rows} == {""}
    for lines, waits in ((("plain.py:5 <module>", "plain.py:6 <module>"), ""),
                         (("plain.py:7 <module>",), "clock_nanosleep")):
        told = [row for row in rows if row["own_line"] in lines and row["waits_for"] == waits]
        assert sum(int(row["ns"]) for row in told) > 0.1e9, rows
    probes = {row["probe"]: int(row["count"] or 0)
              for row in table(tmp_path / "default", "overhead")}
    assert probes.get("sample", 0) == 0
    assert not [row for row in table(tmp_path / "default", "gaps") if "samples" in row["message"]]


# One processor for itself and three others that count, too.
CROWDED = """
import os, time
def delay():
    return int(open("/proc/thread-self/schedstat").read().split()[1])
def count(end):
    while time.monotonic() < end:
        sum(range(1000))
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
begin, end = delay(), time.monotonic() + 2
children = [os.fork() for _ in range(3)]
if 0 in children:
    count(end)
    os._exit(0)
count(end)
print(os.getpid(), begin, delay())
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel does not tell")
def test_samples_know_how_long_a_thread_had_no_processor(tmp_path):
    script = tmp_path / "crowded.py"
    script.write_text(CROWDED)
    done = run("crosscut", "record", "-o", tmp_path / "run", sys.executable, script)
    assert done.returncode == 0, done.stderr
    pid, begin, end = map(int, done.stdout.split())
    rows = [row for row in table(tmp_path / "run", "samples")
            if row["thread"] == "main" and row["process"].startswith(f"p{pid}-")]
    delays = [(int(row["run_delay_ns"]), int(row["ns"])) for row in rows if row["run_delay_ns"]]
    told = sum(delay for delay, _ in delays)
    # Seen from outside, samples lack what came before the first, and have what came after the end.
    assert 0.5 * (end - begin) < told < end + 2e9
    # The thread that looks may be preempted between the clock and the kernel's account, which then
    # has more than the sample's time; the next sample has that much less.
    assert min(delay for delay, _ in delays) >= 0
    assert told <= 1.1 * sum(ns for _, ns in delays) + 0.2e9


@pytest.mark.parametrize("version", SERVED)
def test_a_program_that_forks_at_once_is_not_warned_of_our_thread(tmp_path, version):
    script = tmp_path / "forks.py"
    script.write_text("""
import os, warnings
warnings.simplefilter("error")
child = os.fork()
if child == 0:
    child = os.fork()
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), open("/proc/self/comm").read())
""")
    python = INTERPRETERS[version][0]
    plain = run(python, script)
    for _ in range(3):
        done = run("crosscut", "record", "-o", tmp_path / "run", python, script)
        assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr


REFUSES = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
int main(int count, char** words) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      REFUSES BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (count < 2 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 4;
  return execv(words[1], words + 1);
}
"""


@pytest.mark.parametrize("calls, has_samples", [
    (["process_vm_readv"], False), (["close_range", "unshare"], False), (["close_range"], True),
    (["perf_event_open"], True)])
def test_what_a_container_refuses_is_a_gap_only_where_samples_were_asked_for(tmp_path, calls,
                                                                             has_samples):
    program = tmp_path / "refuses"
    refuses = "".join(f"REFUSE({call}), " for call in calls)
    subprocess.run(["cc", "-xc", "-", "-o", program], check=True, text=True,
                   input=REFUSES.replace("REFUSES ", refuses))
    script = "import time; time.sleep(0.5); print('ran')"
    for flags in ([], ["--python=samples"]):
        out = tmp_path / f"run{len(flags)}"
        done = run("crosscut", "record", "-o", out, *flags, "--", program, sys.executable, "-c",
                   script)
        assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
        source, = [row for row in table(out, "sources") if row["name"] == "samples"]
        assert bool(table(out, "samples")) == has_samples
        assert source["state"] == ("on" if has_samples else "failed" if flags else "off")
        assert source["message"] or has_samples
        gaps = [row for row in table(out, "gaps") if "samples" in row["message"]]
        assert bool(gaps) == (bool(flags) and not has_samples), gaps


def test_a_rate_out_of_range_is_refused(tmp_path):
    done = run("crosscut", "record", "-o", tmp_path / "run", "--python=samples",
               "--sample-rate=5000", "--", "true")
    assert done.returncode == 2 and "--sample-rate" in done.stderr


def test_a_run_without_samples_says_how_to_get_them(tmp_path):
    done = run("crosscut", "record", "-o", tmp_path / "run", "--python=boundary", "--",
               sys.executable, "-c", "")
    assert done.returncode == 0
    done = run("crosscut", "export", tmp_path / "run", "--to=collapsed-samples", "-o",
               tmp_path / "out")
    assert done.returncode != 0 and "--python=samples" in done.stderr


def test_a_session_of_the_programs_own_may_take_samples(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(f"""
import crosscut, time
assert crosscut.start({str(tmp_path / 'run')!r}, python="samples"), crosscut.error()
time.sleep(0.3)
crosscut.stop()
""")
    begin = time.monotonic()
    done = run(sys.executable, script, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < 60
    rows = table(tmp_path / "run", "samples")
    rows = [row for row in rows if row["line"].startswith("own.py:4 ")]
    assert sum(int(row["ns"]) for row in rows) > 0.15e9


def test_functions_of_a_library_that_was_built_anew_have_no_name(tmp_path):
    """Its symbols would be those of other code."""
    folder = tmp_path / "a \t b"
    folder.mkdir()
    source, library = folder / "work.c", folder / "libwork.so"

    def build(before, *flags):
        source.write_text(f"""{before}
static inline __attribute__((always_inline)) double now(void) {{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}}
void work_of_ours(double seconds) {{
  double end = now() + seconds, x = 0;
  while (now() < end) for (int i = 0; i < 100000; ++i) x += i;
}}
""")
        subprocess.run(["cc", "-O0", "-shared", "-fPIC", *flags, "-o", library, source], check=True)

    for flags in (["-Wl,--build-id"], ["-Wl,--build-id=none"]):
        build("#include <time.h>", *flags)
        out, done = record(tmp_path, sys.executable, "-c", f"import ctypes; w = ctypes.CDLL("
                           f"{str(library)!r}); w.work_of_ours(ctypes.c_double(0.5))", rate=500)
        assert done.returncode == 0, done.stderr
        rows = [row for row in table(out, "samples") if row["library"] == "libwork.so"]
        assert {row["function"] for row in rows} == {"work_of_ours"}, rows
        build("#include <time.h>\nint another(int a) { return a * 3 + 1; }\n", *flags)
        rows = [row for row in table(out, "samples") if row["library"] == "libwork.so"]
        assert {row["function"] for row in rows} == {""}, rows
        said = " ".join(row["message"] for row in table(out, "gaps"))
        assert "samples lie in libraries that are other builds here" in said
        shutil.rmtree(out)


@pytest.mark.parametrize("version", SERVED)
@pytest.mark.parametrize("suite", SUITES)
def test_no_program_is_harmed_at_the_highest_rate(tmp_path, version, suite):
    """What it prints and its exit status stay the same while code comes and goes."""
    python, packages = INTERPRETERS[version][0], SUITE_PACKAGES / version
    if suite != "imports" and not packages.exists():
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--target", packages,
                               "hypothesis", "pytest", "networkx", "scikit-learn", "sympy"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(packages)]))
    for number in range(SUITE_RUNS):
        out, done = record(tmp_path, python, HERE / "suites.py", suite, rate=1000,
                           env=dict(os.environ, PYTHONPATH=path))
        assert done.returncode == 0, (number, done.stdout[-2000:], done.stderr[-2000:])
        assert sum(int(row["ns"]) for row in table(out, "samples")) > 0.2e9, number
        shutil.rmtree(out)
