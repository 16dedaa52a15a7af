"""Recording on demand: `crosscut start`, `stop` and `snapshot` beside programs that wait."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest

import crosscut
from runs import CROSSCUT, PACKAGE

CYCLES = int(os.environ.get("CROSSCUT_TEST_DEMAND", "15"))  # of two windows each

MARKER = """
import os, sys, time
def ready(pid=os.getpid()):
    with open(sys.argv[1] + ".tmp", "w") as file:
        file.write(str(pid))
    os.rename(sys.argv[1] + ".tmp", sys.argv[1])
def goes_on():
    return not os.path.exists(sys.argv[1] + ".end")
"""

# Four ranks that train in lockstep, as collectives make them; their parent counts no steps.
JOB = MARKER + """
import multiprocessing as mp
import torch, crosscut
torch.set_num_threads(1)
def rank(barrier, finish):
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 16)
    while True:
        crosscut.step()
        with crosscut.operation("train"):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        if barrier.wait() == 0:
            if not os.path.exists(sys.argv[1]):
                ready(os.getppid())
            if not goes_on():
                finish.set()
        barrier.wait()
        if finish.is_set():
            return
if __name__ == "__main__":
    fork = mp.get_context("fork")
    barrier, finish = fork.Barrier(4), fork.Event()
    ranks = [fork.Process(target=rank, args=(barrier, finish)) for _ in range(4)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    sys.exit(any(process.exitcode for process in ranks))
"""


class Program:
    """A program under `crosscut record --dormant` (or other flags), until the test ends it."""

    def __init__(self, folder, text, *flags, command=None):
        self.run = folder / "run"
        self.mark = folder / "mark"
        script = folder / "program.py"
        script.write_text(text)
        command = command or [sys.executable, script, self.mark]
        env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        self.process = subprocess.Popen(
            [CROSSCUT, "record", "-o", self.run, *(flags or ["--dormant"]), "--", *command],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def await_ready(self):
        deadline = time.monotonic() + 600
        while not self.mark.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.pid = int(self.mark.read_text())
        return self

    def ring(self):
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        return pathlib.Path(re.search(r"/\S+/crosscut-\S+\.ring", maps)[0])

    def end(self):
        pathlib.Path(f"{self.mark}.end").touch()
        out, err = self.process.communicate(timeout=600)
        assert self.process.returncode == 0, err
        return out, err


@contextlib.contextmanager
def program(folder, text, *flags, **options):
    it = Program(folder, text, *flags, **options)
    try:
        yield it.await_ready()
    finally:
        if it.process.poll() is None:
            pathlib.Path(f"{it.mark}.end").touch()
            with contextlib.suppress(subprocess.TimeoutExpired):
                it.process.communicate(timeout=2)
        if it.process.poll() is None:
            for pid in children(it.process.pid):  # `record` passes no SIGKILL on
                os.kill(pid, signal.SIGKILL)
            it.process.kill()
            it.process.communicate()


def ask(verb, target, *flags, code=0, **options):
    result = subprocess.run([CROSSCUT, verb, str(target), *map(str, flags)], capture_output=True,
                            text=True, timeout=600, **options)
    assert result.returncode == code, (result.stdout, result.stderr)
    return result.stdout + result.stderr


def windows(run):
    rows = list(crosscut.read(run).table("windows").rows())
    by_number = {}
    for row in rows:
        by_number.setdefault(row["window"], []).append(row)
    return by_number


def memory_kib(pid):
    """What is the process's own: the ring is a mapping that is shared, and bounded."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1])


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_ranks_start_and_stop_at_the_same_steps_again_and_again(tmp_path):
    with program(tmp_path, JOB) as job:
        ranks = children(job.pid)
        assert len(ranks) == 4
        memory = {}
        for cycle in range(CYCLES):
            ask("start", job.run)
            ask("stop", job.run)
            ask("start", job.run, "--steps", "3")
            if cycle == min(5, CYCLES // 2):
                memory = {pid: memory_kib(pid) for pid in ranks}
        grown = {pid: memory_kib(pid) - before for pid, before in memory.items()}
        job.end()
    by_number = windows(job.run)
    assert len(by_number) >= 2 * CYCLES  # more, where some were late for a step and all tried again
    whole = 0
    for rows in by_number.values():
        assert rows and all(row["complete"] for row in rows)
        counting = [row for row in rows if row["first_step"] >= 0]
        if len(rows) < 5 or len(counting) < 4:
            continue
        whole += 1
        assert len({(row["first_step"], row["steps"]) for row in counting}) == 1
    assert whole >= 2 * CYCLES
    # A window more must cost nothing: 1000 of them would be 4 MiB at 4 KiB each.
    cycles = max(1, CYCLES - min(5, CYCLES // 2) - 1)
    assert max(grown.values()) < 2048 + 8 * cycles, grown
    drops = list(crosscut.read(job.run).table("drops").rows())
    assert not drops


LOOK = """
import ctypes, sys
def in_place(torch):
    # Everything that recording this program changes: (finders, profile hooks, callbacks, thunks,
    # wrappers).
    import threading
    callbacks = ctypes.CDLL(torch._C.__file__.replace("_C.cpython-311-x86_64-linux-gnu.so",
                            "lib/libtorch_cpu.so"))._ZN2at18hasGlobalCallbacksEv
    callbacks.restype = ctypes.c_bool
    def pointer(function):  # m_ml of a builtin, and its ml_meth
        table = ctypes.c_void_p.from_address(id(function) + 16).value
        return ctypes.c_void_p.from_address(table).value
    def slot(cls, offset):
        return ctypes.c_void_p.from_address(id(cls) + offset).value
    def code(function):  # what is run: a function that stays in its place has another one
        return ctypes.c_void_p.from_address(id(function) + 48).value
    builtin = type(len)
    return {
        "finders": [type(finder).__module__ for finder in sys.meta_path],
        "profile": (sys.getprofile(), sys.gettrace(), threading._profile_hook),
        "callbacks": callbacks(),
        "thunks": [pointer(torch._C._VariableFunctions.add), pointer(torch._C._nn.linear),
                   slot(torch.nn.Linear, 128), slot(builtin, 120), slot(builtin, 200)],
        "wrappers": [code(vars(torch.optim.Optimizer)["_patch_step_function"]),
                     code(vars(torch.optim.SGD)["step"]),
                     id(vars(torch.nn.Module).get("__init_subclass__")),
                     code(vars(threading.Thread)["_set_native_id"]),
                     code(vars(threading.Thread)["name"].fset),
                     code(vars(torch.utils.data.DataLoader)["__iter__"])],
    }
"""

WATCHED = MARKER + LOOK + """
import torch, json
import crosscut
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
before = in_place(torch)
loaded = [name for name in sys.modules if name in ("crosscut._pycalls", "crosscut.adapters.torch")]
ready()
changed = set()
while goes_on():
    step()
    if crosscut.active():
        inside = in_place(torch)
        changed |= {key for key in before if inside[key] != before[key]}
after = in_place(torch)
maps = open("/proc/self/maps").read()
print(json.dumps({"loaded": loaded, "recording changes": sorted(changed),
                  "left": [key for key in before if after[key] != before[key]],
                  "shim": "crosscut_pytorch" in maps or "libcrosscut_torch" in maps}))
"""


def test_nothing_is_in_place_before_a_window_nor_after_it(tmp_path):
    import json

    with program(tmp_path, WATCHED) as job:
        ask("start", job.run)
        time.sleep(0.5)
        ask("stop", job.run)
        out, _ = job.end()
    told = json.loads(out)
    assert told["loaded"] == []
    assert set(told["recording changes"]) == {"callbacks", "thunks", "wrappers"}
    assert told["left"] == []


def test_a_program_that_declares_no_steps_records_what_it_would_without_waiting(tmp_path):
    with program(tmp_path, WATCHED) as job:
        ask("start", job.run, "--steps", "5")
        ask("start", job.pid, "--seconds", "0.5")
        job.end()
    run = crosscut.read(job.run)
    rows = list(run.table("windows").rows())
    assert [row["window"] for row in rows] == [1, 2]
    assert rows[0]["steps"] == 5 and rows[1]["steps"] > 5
    assert rows[1]["wall_ns"] > 450_000_000
    counts = {row["operation"]: row["count"] for row in run.table("operations").rows()}
    assert counts["forward"] >= 10 and counts["backward"] >= 10 and counts["optimizer"] >= 10
    names = run.table("functions")["name"]
    assert "aten::linear" in names and "torch.Tensor.sum" in names
    states = {row["name"]: row["state"] for row in run.table("sources").rows()}
    assert states["pytorch"] == states["pycalls"] == states["operations"] == "on"


FLIGHT = MARKER + """
import crosscut
number = 0
ready()
while goes_on():
    number += 1
    crosscut.step()
    with crosscut.operation(f"part {number // 100}"):
        time.sleep(0.001)
print(number)
"""


@pytest.mark.parametrize("flags", [["--keep", "0.5"], ["--dormant", "--keep", "0.5"]])
def test_a_snapshot_tells_what_happened_just_before(tmp_path, flags):
    with program(tmp_path, FLIGHT, *flags) as job:
        if "--dormant" in flags:
            ask("snapshot", job.run, code=3)
            ask("start", job.run)
        time.sleep(2)
        assert "written" in ask("snapshot", job.pid)
        seen = list(crosscut.read(job.run).table("steps").rows())
        out, _ = job.end()
    assert seen and seen[-1]["step"] <= int(out)


BUSY = MARKER + """
import crosscut
part = crosscut.operation("part")
ready()
while goes_on():
    crosscut.step()
    for _ in range(200):
        with part:
            pass
    time.sleep(0.001)
"""


def test_a_snapshot_reaches_as_far_back_as_keep_says(tmp_path):
    with program(tmp_path, BUSY, "--keep", "0.5") as job:
        time.sleep(2)
        ask("snapshot", job.pid)
        ends = [row["end_ns"] for row in crosscut.read(job.run).table("spans").rows()
                if row["name"] == "part"]
        job.end()
    # What is kept goes in chunks, each of some milliseconds here; the session is four times as old.
    assert 0.49e9 < max(ends) - min(ends) < 0.9e9


STEPS = MARKER + """
import crosscut
for _ in range(3):
    crosscut.step()
ready()
while goes_on():
    crosscut.step()
    time.sleep(0.002)
time.sleep(float(os.environ.get("LINGER", "0")))
"""


def test_requests_that_cannot_be_met_say_why(tmp_path):
    with program(tmp_path, STEPS) as job:
        run = job.run
        assert "has begun already" in ask("start", run, "--at-step", 1, code=3)
        assert "it is not recording now" in ask("stop", run, code=3)
        assert "it is not recording now" in ask("snapshot", run, code=3)
        assert "there is no process 99999999" in ask("start", 99999999, code=3)
        assert "is not ready for this" in ask("start", os.getpid(), code=3)
        assert "is not a run" in ask("start", tmp_path, code=3)
        assert "neither a process id nor a run directory" in ask("start", "nothing", code=3)
        assert "--at-step" in ask("start", run, "--at-step", "x", code=2)
        # A start that lies far ahead waits in the process, and can be taken back.
        waiting = subprocess.Popen([CROSSCUT, "start", run, "--at-step", "1000000000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        assert "another crosscut command is at work" in ask("stop", run, code=3)
        waiting.kill()
        waiting.communicate()
        assert "an earlier request is still waiting" in ask("start", run, code=3)
        assert "was taken back" in ask("stop", run)
        ask("start", run)
        assert "is already recording, window" in ask("start", run, code=3)
        ask("stop", run)
        job.end()
        assert "no process of" in ask("start", run, code=3)


def test_a_step_that_has_begun_is_refused_however_short_steps_are(tmp_path):
    # Steps of a microsecond: the process takes such a request up before the command looks again.
    with program(tmp_path, STEPS.replace("time.sleep(0.002)", "pass")) as job:
        for _ in range(20):
            assert "step 1 has begun already" in ask("start", job.run, "--at-step", 1, code=3)
        assert "has begun" in ask("start", job.run)
        assert "is complete" in ask("stop", job.run)


def test_a_program_that_makes_no_more_steps_is_stopped_and_not_started(tmp_path):
    os.environ["LINGER"] = "60"
    try:
        with program(tmp_path, STEPS) as job:
            ask("start", job.run)
            pathlib.Path(f"{job.mark}.end").touch()
            time.sleep(0.3)
            assert "is complete" in ask("stop", job.run)
            said = ask("start", job.run, "--timeout", "1", code=1)
            assert "it began no step for 1 s" in said
            assert "window 2 has begun" in ask("start", job.run, "--now")
            ask("stop", job.run, "--now")
    finally:
        del os.environ["LINGER"]


FAILED, REQUEST, CONTROL = 184, 188, 840  # in a ring's header: format/ring.h


@pytest.mark.parametrize("word", [0x81, 0x1F, 0xFFFFFFFF, 0x80000003])
def test_a_request_word_that_means_nothing_bars_nobody(tmp_path, word):
    with program(tmp_path, STEPS) as job:
        with job.ring().open("r+b") as ring:
            ring.seek(CONTROL)
            ring.write(b"\xff" * 32)  # what a request says of its window
            ring.seek(REQUEST)
            ring.write(struct.pack("<I", word))
        ask("start", job.run, "--steps", 3)
        job.end()
    assert [row["steps"] for row in crosscut.read(job.run).table("windows").rows()] == [3]


FULL = MARKER + """
import resource, crosscut
done = 0
ready()
while goes_on():
    crosscut.step()
    for _ in range(1000):
        with crosscut.operation(f"part {done % 7}"):
            done += 1
    if os.path.exists(sys.argv[1] + ".full"):
        os.unlink(sys.argv[1] + ".full")
        size = max(os.path.getsize(os.path.join(os.environ["CROSSCUT_RUN"], name))
                   for name in os.listdir(os.environ["CROSSCUT_RUN"]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
print(done > 0)
"""


def test_a_disk_that_is_full_ends_the_window_and_nothing_else(tmp_path):
    with program(tmp_path, FULL) as job:
        ask("start", job.run)
        pathlib.Path(f"{job.mark}.full").touch()
        deadline = time.monotonic() + 60
        while job.ring().read_bytes()[FAILED:FAILED + 4] == bytes(4):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "its log could not be written" in ask("stop", job.run, code=1)
        assert "can no longer be written" in ask("start", job.run, code=1)
        out, err = job.end()
    assert out == "True\n"
    assert "recording stopped: " in err
    run = crosscut.read(job.run)
    assert any("its log could not be written" in gap for gap in run.table("gaps")["message"])
    (window,) = run.table("windows").rows()
    assert window["complete"] == 0
    parts = [row for row in run.table("operations").rows() if row["operation"].startswith("part ")]
    assert sum(row["count"] for row in parts) > 0


def test_another_user_may_not_ask(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with program(tmp_path, STEPS) as job:
        code = f"import os; os.setgid(65534); os.setuid(65534); " \
               f"os.execv('{CROSSCUT}', ['crosscut', 'start', '{job.pid}'])"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if "Permission denied" in result.stderr and "execv" in result.stderr:
            pytest.skip("the build folder is not readable for others")
        assert result.returncode == 3
        assert "belongs to another user" in result.stderr
        job.end()


FORKS = MARKER + """
import multiprocessing as mp
import crosscut
def child(armed=None):
    if armed is not None:
        armed.set()
    while goes_on():
        time.sleep(0.002)
if __name__ == "__main__":
    fork = mp.get_context("fork")
    armed = fork.Event()
    early = fork.Process(target=child, args=(armed,))
    early.start()
    armed.wait()  # it can be asked, too
    ready()
    while not crosscut.active():
        crosscut.step()
        time.sleep(0.002)
    late = fork.Process(target=child)
    late.start()
    while goes_on():
        crosscut.step()
        time.sleep(0.002)
    early.join()
    late.join()
    quick = fork.Process(target=int)
    quick.start()
    quick.join()
"""


def test_children_are_in_the_window_and_leave_it_with_their_parent(tmp_path):
    with program(tmp_path, FORKS) as job:
        ask("start", job.run, "--seconds", "1.5")
        late = time.monotonic_ns()
        time.sleep(0.5)
        job.end()
    rows = list(crosscut.read(job.run).table("windows").rows())
    assert len(rows) == 3
    assert {row["window"] for row in rows} == {1}
    assert all(row["complete"] and row["end_ns"] <= late for row in rows)
    processes = list(crosscut.read(job.run).table("processes").rows())
    assert sorted(bool(row["parent"]) for row in processes) == [False, True, True]


ARMS_ITSELF = MARKER + """
import crosscut
assert crosscut.arm(sys.argv[2], control_percent=0), crosscut.error()
ready()
while goes_on():
    crosscut.step()
    time.sleep(0.002)
"""


def test_windows_of_a_removed_run_are_not_counted_where_its_number_comes_again(tmp_path):
    script, run = tmp_path / "program.py", tmp_path / "run"
    script.write_text(ARMS_ITSELF)
    rings = []
    for attempt in range(2):
        mark = tmp_path / f"mark{attempt}"
        process = subprocess.Popen([sys.executable, script, mark, run],
                                   env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        try:
            while not mark.exists():
                assert process.poll() is None
                time.sleep(0.01)
            assert "window 1, steps" in ask("start", run, "--steps", 3)
            assert "window 2, steps" in ask("start", run, "--steps", 3)
        finally:
            process.kill()  # so that its ring stays
            process.wait()
            rings += pathlib.Path("/dev/shm").glob(f"crosscut-*-{process.pid}-*.ring")
        shutil.rmtree(run)
    assert len(rings) == 2
    for ring in rings:
        ring.unlink()


def test_a_dormant_run_that_nobody_asks_leaves_no_trace(tmp_path):
    with program(tmp_path, STEPS) as job:
        _, err = job.end()
    assert "nobody asked for it" in err
    assert [path.name for path in job.run.iterdir() if path.suffix == ".crosscut"] == []
    assert not [name for name in os.listdir("/dev/shm") if f"-{job.pid}-" in name]


def test_a_program_may_arm_itself(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MARKER + """
import crosscut
assert crosscut.arm(sys.argv[2], control_percent=0), crosscut.error()
assert not crosscut.arm(sys.argv[2]) and "armed already" in crosscut.error()
assert not crosscut.start(sys.argv[2] + "-other")
assert crosscut.start() and crosscut.active() and crosscut.stop()
ready()
while goes_on():
    crosscut.step()
    time.sleep(0.002)
""")
    mark, run = tmp_path / "mark", tmp_path / "run"
    process = subprocess.Popen([sys.executable, script, mark, run],
                               env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    try:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.01)
        assert "window 2, steps" in ask("start", process.pid, "--steps", 5)
    finally:
        pathlib.Path(f"{mark}.end").touch()
        assert process.wait(60) == 0
    rows = list(crosscut.read(run).table("windows").rows())
    assert [row["window"] for row in rows] == [1, 2] and rows[1]["steps"] == 5
