"""crosscut.torch.profile in a process that records already: a window of that recording, which has
what the profile has alone, and the recording goes on."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from runs import PACKAGE, ROOT, crosscut, record, record_script, table

from crosscut import read

HERE = pathlib.Path(__file__).parent
CUPTI = PACKAGE / "crosscut" / "plugins" / "cupti" / "libcrosscut_cupti.so"
FAKE = ROOT / "build" / "release" / "plugins" / "cupti" / "libfake_cupti.so"

# Of all kinds: with inputs, modules, other threads, children, nodes that Python makes.
PROGRAMS = ["perceptron", "convolutions", "transformer", "lstm", "adam", "checkpointing",
            "double_backward", "own_function", "scopes", "recursion", "traced_script", "loader",
            "loader_with_workers", "forked_child", "threads", "backward_on_a_thread", "hooks"]


@pytest.mark.parametrize("flags", [(), ("--plan=light", "--control-steps=50", "--allocations"),
                                   ("--dormant",)])
def test_rows_counts_and_bytes_are_torch_profilers(flags, tmp_path):
    done = record(tmp_path / "run", [sys.executable, HERE / "profile_compare.py", *PROGRAMS],
                  *flags)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == PROGRAMS
    for name, (theirs, ours) in found.items():
        assert {key: row[:3] for key, row in ours.items()} == \
               {key: row[:3] for key, row in theirs.items()}, name


HEAD = """
import json, os, sys, threading, warnings
import torch, crosscut
from crosscut.torch import profile, record_function, schedule, ProfilerActivity
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 8)
def train():
    with record_function("my step"):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
def told(prof):
    return sorted([event.name, event.count, event.scope, event.sequence_nr >= 0,
                   event.cpu_parent.name if event.cpu_parent else "", event.input_shapes]
                  for event in prof.events())
for _ in range(3):
    train()
"""


def alone(text, *arguments):
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scopes(run):
    """How often the program's own is in a run."""
    return sum(row["name"] == "my step" for row in read(run).table("spans").rows())


def recorded(folder, text, *flags):
    done = record_script(folder / "run", text, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


STACKS = HEAD + """
def helper(y):
    return torch.tanh(y)
def run():
    for _ in range(2):
        train()
    return sorted(map(len, [helper(x).tolist()]))
with profile(with_stack=True, record_shapes=True) as prof:
    run()
print(json.dumps([told(prof), sorted("\\n".join(event.stack) for event in prof.events())]))
"""


def known(text, flags):
    """Of a function that has a namesake in a file of the same name the folder is not told: there
    are more of them where the whole program's calls are recorded."""
    return re.sub(r"[\w.]+/", "", text) if "--python=calls" in flags else text


@pytest.mark.parametrize("flags", [(), ("--python=calls",), ("--python=off", "--shapes")])
def test_python_functions_and_stacks_are_those_of_a_profile_alone(flags, tmp_path):
    # A script and -c differ in the name of the program's own file.
    script = tmp_path / "run.py"
    script.write_text(STACKS)
    single = subprocess.run([sys.executable, script], capture_output=True, text=True)
    ours, theirs = (json.loads(text) for text in (recorded(tmp_path, STACKS, *flags),
                                                  single.stdout))
    for both in zip(ours, theirs):
        mine, its = (collections.Counter(known(str(row), flags) for row in rows) for rows in both)
        assert (mine - its, its - mine) == (collections.Counter(), collections.Counter())
    assert any("run.py" in stack and "helper" in stack for stack in ours[1])
    if flags[:1] != ("--python=calls",):
        names = {row["name"].split(" (")[0] for row in table(tmp_path / "run", "functions")
                 if row["layer"] == "python"}
        assert "helper" in names  # the outer recording has what the profile asked for


CYCLES = HEAD + """
ready = []
def on_ready(prof):
    prof.export_chrome_trace(f"{os.environ['OUT']}/cycle{len(ready)}.json")
    ready.append([row.count for row in prof.key_averages() if row.key == "aten::addmm"])
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), record_shapes=True,
             on_trace_ready=on_ready) as prof:
    for step in range(10):
        if step == 3:
            prof.add_metadata("job", "seven")
        train()
        prof.step()
print(json.dumps(ready))
prof.save(f"{os.environ['OUT']}/kept")
for _ in range(5):
    train()
"""


def test_every_cycle_of_a_schedule_is_a_window_and_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("OUT", str(tmp_path))
    assert json.loads(recorded(tmp_path, CYCLES, "--plan=light", "--control-steps=30")) == \
        [[4], [4]]
    for cycle in (0, 1):
        trace = json.loads((tmp_path / f"cycle{cycle}.json").read_text())
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        names = [event["name"] for event in events]
        assert sum(name.startswith("ProfilerStep#") for name in names) == 2
        assert names.count("my step") == 2 and names.count("aten::addmm") == 4
        assert any("Input Dims" in event.get("args", {}) for event in events)
        assert "seven" in json.dumps(trace)
    kept = read(tmp_path / "kept")
    assert [row["count"] for row in kept.table("functions").rows()
            if row["name"] == "aten::addmm"] == [4]
    assert [gap for gap in kept.gaps if "control steps" not in gap] == []
    assert "seven" not in crosscut("info", tmp_path / "run")
    # Every step is the outer recording's, and those of the windows have all of it.
    steps = table(tmp_path / "run", "steps")
    assert len(steps) == 18
    assert {row["control"] for row in steps if 3 + 2 <= row["step"] < 3 + 4} == {0}


def test_what_is_open_around_a_profile_is_whole_in_the_outer_recording(tmp_path):
    text = HEAD + """
with crosscut.operation("around"):
    train()
    with profile() as prof:
        train()
    train()
names = [name for name, *_ in told(prof)]
print(names.count("my step"), names.count("aten::addmm"), "around" in names)
"""
    assert recorded(tmp_path, text) == "1 2 False\n"
    run = tmp_path / "run"
    assert [row["count"] for row in table(run, "operations")
            if row["operation"] == "around"] == [1]
    assert "unbalanced" not in crosscut("report", run)


TOGGLED = HEAD + """
with profile(activities=[ProfilerActivity.CPU]) as prof:
    train()
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    train()
    prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    train()
print(next(row.count for row in prof.key_averages() if row.key == "my step"))
"""


def test_collection_can_be_switched_inside_a_window(tmp_path):
    assert recorded(tmp_path, TOGGLED) == "2\n"
    assert scopes(tmp_path / "run") == 6


def test_in_a_session_of_the_programs_own_a_profile_is_a_window_too(tmp_path):
    text = HEAD + """
assert crosscut.start(sys.argv[1])
train()
with profile(record_shapes=True) as prof:
    train()
train()
inside = told(prof)
crosscut.stop()
with profile(record_shapes=True) as prof:
    train()
print(inside == told(prof), len(inside) > 10, crosscut.active())
"""
    assert alone(text, tmp_path / "own") == "True True False\n"
    assert scopes(tmp_path / "own") == 3


def test_a_forked_child_of_a_window_records_on_and_profiles_itself(tmp_path):
    text = HEAD + """
with profile(record_shapes=True, with_stack=True) as prof:
    child = os.fork()
    if child == 0:
        train()
        with profile() as own:
            train()
        print([name for name, *_ in told(own)].count("my step"), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    train()
print([name for name, *_ in told(prof)].count("my step"))
"""
    assert recorded(tmp_path, text) == "1\n1\n"


@pytest.mark.parametrize("stops", ["before", "in both"])
def test_a_child_that_looks_at_its_parents_profile_leaves_it_to_the_parent(stops, tmp_path):
    text = HEAD + f"""
prof = profile()
prof.start()
train()
if {stops!r} == "before":
    prof.stop()
for _ in range(2):
    child = os.fork()
    if child == 0:
        if {stops!r} != "before":
            prof.stop()
        print([name for name, *_ in told(prof)].count("my step"), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
prof.stop()
print([name for name, *_ in told(prof)].count("my step"), prof.profiler.run.path[-4:])
"""
    assert recorded(tmp_path, text) == "1\n1\n1 /run\n"


def test_threads_may_ask_for_the_results_of_one_profile_at_once(tmp_path):
    text = HEAD + """
with profile() as prof:
    for _ in range(30):
        train()
found, asks = [], threading.Barrier(4)
def ask():
    asks.wait()
    found.append([name for name, *_ in told(prof)].count("my step"))
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
"""
    assert recorded(tmp_path, text) == "[30, 30, 30, 30]\n"


def test_blocks_of_a_window_are_no_leaks_of_the_outer_recording(tmp_path):
    text = HEAD + """
held = None
def step():
    global held
    held = torch.zeros(1000)  # until the next one's is there
    train()
with profile(profile_memory=True, schedule=schedule(wait=1, warmup=1, active=1, repeat=6)) as prof:
    for _ in range(20):
        step()
        prof.step()
for _ in range(10):
    step()
"""
    recorded(tmp_path, text, "--control-steps=0")
    run = tmp_path / "run"
    assert [row["finding"] for row in table(run, "memory_leaks") if row["finding"]] == []
    assert any("held when allocations were recorded no more" in gap for gap in read(run).gaps)


@pytest.mark.skipif(not FAKE.exists(), reason="built without CUPTI's headers")
def test_work_of_devices_is_that_which_ran_in_the_window(tmp_path):
    text = f"FAKE = {str(FAKE)!r}" + HEAD + """
import ctypes, time
cuda = ctypes.CDLL(FAKE)
cuda.fake_launch.argtypes = [ctypes.c_char_p, ctypes.c_int64]
deadline = time.monotonic() + 30
while not cuda.fake_is_heard() and time.monotonic() < deadline:
    time.sleep(0.01)
def work(name):
    for _ in range(5):
        cuda.fake_launch(name, 400_000)
    cuda.fake_synchronize()
work(b"_Z6beforePf")
with profile() as prof:
    with record_function("launching"):
        work(b"_Z6insidePf")
work(b"_Z5afterPf")
print([event.name for event in prof.events() if event.device_type != torch.autograd.DeviceType.CPU])
print([len(event.kernels) for event in prof.events() if event.name == "launching"],
      prof.run.table("kernels")["name"], [gap for gap in prof.run.gaps if "cupti" in gap])
work(b"_Z5laterPf")
"""
    ours, tables = recorded(tmp_path, text, f"--plugin={CUPTI},library={FAKE}").splitlines()
    assert ours == str(["inside(float*)"] * 5)
    assert tables == "[5] ['inside(float*)'] []"
    outer = {row["name"]: row["count"] for row in table(tmp_path / "run", "kernels")}
    assert outer == {f"{name}(float*)": 5 for name in ("before", "inside", "after", "later")}


def test_what_cannot_be_had_is_said(tmp_path):
    text = HEAD + """
def profiled(before, inside):
    before()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with profile() as prof:
            train()
            inside()
            train()
    crosscut.resume()
    return [str(one.message) for one in told], len(prof.key_averages())
print(*profiled(crosscut.pause, int))
print(*profiled(int, crosscut.stop))
"""
    paused, stopped = recorded(tmp_path, text).splitlines()
    assert paused == "['nothing is recorded by this profile: the session is paused'] 0"
    assert stopped.startswith("['the recording ended before this profile, which has no more")
    assert not stopped.endswith(" 0")
