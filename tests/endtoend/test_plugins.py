"""Profiler plugins in real programs: what they show, and that they harm nothing."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import zipfile

import pytest
from runs import CROSSCUT, PACKAGE, ROOT, crosscut, record_script, table

DEMO = PACKAGE / "crosscut" / "plugins" / "demo" / "libdemo.so"
SCRIPTED = ROOT / "build" / "release" / "src" / "host" / "libscripted_plugin.so"

PROGRAM = """
import os, sys, time, crosscut
for step in range(int(os.environ.get("STEPS", 20))):
    crosscut.step()
    with crosscut.operation("work"):
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass
print("the answer is 42")
sys.exit(3)
"""


def state_of(run, name):
    return [(row["state"], row["message"]) for row in table(run, "sources") if row["name"] == name]


def sums_to_wall(run):
    walls = {row["process"]: row["wall_ns"] for row in table(run, "processes")}
    sums = dict.fromkeys(walls, 0)
    for row in table(run, "overlap"):
        sums[row["process"]] += row["ns"]
    assert sums == walls


def test_device_rows_stand_beside_the_operations_and_all_adds_up(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, PROGRAM, "--control-steps=0", "--plugin",
                           f"{DEMO},period_us=2000,busy_us=1000")
    assert (result.returncode, result.stdout) == (3, "the answer is 42\n")
    assert state_of(run, "demo") == [("on", "")]
    sums_to_wall(run)
    # The device is busy 1.25 ms of every 2: a kernel of 1, then a copy of 0.25.
    work = [row for row in table(run, "operations") if row["operation"] == "work"][0]
    busy = work["overlap_ns"] + work["device_ns"]
    assert busy / work["wall_ns"] == pytest.approx(0.625, abs=0.06)
    functions = {row["name"]: row for row in table(run, "functions") if row["layer"] == "device"}
    assert functions["demo_kernel"]["p50_ns"] == 1_000_000
    assert functions["demo_copy"]["p50_ns"] == 250_000
    chrome = tmp_path / "trace.json"
    crosscut("export", run, "--to=chrome", "-o", chrome)
    assert '"demo_kernel"' in chrome.read_text()


def test_the_gate_is_tensorflows(tmp_path):
    for flag, state in (("--device-type=gpu", "off"), ("--device-tracer-level=0", "off"),
                        ("--device-type=tpu", "off"), ("--device-type=cpu", "off"),
                        ("--device-type=pluggable_device", "on"), ("--device-type=demo", "on")):
        run = tmp_path / flag
        record_script(run, PROGRAM, "--plugin", DEMO, flag, env={"STEPS": "2"})
        assert [found[0] for found in state_of(run, "demo")] == [state], flag


def test_a_file_that_is_not_there_is_said_before_the_command_starts(tmp_path):
    result = record_script(tmp_path / "run", PROGRAM, "--plugin", "nowhere.so")
    assert result.returncode == 2 and "nowhere.so" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("mode", ["hang in init", "hang in start", "hang in stop", "hang in size",
                                  "hang in destroy", "throw in destroy",
                                  "throw in start", "throw in bytes", "grow",
                                  "huge", "end the thread in start", "no stop"])
def test_a_bad_plugin_is_named_and_the_program_ends_as_without_it(tmp_path, mode):
    run = tmp_path / "run"
    result = record_script(run, PROGRAM, "--control-steps=0", "--plugin",
                           f"{SCRIPTED},mode={mode}", timeout=60)
    assert (result.returncode, result.stdout) == (3, "the answer is 42\n")
    (state, message), = state_of(run, "scripted_plugin")
    assert state == "failed" and message
    assert [row["count"] for row in table(run, "operations") if row["operation"] == "work"] == [20]
    sums_to_wall(run)


@pytest.mark.parametrize("mode", ["", "slow in destroy", "slow in destroy_fns"])
@pytest.mark.parametrize("end, destroyed", [
    ("sys.exit(3)", True), ("crosscut.stop(); crosscut.start(); sys.exit(3)", True),
    ("if os.fork() == 0: sys.exit(0)\nos.wait(); sys.exit(3)", True), ("os._exit(3)", False)])
def test_destroy_is_the_last_call_of_a_process_that_ends_in_order(tmp_path, end, destroyed, mode):
    run = tmp_path / "run"
    result = record_script(run, PROGRAM.replace("sys.exit(3)", end), "--control-steps=0",
                           "--plugin", f"{SCRIPTED},say=1,mode={mode}", env={"STEPS": "2"})
    assert (result.returncode, result.stdout) == (3, "the answer is 42\n"), result.stderr
    said = [message for state, message in state_of(run, "scripted_plugin") if state == "on"]
    assert said == ["destroy destroy_fns " if destroyed else ""]


@pytest.mark.parametrize("call", ["stop", "bytes"])
def test_each_session_has_a_profile_where_the_next_one_begins_during_its_stop(tmp_path, call):
    run = tmp_path / "run"
    result = record_script(run, """
import crosscut, time
for _ in range(3):
    time.sleep(0.05)
    crosscut.stop()
    crosscut.start()
""", "--plugin", f"{SCRIPTED},mode=slow in {call}")
    assert result.returncode == 0, result.stderr
    (log,) = run.glob("*.crosscut")
    assert [log.read_bytes().count(b"collected:%d" % i) for i in range(5)] == [1, 1, 1, 1, 0]
    assert len(list(run.glob("*.scripted_plugin-*.xplane.pb"))) == 4


def test_exec_beside_a_plugins_call_is_no_crash_of_the_plugin(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, """
import os, sys, time
time.sleep(0.2)
os.execv(sys.executable, [sys.executable, "-c", "pass"])
""", "--plugin", f"{SCRIPTED},mode=hang in init")
    assert result.returncode == 0
    assert [row["complete"] for row in table(run, "processes")] == [1, 1]


@pytest.mark.parametrize("mode, call, died_of", [
    ("write past the end", "collect", signal.SIGSEGV), ("crash in stop", "stop", signal.SIGSEGV),
    ("abort in stop", "stop", signal.SIGABRT), ("crash in destroy", "destroy", signal.SIGSEGV)])
def test_a_crash_inside_a_plugin_is_told_with_its_name_and_loses_no_event(tmp_path, mode, call,
                                                                          died_of):
    run = tmp_path / "run"
    result = record_script(run, PROGRAM, "--control-steps=0", "--plugin",
                           f"{SCRIPTED},mode={mode}")
    assert result.returncode == -died_of
    process, = table(run, "processes")
    assert process["complete"] == 0
    assert f"scripted_plugin: {call}" in crosscut("report", run)
    assert [row["count"] for row in table(run, "operations") if row["operation"] == "work"] == [20]


def test_a_plugin_that_fails_a_trial_in_its_own_process_is_left_out_and_named(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for attempt in ("first", "remembered"):
        run = tmp_path / attempt
        result = record_script(run, PROGRAM, "--probe-plugins", "--plugin", DEMO, "--plugin",
                               f"{SCRIPTED},mode=crash in stop", env=cache)
        assert (result.returncode, result.stdout) == (3, "the answer is 42\n")
        assert "libscripted_plugin.so,mode=crash in stop is left out" in result.stderr
        assert "Segmentation fault) in stop" in result.stderr
        assert state_of(run, "scripted_plugin") == []
        assert state_of(run, "demo") == [("on", "")]
    known = (tmp_path / "cache" / "crosscut" / "probed-plugins").read_text().splitlines()
    assert sorted(line.split("\t")[1] == "good" for line in known) == [False, True]


LISTING = r"""
#define CROSSCUT_PLUGIN_RFC_NAMES
#include "crosscut/plugin.h"
static void start(const TP_Profiler* p, TF_Status* s) {}
static void collect(const TP_Profiler* p, uint8_t* b, size_t* n, TF_Status* s) { *n = 0; }
static void destroy(TP_Profiler* p) {}
static void destroy_fns(TP_ProfilerFns* f) {}
void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  *params = (TF_ProfilerRegistrationParams){ TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE };
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler->type = "MY_DEVICE";
  params->profiler_fns->start = start;
  params->profiler_fns->stop = start;
  params->profiler_fns->collect_data_xspace = collect;
  params->destroy_profiler = destroy;
  params->destroy_profiler_fns = destroy_fns;
}
"""


def test_a_plugin_that_is_written_as_in_the_rfc_is_left_out_with_its_name(tmp_path):
    (tmp_path / "listing.c").write_text(LISTING)
    library = tmp_path / "liblisting.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, tmp_path / "listing.c",
                    "-I", ROOT / "include"], check=True)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "STEPS": "2"}
    for attempt in ("first", "remembered"):
        run = tmp_path / attempt
        result = record_script(run, PROGRAM, "--plugin", library, "--plugin", DEMO, env=cache)
        assert (result.returncode, result.stdout) == (3, "the answer is 42\n"), result.stderr
        assert "liblisting.so is left out" in result.stderr
        assert "Segmentation fault) in TF_InitProfiler" in result.stderr
        assert (state_of(run, "listing"), state_of(run, "demo")) == ([], [("on", "")])


def test_what_the_device_did_survives_a_kill(tmp_path):
    run = tmp_path / "run"
    killed = tmp_path / "killed"
    result = record_script(killed, PROGRAM.replace("sys.exit(3)", "os.kill(os.getpid(), 9)"),
                           "--control-steps=0", "--plugin", f"{DEMO},period_us=2000,busy_us=500")
    assert result.returncode == -signal.SIGKILL
    count = [row["count"] for row in table(killed, "functions") if row["name"] == "demo_kernel"]
    assert count[0] >= 90  # 200 ms


def test_an_xspace_that_a_plugin_collects_is_kept_and_stands_on_the_programs_clock(tmp_path):
    """The demo as TensorFlow sees it: a host without the push table, through the same file."""
    source = tmp_path / "plain.c"
    source.write_text(PLAIN)
    library = tmp_path / "libplain.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, ROOT / "plugins/demo/xspace.c",
                    "-I", ROOT / "include", "-I", ROOT / "plugins/demo"], check=True)
    run = tmp_path / "run"
    result = record_script(run, PROGRAM, "--control-steps=0", "--plugin", library)
    assert result.returncode == 3
    assert state_of(run, "plain") == [("on", "")]
    assert len(list(pathlib.Path(run).glob("*.plain-0.xplane.pb"))) == 1
    kernel, = [row for row in table(run, "functions") if row["name"] == "demo_kernel"]
    assert kernel["count"] == 1
    assert {row["device"] for row in table(run, "device_events")} == {0}
    out = tmp_path / "out.xplane.pb"
    crosscut("export", run, "--to=xspace", "-o", out)
    planes = re.findall(rb"/device:[\w:]+", out.read_bytes())
    assert set(planes) == {b"/device:CUSTOM:demo"}
    was, again = table(run, "device_events"), table(out, "device_events")  # once, as it was
    assert [(row["name"], row["end_ns"] - row["begin_ns"], row["stream"]) for row in again] == [
        (row["name"], row["end_ns"] - row["begin_ns"], row["stream"]) for row in was]
    # It was busy from the start of the session to its stop: all that the program did lies within.
    (process,), (event,) = table(run, "processes"), table(run, "device_events")
    work = [row for row in table(run, "spans") if row["name"] == "work"]
    assert work and process["start_ns"] <= event["begin_ns"] <= min(r["begin_ns"] for r in work)
    assert (max(row["end_ns"] for row in work) <= event["end_ns"]
            <= process["start_ns"] + process["wall_ns"])
    assert kernel["total_ns"] == event["end_ns"] - event["begin_ns"]
    sums_to_wall(run)


# TF_SetStatus stays undefined in it, as in plugins that were built against TensorFlow's header.
PLAIN = r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "crosscut/plugin.h"
#include "xspace.h"
static demo_event event;
static int64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void start(const TP_Profiler* p, TF_Status* s) {
  (void)p;
  event.begin_ns = now(CLOCK_REALTIME);
  TF_SetStatus(s, TF_OK, "");
}
static void stop(const TP_Profiler* p, TF_Status* s) {
  (void)p;
  event.end_ns = now(CLOCK_REALTIME);
  TF_SetStatus(s, TF_OK, "");
}
static void collect(const TP_Profiler* p, uint8_t* buffer, size_t* size, TF_Status* s) {
  static uint8_t* bytes;
  static size_t n;
  (void)p;
  if (bytes == NULL) bytes = demo_xspace(&event, 1, 0, &n);
  if (buffer != NULL) memcpy(buffer, bytes, n);
  *size = n;
  TF_SetStatus(s, TF_OK, "");
}
static void destroy(TP_Profiler* p) { (void)p; }
static void destroy_fns(TP_ProfilerFns* p) { (void)p; }
void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  params->profiler->device_type = "PLAIN";
  params->profiler_fns->start = &start;
  params->profiler_fns->stop = &stop;
  params->profiler_fns->collect_data_xspace = &collect;
  params->destroy_profiler = &destroy;
  params->destroy_profiler_fns = &destroy_fns;
  TF_SetStatus(status, TF_OK, "");
}
"""


def directml(folder):
    """The plugin of tensorflow-directml-plugin's own Linux wheel, as it lies on PyPI (27 MB, kept
    in build/)."""
    wheels = ROOT / "build" / "wheels"
    if not list(wheels.glob("tensorflow_directml_plugin-*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--python-version", "3.10", "--only-binary=:all:",
                        "--disable-pip-version-check", "-d", wheels,
                        "tensorflow-directml-plugin==0.4.0.dev230202"], check=True)
    wheel, = wheels.glob("tensorflow_directml_plugin-*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder / "tensorflow-plugins" / "libtfdml_plugin.so"


def test_a_third_partys_binary_goes_through_two_rounds_without_tensorflow_and_a_gpu(tmp_path):
    plugin = directml(tmp_path / "wheel")
    run = tmp_path / "run"
    twice = PROGRAM.replace("print(", "crosscut.stop(); crosscut.start(); time.sleep(0.1)\nprint(")
    result = record_script(run, twice, "--plugin", plugin)
    assert (result.returncode, result.stdout) == (3, "the answer is 42\n"), result.stderr
    assert state_of(run, "tfdml_plugin") == [("on", "")]
    assert not list(pathlib.Path(run).glob("*.xplane.pb"))  # no device, no output


def test_a_forked_child_is_recorded_without_the_plugins_of_its_parent(tmp_path):
    run = tmp_path / "run"
    program = PROGRAM.replace("print(", "pid = os.fork()\nif pid: os.waitpid(pid, 0)\n"
                              "with crosscut.operation('after'): time.sleep(0.05)\nprint(")
    result = record_script(run, program, "--plugin", DEMO, env={"STEPS": "2"})
    assert result.returncode == 3
    assert sorted(state for state, _ in state_of(run, "demo")) == ["off", "on"]
    assert len(table(run, "processes")) == 2
    sums_to_wall(run)


# However late the plugin's thread has its turn, its device has run in the second session, too.
SECOND_SESSION = """
def name_of(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read()
    except OSError:  # it has just ended
        return ""
def await_threads(count):
    while list(map(name_of, os.listdir("/proc/self/task"))).count("cc/demo_pjrt\\n") != count:
        time.sleep(0.001)
crosscut.stop()
await_threads(1)
crosscut.start()
await_threads(2)
time.sleep(0.1)
"""


def test_a_pjrt_plugins_profiler_is_driven_by_the_same_host(tmp_path):
    run = tmp_path / "run"
    twice = PROGRAM.replace("print(", SECOND_SESSION + "print(")
    result = record_script(run, twice, "--control-steps=0", "--plugin",
                           DEMO.with_name("libdemo_pjrt.so"))
    assert result.returncode == 3
    assert state_of(run, "demo_pjrt") == [("on", "")]
    kernel, = [row for row in table(run, "functions") if row["name"] == "demo_kernel"]
    assert kernel["p50_ns"] == 2_000_000 and kernel["count"] >= 50
    assert len(list(pathlib.Path(run).glob("*.xplane.pb"))) == 2
    sums_to_wall(run)


def test_packages_offer_plugins_by_entry_points(tmp_path):
    package = tmp_path / "site"
    info = package / "mychip-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "mychip.py").write_text(f"def plugin():\n    return {str(DEMO)!r}\n")
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n\n[crosscut.plugins]\nmychip = mychip:plugin\n"
        "other = nowhere:plugin\n")
    run = tmp_path / "run"
    env = {"PYTHONPATH": f"{PACKAGE}:{package}", "STEPS": "2"}
    seen = PROGRAM.replace("print(", "assert 'libdemo' not in str(os.environ)\nprint(")
    result = record_script(run, seen, env=env)
    assert result.returncode == 3, result.stderr
    assert state_of(run, "demo") == [("on", "")]
    (state, message), = state_of(run, "plugins")
    assert state == "failed" and "other = nowhere:plugin: ModuleNotFoundError" in message


def test_packages_that_are_broken_keep_no_process_from_being_recorded(tmp_path):
    package = tmp_path / "site"
    for name, text in (("accents", b"[console_scripts]\nf\xe9 = a:b\n"),
                       ("ends", b"[crosscut.plugins]\nends = ends:plugin\n"),
                       ("bytes", b"[crosscut.plugins]\nbytes = of_bytes:plugin\n"),
                       ("folder", None)):
        info = package / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        if text is None:
            (info / "entry_points.txt").mkdir()
        else:
            (info / "entry_points.txt").write_bytes(text)
    (package / "ends.py").write_text("import sys\nsys.exit('no such chip')\n")
    (package / "of_bytes.py").write_text(f"plugin = {os.fsencode(DEMO)!r}\n")
    run = tmp_path / "run"
    env = {"PYTHONPATH": f"{PACKAGE}:{package}", "STEPS": "2"}
    result = record_script(run, PROGRAM, env=env)
    assert result.returncode == 3, result.stderr
    assert state_of(run, "demo") == [("on", "")]
    (state, message), = state_of(run, "plugins")
    assert state == "failed" and "ends = ends:plugin: SystemExit: no such chip" in message


def test_plugins_installed_for_tensorflow_are_loaded_when_asked_for_and_else_told(tmp_path):
    folder = tmp_path / "site" / "tensorflow-plugins"
    folder.mkdir(parents=True)
    for name in ("libchip.so", "libother.so.1", "libcrosscut_tensorflow.so"):
        (folder / name).symlink_to(DEMO)
    (folder / "libother.so.bak").write_text("no library")
    env = {"PYTHONPATH": f"{PACKAGE}:{tmp_path / 'site'}", "STEPS": "2"}
    run, told = tmp_path / "run", "Source tensorflow-plugins not asked for in "
    record_script(run, PROGRAM, "--plugin", "tensorflow-plugins", env=env)
    assert state_of(run, "chip") == [("on", "")]
    assert told not in crosscut("report", run)
    for flags, names in (((), "libchip.so, libother.so.1:"),
                         (("--plugin", folder / "libchip.so"), "libother.so.1:")):
        run = tmp_path / f"run{len(flags)}"
        record_script(run, PROGRAM, *flags, env=env)
        line, = [line for line in crosscut("report", run).splitlines() if told in line]
        assert names in " ".join(crosscut("report", run).split()), line
        assert state_of(run, "chip") == ([("on", "")] if flags else [])


@pytest.mark.parametrize("leave", ["exit", "_exit"])
def test_a_raw_clone_leaves_as_without_us_and_waits_for_no_thread(tmp_path, leave):
    run = tmp_path / "run"
    clone = ("import ctypes, signal\nlibc = ctypes.CDLL(None)\n"
             "pid = libc.syscall(56, int(signal.SIGCHLD), 0, 0, 0, 0)\n"
             f"if pid == 0: libc.{leave}(5)\n"
             "began = time.monotonic()\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
             "print('slow' if time.monotonic() - began > 5 else 'quick')\nprint(")
    result = record_script(run, PROGRAM.replace("print(", clone), "--plugin", DEMO,
                           env={"STEPS": "2"})
    assert (result.returncode, result.stdout) == (3, "5\nquick\nthe answer is 42\n")


# Collects four bytes, a while after it was told to stop.
SLOW = r"""
#include <string.h>
#include <unistd.h>
#include "crosscut/plugin.h"
static void Start(const TP_Profiler* profiler, TF_Status* status) {}
static void Stop(const TP_Profiler* profiler, TF_Status* status) { usleep(300000); }
static void Collect(const TP_Profiler* profiler, uint8_t* bytes, size_t* size, TF_Status* status) {
  if (bytes) memset(bytes, 0, *size);
  *size = 4;
}
static void Destroy(TP_Profiler* profiler) {}
static void DestroyFns(TP_ProfilerFns* fns) {}
void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler->device_type = "SLOW";
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler_fns->start = Start;
  params->profiler_fns->stop = Stop;
  params->profiler_fns->collect_data_xspace = Collect;
  params->destroy_profiler = Destroy;
  params->destroy_profiler_fns = DestroyFns;
}
"""


def test_what_a_slow_plugin_hands_over_goes_to_the_run_it_is_of(tmp_path):
    library = tmp_path / "libslow.so"
    subprocess.run(["cc", "-xc", "-", "-shared", "-fPIC", "-o", library, "-I", ROOT / "include"],
                   input=SLOW, text=True, check=True)
    program = """
import resource, sys, time, crosscut
crosscut.start("one"); time.sleep(.1); crosscut.stop()
if sys.argv[1] == "fails":
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, open_files[1]))
started = crosscut.start("two")
if sys.argv[1] == "fails":
    resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
time.sleep(.6); print(started); crosscut.stop()
"""
    for way, started in ("starts", True), ("fails", False):
        folder = tmp_path / way
        folder.mkdir()
        done = subprocess.run([sys.executable, "-c", program, way], cwd=folder, text=True,
                              capture_output=True, timeout=100,
                              env={**os.environ, "CROSSCUT_PLUGINS": str(library)})
        assert (done.returncode, done.stdout) == (0, f"{started}\n"), done.stderr
        assert len(list((folder / "one").glob("*.xplane.pb"))) == 1
        assert len(list((folder / "two").glob("*.xplane.pb"))) == started
