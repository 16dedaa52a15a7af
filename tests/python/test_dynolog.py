"""crosscut.dynolog beside a daemon that speaks dynolog's protocol as its source has it."""

import json
import os
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import time

import pytest

import crosscut
from crosscut import _read, dynolog

PACKAGE = pathlib.Path(crosscut.__file__).parent.parent
CROSSCUT = pathlib.Path(crosscut.__file__).parent / "bin" / "crosscut"


class Daemon:
    """dynologd's IPC monitor: registers, and gives each group of processes its configuration once.
    Written from the layouts of Utils.h and FabricManager.h: metadata {size_t size; char type[32]},
    LibkinetoContext {int32 gpu; int32 pid; int64 jobid}, LibkinetoRequest {int type; int n;
    int64 jobid; int32 pids[]}."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "dynolog"))
        self.socket.settimeout(30)
        self.registered, self.asked = [], []
        self.configuration = b""

    def serve(self, until):
        deadline = time.monotonic() + 120
        while not until(self):
            assert time.monotonic() < deadline, (self.registered, self.asked)
            message, client = self.socket.recvfrom(1 << 16)
            size, kind = struct.unpack_from("@Q32s", message)
            body = message[40:]
            assert size == len(body)
            kind = kind.rstrip(b"\0")
            if kind == b"ctxt":
                gpu, pid, job = struct.unpack("@iiq", body)
                self.registered.append((pid, job))
                self.answer(client, b"ctxt", struct.pack("@i", len(self.registered)))
            else:
                assert kind == b"req", kind
                what, count, job = struct.unpack_from("@iiq", body)
                assert what == 2 and len(body) == 16 + 4 * count
                self.asked.append(struct.unpack_from(f"@{count}i", body, 16))
                configuration, self.configuration = self.configuration, b""
                self.answer(client, b"req", configuration)

    def answer(self, client, kind, body):
        self.socket.sendto(struct.pack("@Q32s", len(body), kind) + body, client)


@pytest.fixture
def fabric(tmp_path, monkeypatch):
    folder = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/dyno-XXXXXX"], check=True,
                                         capture_output=True, text=True).stdout.strip())
    monkeypatch.setenv("KINETO_IPC_SOCKET_DIR", str(folder))
    monkeypatch.setenv("KINETO_ONDEMAND_TRACE_DIR", str(tmp_path))
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


PROGRAM = """
import os, time, crosscut
parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    crosscut.step()
    with crosscut.operation("train"):
        time.sleep(0.01)
"""


def test_a_trigger_of_the_daemon_becomes_a_window_and_a_trace(tmp_path, fabric):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "SLURM_JOB_ID": "17"}
    daemon = Daemon(fabric)
    program = subprocess.Popen(
        [CROSSCUT, "record", "--dormant", "--sources=none", "--python=off",
         "--control-steps=0", "-o", run, "--",
         sys.executable, script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    assert program.stdout.readline() == "ready\n"
    helper = subprocess.Popen([sys.executable, "-m", "crosscut.dynolog", run], env=env,
                              stderr=subprocess.PIPE, text=True)
    try:
        daemon.serve(lambda it: it.asked)
        pid, job = daemon.registered[0]
        assert job == 17 and daemon.asked[0][0] == pid and program.pid in daemon.asked[0]
        trace = tmp_path / f"trace_{pid}.json"
        # As the command `dyno gputrace --iterations 5` has it.
        daemon.configuration = (
            f"ACTIVITIES_LOG_FILE={tmp_path}/trace.json\nPROFILE_START_ITERATION=0\n"
            "PROFILE_START_ITERATION_ROUNDUP=1\nACTIVITIES_ITERATIONS=5\n"
            "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_WITH_STACK=false\n"
            "REQUEST_TRACE_ID=123\n").encode()
        daemon.serve(lambda it: trace.exists())
        names = [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]]
        assert names.count("train") == 5
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()
    # It asks as long as there is a process, and this one ends as its parent has.
    daemon.socket.close()
    words = helper.communicate(timeout=60)[1]
    assert helper.returncode == 0 and "5 steps, as dynolog asks" in words, words


GOOD = "ACTIVITIES_LOG_FILE=/tmp/libkineto.json\nPROFILE_START_TIME=0\n" \
       "ACTIVITIES_DURATION_MSECS=500\nPROFILE_WITH_STACK=true\n"


def test_configurations_of_the_command_are_understood(monkeypatch):
    monkeypatch.delenv("KINETO_ONDEMAND_TRACE_DIR", raising=False)
    window = dynolog.Window(GOOD)
    assert (window.seconds, window.steps, window.begins) == (0.5, 0, 0)
    assert window.file_of(7) == "/tmp/libkineto_7.json"


@pytest.mark.parametrize("bad", [
    "", "ACTIVITIES_LOG_FILE=/tmp/x.json", "ACTIVITIES_DURATION_MSECS=-1",
    "ACTIVITIES_DURATION_MSECS=5\nACTIVITIES_ITERATIONS=5", "ACTIVITIES_ITERATIONS=1e3",
    "ACTIVITIES_ITERATIONS=99999999999999999999999", "ACTIVITIES_DURATION_MSECS=\u0665",
    GOOD.replace("/tmp/", "/etc/"), GOOD.replace("/tmp/", "/tmp/../etc/"),
    GOOD.replace("/tmp/libkineto", "relative"), GOOD.replace("/tmp/libkineto", "/tmp/a\x1bb")])
def test_what_is_wrong_or_reaches_out_is_refused(monkeypatch, bad):
    monkeypatch.delenv("KINETO_ONDEMAND_TRACE_DIR", raising=False)
    with pytest.raises(dynolog.BadRequest):
        dynolog.Window(bad)


def test_no_answer_whatever_its_bytes_does_more_than_be_refused(fabric):
    draw = random.Random(47)
    daemon = Daemon(fabric)
    client = dynolog.Fabric()
    head = dynolog.pack("req", b"PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n")
    refused = 0
    for _ in range(500):
        answer = bytearray(head if draw.random() < 0.7 else draw.randbytes(draw.randrange(1, 200)))
        for _ in range(draw.randrange(4)):
            answer[draw.randrange(len(answer))] = draw.randrange(256)
        if draw.random() < 0.3:
            del answer[draw.randrange(1, len(answer) + 1):]
        client._drop_late_answers()
        daemon.socket.sendto(bytes(answer), client._address)
        try:
            received = client._receive("req")
            dynolog.Window(received.decode())
        except (dynolog.BadRequest, UnicodeDecodeError):
            refused += 1
    client.close()
    assert 250 < refused < 500


def test_without_a_daemon_nothing_happens(fabric):
    client = dynolog.Fabric()
    assert client.ask("ctxt", b"0123456789abcdef") is None
    client.close()
    assert not list(fabric.iterdir())


def test_abstract_names_end_as_the_daemons_do(monkeypatch):
    monkeypatch.delenv("KINETO_IPC_SOCKET_DIR", raising=False)
    assert dynolog.address("dynolog") == b"\0dynolog\0"
    client = dynolog.Fabric()
    name = client._socket.getsockname()
    assert re.fullmatch(rb"\0dynoconfigclient[-0-9a-f]{36}\0", name), name
    client.close()


@pytest.mark.parametrize("text, number", [
    ("0", 0), ("17", 17), ("9" * 19, None), ("9" * 18, 10**18 - 1), ("1" * 20, None), ("", None),
    ("-1", None), ("\u00b2", None), ("\u0661", None), ("1_0", None), (" 1", None), ("1\n", None)])
def test_a_job_is_digits_alone(monkeypatch, text, number):
    monkeypatch.setattr(dynolog, "_environment", lambda _: {"SLURM_JOB_ID": text})
    assert dynolog._job(1) == (number or 0)


LOOP = PROGRAM.replace("import os, time, crosscut", """import ctypes, os, time, crosscut
if os.environ.get("ARM"):
    assert crosscut.arm(os.environ["ARM"], python="off"), crosscut.error()
assert os.environ["KINETO_USE_DAEMON"] == "1"
assert ctypes.CDLL(None).getenv(b"KINETO_USE_DAEMON") == 0  # which Kineto would ask
""")


def ended(run, seconds=60):
    """Whether what answered for the run is gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = subprocess.run(["pgrep", "-f", f"crosscut.dynolog.*{run}"], capture_output=True)
        if found.returncode != 0:
            return True
        time.sleep(0.2)
    return False


@pytest.mark.parametrize("how", ["dormant", "recorded", "armed by itself"])
def test_with_the_variable_alone_a_process_answers_the_daemon(tmp_path, fabric, how):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text(LOOP)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINETO_USE_DAEMON": "1"}
    daemon = Daemon(fabric)
    command = [CROSSCUT, "record", *["--dormant"] * (how == "dormant"), "--sources=none",
               "--python=off", "--control-steps=0", "-o", run, "--", sys.executable, script]
    if how == "armed by itself":
        command, env["ARM"] = [sys.executable, script], str(run)
    program = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "ready\n"
        daemon.serve(lambda it: it.asked)
        pid, _ = daemon.registered[0]
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        assert children == "" and not any(
            "socket:" in os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir())
        trace = tmp_path / f"trace_{pid}.json"
        daemon.configuration = (f"ACTIVITIES_LOG_FILE={tmp_path}/trace.json\n"
                                "PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=400\n").encode()
        daemon.serve(lambda it: trace.exists())
        events = json.loads(trace.read_text())["traceEvents"]
        times = [event["ts"] for event in events if event.get("name") == "train"]
        assert times and program.poll() is None
    finally:
        program.kill()
        program.wait()
    daemon.socket.close()
    assert ended(run)
    if how == "recorded":  # the trace is a part of what is recorded
        rows = crosscut.read(run).table("operations").rows()
        assert sum(row["count"] for row in rows if row["operation"] == "train") > len(times)
    assert "a window of 0.400 seconds, as dynolog asks" in (run / "dynolog.log").read_text()


def test_a_window_ends_with_its_process(tmp_path, fabric):
    script, run, trace = (tmp_path / name for name in ("program.py", "run", "trace.json"))
    script.write_text("import sys, time\nimport crosscut\nwith crosscut.operation('train'):\n"
                      "    print('ready', flush=True)\n    sys.stdin.readline()\n")
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINETO_USE_DAEMON": "1"}
    daemon = Daemon(fabric)
    begun = time.monotonic()
    program = subprocess.Popen(
        [CROSSCUT, "record", "--sources=none", "--python=off", "-o", run, "--", sys.executable,
         script], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "ready\n"
        daemon.configuration = (f"ACTIVITIES_LOG_FILE={trace}\n"
                                "ACTIVITIES_DURATION_MSECS=3000000\n").encode()
        daemon.serve(lambda it: it.asked and "a window of" in (run / "dynolog.log").read_text())
        program.communicate("\n")
    finally:
        program.kill()
        program.wait()
    daemon.socket.close()
    assert ended(run)
    (file,) = tmp_path.glob("trace_*.json")
    events = [event for event in json.loads(file.read_text())["traceEvents"] if "ts" in event]
    length = max(event["ts"] + event.get("dur", 0) for event in events) - min(
        event["ts"] for event in events)
    assert length < 1e6 * (time.monotonic() - begun)


REAPER = """
import ctypes, os, sys, time
import crosscut
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
assert crosscut.arm(sys.argv[1], python="off") and crosscut.start() and crosscut.stop()
try:
    os.wait()
except ChildProcessError:
    print("no child")
"""


def test_a_file_has_what_plugins_hand_over_behind_its_window(tmp_path, fabric, monkeypatch):
    cuts = []
    monkeypatch.setattr(_read, "cut_run", lambda _run, _key, parts, *_: cuts.append(
        (parts[0][3], time.monotonic_ns())))
    monkeypatch.setattr(dynolog, "_key_of", lambda _run, _pid: "p1")
    window = dynolog.Window("ACTIVITIES_DURATION_MSECS=1\n"
                            f"ACTIVITIES_LOG_FILE={tmp_path}/trace.json")
    answers = dynolog.Answers(str(tmp_path), "true")
    answers._cut(os.getpid(), window, dynolog._now())
    answers.close()
    [(end, cut)] = cuts
    assert cut - end > 200_000_000  # they are flushed five times a second


def test_a_process_that_adopts_orphans_gets_no_child(tmp_path, fabric):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text(REAPER)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINETO_USE_DAEMON": "1"}
    done = subprocess.run([sys.executable, script, run], env=env, timeout=300,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no child\n", "")
    sources = crosscut.read(run).table("sources").rows()
    (told,) = [row for row in sources if row["name"] == "dynolog"]
    assert told["state"] == "missing" and f"crosscut.dynolog {run} outside" in told["message"]


def test_a_process_that_waits_for_no_children_is_answered_for_all_the_same(tmp_path, fabric):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + LOOP)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINETO_USE_DAEMON": "1", "ARM": str(run)}
    daemon = Daemon(fabric)
    program = subprocess.Popen([sys.executable, script], env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "ready\n"
        daemon.serve(lambda it: it.asked)
        assert daemon.registered[0][0] == program.pid
    finally:
        program.kill()
        program.wait()
    daemon.socket.close()
    assert ended(run)


WITHOUT_PROC = """
import os, sys
def fails(path): raise FileNotFoundError(path)  # no /proc here, or no descriptor is left
os.listdir = fails
import crosscut
print(crosscut.arm(sys.argv[1], python="off"))
assert crosscut.start() and crosscut.stop()
"""


def test_a_process_that_cannot_be_answered_for_is_armed_all_the_same(tmp_path, fabric):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINETO_USE_DAEMON": "1"}
    done = subprocess.run([sys.executable, "-c", WITHOUT_PROC, tmp_path / "run"], env=env,
                          timeout=300, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
    sources = crosscut.read(tmp_path / "run").table("sources").rows()
    (told,) = [row for row in sources if row["name"] == "dynolog"]
    assert told["state"] == "missing" and "could not be started" in told["message"]


def test_who_answers_for_a_run_is_one(tmp_path):
    assert dynolog._is_the_only_one(str(tmp_path))
    assert not dynolog._is_the_only_one(str(tmp_path))
    assert dynolog.main([str(tmp_path)]) == 0  # another does: nothing to complain of


def test_a_recorded_program_gets_no_daemon_without_the_variable(tmp_path, fabric):
    done = subprocess.run([CROSSCUT, "record", "-o", tmp_path / "run", "--", sys.executable, "-c",
                           "import crosscut"], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                          capture_output=True, text=True)
    assert done.returncode == 0 and not (tmp_path / "run" / "dynolog.log").exists()
