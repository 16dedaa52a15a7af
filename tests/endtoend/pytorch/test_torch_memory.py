"""crosscut record --allocations: PyTorch's memory, against what programs know of their own."""

import collections
import json
import pathlib
import subprocess
import sys

import pytest
import torch

from runs import crosscut, record_script, table

HERE = pathlib.Path(__file__).parent

# Allocates and frees at random on several threads, one after another, and prints what it did.
RANDOM = """
import json, random, threading
import torch, crosscut

random.seed(7)
lock, blocks, sizes, held = threading.Lock(), {}, {}, 0
told = {"allocations": 0, "frees": 0, "allocated_bytes": 0, "freed_bytes": 0}
peak, at_peak = 0, {}

def work(name):
    global held, peak, at_peak
    with crosscut.operation(name):
        for i in range(300):
            with lock:
                if blocks and random.random() < 0.45:
                    key = random.choice(list(blocks))
                    del blocks[key]
                    size = sizes.pop(key)
                    told["frees"] += 1
                    told["freed_bytes"] += size
                    held -= size
                else:
                    count = random.randrange(1, 5000)
                    sizes[name, i] = 4 * count
                    blocks[name, i] = torch.empty(count)
                    told["allocations"] += 1
                    told["allocated_bytes"] += 4 * count
                    held += 4 * count
                if held > peak:
                    peak, at_peak = held, {}
                    for (owner, _), size in sizes.items():
                        of = at_peak.setdefault(owner, [0, 0])
                        of[0] += 1
                        of[1] += size


threads = [threading.Thread(target=work, args=(name,)) for name in ("red", "green", "blue")]
for thread in threads:
    thread.start()
work("main")
for thread in threads:
    thread.join()
told.update(peak_bytes=peak, end_bytes=held)
print(json.dumps([told, at_peak]))
import os, sys
sys.stdout.flush()
crosscut.stop()  # what the interpreter frees at its end is not counted
"""


def test_the_tables_are_what_the_program_did(tmp_path):
    result = record_script(tmp_path / "run", RANDOM, "--allocations", "--control-steps=0")
    assert result.returncode == 0, result.stderr
    told, at_peak = json.loads(result.stdout)
    row, = table(tmp_path / "run", "memory")
    assert row["device"] == "cpu"
    assert {key: row[key] for key in told} == told

    rows = table(tmp_path / "run", "memory_peak")
    assert {r["operation"]: [r["blocks"], r["bytes"]] for r in rows} == at_peak
    assert {r["operator"] for r in rows} == {"aten::empty"}
    assert sum(r["bytes"] for r in rows) == told["peak_bytes"]

    empty, = (r for r in table(tmp_path / "run", "memory_operators")
              if r["operator"] == "aten::empty")
    assert empty["allocations"] == told["allocations"]
    assert empty["self_bytes"] == empty["total_bytes"] == told["allocated_bytes"]
    assert max(r["max_bytes"] for r in table(tmp_path / "run", "memory_timeline")) == \
        told["peak_bytes"]


LEAKS = """
import torch, crosscut
kept, one = [], None
for step in range(40):
    crosscut.step()
    with crosscut.operation("work"):
        if step == 3:
            one = torch.empty(1000)      # made once: not what grows
        before = torch.empty(50)         # lives into the next step
        if step % 2 == 0:
            kept.append(torch.empty(25)) # 100 bytes in every other step
crosscut.step_end()
crosscut.stop()
"""


KEEPS = """
import torch, crosscut
torch.set_num_threads(1)
kept = []
for _ in range(300):
    crosscut.step()
    kept.append(torch.empty(1 << 16))
    torch.mm(torch.ones(100, 100), torch.ones(100, 100))
"""


def test_allocations_of_every_step_but_control_steps_are_recorded(tmp_path):
    result = record_script(tmp_path / "run", KEEPS, "--allocations")
    assert result.returncode == 0, result.stderr
    steps = table(tmp_path / "run", "steps")
    seen = sum(not step["control"] for step in steps)
    assert seen < len(steps) == 300
    row, = table(tmp_path / "run", "memory")
    # The interpreter's end frees what the program kept, which is no change of the program's.
    assert row["end_bytes"] == row["peak_bytes"] - 3 * 40_000 == seen << 18


def test_what_is_kept_by_every_step_leaks(tmp_path):
    result = record_script(tmp_path / "run", LEAKS, "--allocations", "--control-steps=0")
    assert result.returncode == 0, result.stderr
    rows = table(tmp_path / "run", "memory_leaks")
    # Steps 0 to 37 can be judged: 38 and 39 have no two steps behind them.
    assert [(r["operation"], r["operator"], r["steps"], r["leaking_steps"], r["blocks"],
             r["bytes"], r["live_bytes"]) for r in rows] == \
        [("work", "aten::empty", 38, 20, 20, 19 * 100 + 4000, 19 * 100 + 4000)]
    said = [r["message"] for r in table(tmp_path / "run", "findings")
            if r["table"] == "memory_leaks"]
    assert len(said) == 1 and "20 of 38 steps" in said[0] and "aten::empty" in said[0]


TRAIN = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(64, 64), torch.randn(64, 8)
for _ in range(300):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def test_blocks_that_control_steps_free_are_no_leaks(tmp_path):
    result = record_script(tmp_path / "run", TRAIN, "--allocations", "--control-steps=50")
    assert result.returncode == 0, result.stderr
    steps = table(tmp_path / "run", "steps")
    # Half of them, but for the first six; blocks are whole, so that a few may lack.
    assert len(steps) == 300 and abs(sum(step["control"] for step in steps) - 147) <= 6
    # What one step made stays (the optimizer's state); what each makes is freed, by control steps,
    # too: at the peak the same blocks are held as where no step is a control step.
    assert table(tmp_path / "run", "memory_leaks") == []
    result = record_script(tmp_path / "all", TRAIN, "--allocations", "--control-steps=0")
    assert result.returncode == 0, result.stderr
    held, without = ([{**row, "process": ""} for row in table(tmp_path / name, "memory_peak")]
                     for name in ("run", "all"))
    assert held == without
    # The gradients of four parameters, and what the loss and the activation pass back.
    assert sum(row["blocks"] for row in held if row["operation"] == "backward") == 5


COMPARED = """
import sys, threading
import torch, crosscut

def program():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(144, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

options = dict(python="off", allocations=True, control_percent=0)
with crosscut.session(sys.argv[1] + "/warm", **options):  # calibration allocates, too
    program()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                            profile_memory=True) as prof:
    with crosscut.session(sys.argv[1] + "/run", **options):
        program()
        thread = threading.Thread(target=program)
        thread.start()
        thread.join()
prof.export_chrome_trace(sys.argv[1] + "/theirs.json")
"""


def memory_events(path):
    """By thread: (time, address, bytes, total allocated), in order of time."""
    threads = collections.defaultdict(list)
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["name"] == "[memory]":
            args = event["args"]
            assert (args["Device Type"], args["Device Id"]) == (0, -1)
            threads[event["tid"]].append((float(event["ts"]), args["Addr"], args["Bytes"],
                                          args["Total Allocated"]))
    return {tid: [event[1:] for event in sorted(events)] for tid, events in threads.items()}


def run(text, *arguments):
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_event_of_torch_profilers_is_ours_and_other_threads_beside(tmp_path):
    run(COMPARED, tmp_path)
    crosscut("export", tmp_path / "run", "--to=chrome", "-o", tmp_path / "ours.json")
    ours = memory_events(tmp_path / "ours.json")
    theirs = memory_events(tmp_path / "theirs.json")
    # torch.profiler keeps to the thread that started it (pytorch#192290).
    assert len(theirs) == 1 and len(ours) == 2
    (main, events), = theirs.items()
    assert len(events) > 300 and ours.pop(main) == events
    (other,) = ours.values()
    assert len(other) == len(events)  # the same program again
    # What we write we read again; scopes of PyTorch's (Optimizer.step#...) come back as operations.
    read, again = ([{key: value for key, value in row.items() if key != "process"}
                    for row in table(tmp_path / run, "memory_operators")
                    if row["operator"].startswith("aten::")] for run in ("run", "ours.json"))
    assert len(read) > 20 and read == again


AVERAGES = COMPARED.split("options =")[0] + """
import json
from crosscut.torch import profile
program()
for profiler in (torch.profiler.profile, profile):
    with profiler(profile_memory=True) as prof:
        program()
    print(json.dumps({row.key: (row.self_cpu_memory_usage, row.cpu_memory_usage)
                      for row in prof.key_averages()}))
"""


def test_key_averages_have_the_memory_of_torch_profilers(tmp_path):
    theirs, ours = map(json.loads, run(AVERAGES, tmp_path).splitlines())
    # "[memory]" is what is freed outside of all of them.
    for name in theirs.keys() - {"[memory]"}:
        assert ours[name] == theirs[name], name
    assert theirs["aten::mm"][0] > 0


OUT_OF_MEMORY = """
import os, resource, sys
import torch
size = 1 << 34
if os.fork() == 0:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
    kept = torch.empty(1000)
    try:
        torch.empty(size, dtype=torch.uint8)
    except RuntimeError as error:
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_an_allocation_that_fails_in_a_child_is_in_the_trace(tmp_path):
    alone = run(OUT_OF_MEMORY)
    assert "not enough memory" in alone or "can't allocate memory" in alone
    result = record_script(tmp_path / "run", OUT_OF_MEMORY, "--allocations")
    assert (result.returncode, result.stdout) == (0, alone)
    row, = table(tmp_path / "run", "memory_failures")
    assert (row["device"], row["operator"]) == ("cpu", "aten::empty")
    assert (row["asked_bytes"], row["allocated_bytes"]) == (1 << 34, 4000)
    assert any(r["table"] == "memory_failures" and "16 GiB" in r["message"]
               for r in table(tmp_path / "run", "findings"))
    crosscut("export", tmp_path / "run", "--to=chrome", "-o", tmp_path / "trace.json")
    events = [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
              if event["name"] == "[OutOfMemory]"]
    assert [event["args"]["Bytes"] for event in events] == [1 << 34]
    assert crosscut("report", tmp_path / "run", "--format=html").count("memory_failures") > 0


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    folder = pathlib.Path(torch.__file__).parent
    library = tmp_path_factory.mktemp("backend") / "backend.so"
    subprocess.run(["c++", "-std=c++20", "-O1", "-DNDEBUG", "-fPIC", "-shared", "-isystem",
                    folder / "include", HERE / "memory_backend.cc", "-o", library,
                    f"-L{folder / 'lib'}", "-lc10"], check=True)
    return library


def test_other_allocators_reports_are_seen_on_threads_of_theirs(tmp_path, backend):
    result = record_script(tmp_path / "run", f"""
import ctypes, torch
backend = ctypes.CDLL({str(backend)!r})  # before the session's sources came in: torch was first
""" + """
import crosscut
crosscut.pause(); crosscut.resume()      # libraries that came since are looked for
backend.backend_run(ctypes.c_int64(5), ctypes.c_int64(1000))
shared = torch.zeros(100)
shared.share_memory_()                   # a mapped file
del shared
crosscut.pause()
backend.backend_run(ctypes.c_int64(500), ctypes.c_int64(1000))
crosscut.resume()
crosscut.stop()
""", "--allocations")
    assert result.returncode == 0, result.stderr
    rows = {row["device"]: row for row in table(tmp_path / "run", "memory")}
    row = rows["privateuseone:1"]
    assert (row["allocations"], row["frees"], row["peak_bytes"], row["end_bytes"],
            row["failures"]) == (5, 5, 5000, 0, 1)
    # 400 bytes twice: by the allocator, then mapped.
    assert (rows["cpu"]["allocations"], rows["cpu"]["frees"]) == (2, 2)
    assert rows["cpu"]["allocated_bytes"] == 800
    failure, = table(tmp_path / "run", "memory_failures")
    assert (failure["asked_bytes"], failure["allocated_bytes"], failure["reserved_bytes"]) == \
        (1 << 40, 7, 1 << 20)


def test_nothing_stands_before_torchs_allocator_while_nothing_is_recorded(tmp_path, backend):
    said = run(f"""
import ctypes, sys, torch
backend = ctypes.CDLL({str(backend)!r})
""" + """
import crosscut
torchs = backend.backend_cpu_allocator_is_torchs
said = [torchs()]
crosscut.start(sys.argv[1] + "/none", control_percent=0)
said.append(torchs())
crosscut.stop()
crosscut.start(sys.argv[1] + "/run", control_percent=0, allocations=True)
said.append(torchs())
kept = torch.empty(10)
crosscut.pause()
said.append(torchs())
kept.resize_(1000)          # by the allocator that made it, which delegates
crosscut.resume()
said.append(torchs())
crosscut.stop()
said.append(torchs())
del kept
print(said)
""", tmp_path)
    assert said == "[1, 1, 0, 1, 0, 1]\n"
    row, = table(tmp_path / "run", "memory")
    # Its first 40 bytes came back in the pause, which is told; what it grew to is not known.
    assert (row["allocations"], row["frees"], row["end_bytes"]) == (1, 1, 0)
    assert table(tmp_path / "none", "memory") == []


STORM = """
import random, threading, time
import torch, crosscut
stop = False
def work(seed):
    generator, kept = random.Random(seed), []
    while not stop:
        kept.append(torch.empty(generator.randrange(1, 2000)))
        if len(kept) > 50:
            kept = [block for block in kept if generator.random() < 0.5]
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for _ in range(200):
    crosscut.pause()
    time.sleep(0.001)
    crosscut.resume()
    time.sleep(0.001)
stop = True
for thread in threads:
    thread.join()
crosscut.stop()
"""


def test_switching_while_threads_allocate_loses_nothing(tmp_path):
    result = record_script(tmp_path / "run", STORM, "--allocations")
    assert (result.returncode, result.stdout) == (0, "")
    row, = table(tmp_path / "run", "memory")
    assert row["allocations"] > 1000
    # A free that was under way at a switch may be lost with it, and is repaired or held at the end.
    assert 0 <= row["allocations"] - row["frees"] <= 5
    assert row["end_bytes"] <= 5 * 8000


def test_forked_workers_have_tables_of_their_own(tmp_path):
    result = record_script(tmp_path / "run", """
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.full((1000,), float(index))

loader = DataLoader(Numbers(), batch_size=8, num_workers=2, multiprocessing_context="fork")
print(sum(float(batch.sum()) for batch in loader))
""", "--allocations")
    assert (result.returncode, result.stdout) == (0, "2016000.0\n")
    # Each worker makes half of the samples, and a byte or two for each batch.
    made = {row["process"]: row["allocated_bytes"]
            for row in table(tmp_path / "run", "memory_operators")
            if row["operator"] == "aten::empty"}
    parent = next(row["process"] for row in table(tmp_path / "run", "processes")
                  if row["parent"] == "")
    assert [size // 1000 for process, size in made.items() if process != parent] == [128, 128]
    # A batch lies in a mapped file, which its worker makes and the parent maps.
    rows = {row["process"]: row for row in table(tmp_path / "run", "memory")}
    assert len(rows) == 3
    assert all(rows[process]["allocated_bytes"] >= 8 * 8 * 4000 for process in rows)
