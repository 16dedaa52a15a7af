"""Python functions and stacks of crosscut.torch.profile beside torch.profiler's."""

import collections
import json
import re
import subprocess
import sys

import pytest

HEAD = """
import collections, contextlib, gc, json, os, re, sys, threading, warnings
import torch
from torch.utils.checkpoint import checkpoint
from {module} import profile, record_function, schedule, ProfilerActivity
from torch._C._profiler import _ExperimentalConfig
warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.manual_seed(0)
verbose = dict(experimental_config=_ExperimentalConfig(verbose=True))  # torch.profiler's stacks
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters())
x = torch.randn(4, 8)
def plain(frame):
    \"\"\"Without the module of a native function, or its address: one of the two knows it.\"\"\"
    frame = re.sub(r"<built-in (?:method|function) (\\S+?)(?: of .*)?>$",
                   lambda parts: parts[1].rpartition(".")[2], frame)
    return frame
def is_operator(name):
    return not name.startswith(("<", "nn.Module: ")) and "): " not in name
"""

PROGRAMS = {
    "training": """
def run():
    optimizer.zero_grad()
    net(x).square().sum().backward()
    optimizer.step()
""",
    "recursion": """
def down(y, n):
    if n:
        return down(y, n - 1)
    return torch.square(y).relu()
def run():
    down(x, 3)
    down(x, 1)
""",
    "lines": """
def run():
    y = torch.tanh(x)
    y = torch.tanh(y)
    for _ in range(3):
        y = torch.tanh(y)
""",
    "scopes": """
def run():
    with record_function("outer"):
        with record_function("inner"):
            net(x)
        net(x)
""",
    "checkpointing": """
def run():
    y = x.clone().requires_grad_()
    checkpoint(net, y, use_reentrant=False).sum().backward()
""",
    "own function": """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, y):
        return y * 2
    @staticmethod
    def backward(context, gradient):
        return gradient * 2
def run():
    y = x.clone().requires_grad_()
    Twice.apply(y).sum().backward()
""",
    "exceptions and generators": """
def each():  # torch.profiler calls one that goes on by the line where it does
    torch.abs(x)
    yield
def fails():
    for _ in each():
        torch.neg(x)
        raise ValueError
def run():
    for _ in range(3):
        with contextlib.suppress(ValueError):
            fails()
""",
    "child": """
def run():
    torch.square(x)
    child = os.fork()
    if child == 0:
        torch.square(x)
        os._exit(0)
    os.waitpid(child, 0)
""",
    "thread": """
def other():
    torch.square(x)
def run():
    torch.square(x)
    worker = threading.Thread(target=other)
    worker.start()
    worker.join()
""",
}

AVERAGES = """
run()
with profile(with_stack=True, profile_memory=True, record_shapes=True, **verbose) as prof:
    for _ in range(2):
        run()
found = {}
for frames in (1, 2, 4, 50):
    for shapes in (False, True):
        rows = found.setdefault(f"{frames} {shapes}", collections.Counter())
        for row in prof.key_averages(group_by_input_shape=shapes, group_by_stack_n=frames):
            if is_operator(row.key):
                stack = [plain(frame) for frame in row.stack]
                rows[f"{row.key} {row.input_shapes} {stack}"] += row.count
        flat = prof.key_averages(group_by_input_shape=shapes)
        stacked = prof.key_averages(group_by_input_shape=shapes, group_by_stack_n=frames)
        for column in ("count", "cpu_memory_usage", "self_cpu_memory_usage", "flops"):
            assert sum(getattr(row, column) for row in stacked) == sum(
                getattr(row, column) for row in flat), column
        assert abs(stacked.self_cpu_time_total - flat.self_cpu_time_total) < 1e-3
print(json.dumps(found))
"""


def run(text, module, *arguments):
    done = subprocess.run([sys.executable, "-c", HEAD.replace("{module}", module) + text,
                           *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def both(text):
    return [run(text, module) for module in ("crosscut.torch", "torch.profiler")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_averages_by_stack_are_torch_profilers(name):
    ours, theirs = both(PROGRAMS[name] + AVERAGES)
    assert ours == theirs
    assert all(ours.values())


BUILTINS = """
def key(value):
    return abs(value)
def work():
    for _ in range(20):  # CPython has instructions of its own for these
        len("abc")
        isinstance(1, int)
    sorted([2, -1], key=key)
    {}.get("a")
    with contextlib.suppress(StopIteration):
        next(iter(()))
    torch.neg(x)
work()
with profile(with_stack=True) as prof:
    work()
rows = collections.Counter()
for event in prof.events():
    parent = event.cpu_parent and plain(event.cpu_parent.name).rpartition("): ")[2]
    if parent in ("work", "key", "sorted"):
        rows[f"{plain(event.name).rpartition('): ')[2]} in {parent}"] += 1
counts = {row.key: row.count for row in prof.key_averages() if row.key in (
    "<built-in function sorted>", "<built-in function len>", "<built-in function isinstance>")}
print(json.dumps([rows, counts.get("<built-in function sorted>")]))
"""


def test_builtin_functions_are_rows_below_the_functions_that_call_them():
    ours, theirs = both(BUILTINS)
    assert ours == theirs
    rows, sorts = ours
    # From PyTorch 2.14 on averages leave Python functions out.
    assert sorts in (1, None) and rows["len in work"] == rows["isinstance in work"] == 20, rows
    assert rows["key in sorted"] == rows["abs in key"] == 2 and rows["next in work"] == 1, rows


COLLECTIONS = """
more = dict(experimental_config=_ExperimentalConfig(record_python_gc_info=True))
def told(stacks, **more):
    gc.disable()
    with profile(with_stack=stacks, **more) as prof:
        gc.collect()
        gc.collect(0)
    return [[event.name, plain(event.cpu_parent.name), event.activity_type,
             event.is_python_function] for event in prof.events() if event.name == "Python GC"]
print(json.dumps([told(True, **more), told(True), told(False, **more)]))
"""


def test_collections_of_garbage_are_events_where_they_are_asked_for():
    ours, theirs = both(COLLECTIONS)
    assert ours == theirs
    assert ours == [[["Python GC", "collect", "python_function", False]] * 2, [], []]


def test_no_more_of_what_crosscut_does_at_start_is_an_event_than_of_theirs():
    text = """
with profile(with_stack=True) as prof:
    torch.neg(x)
names = [event.name for event in prof.events()]
at = next(i for i, name in enumerate(names) if name.endswith(": __enter__"))
def of_a_profiler(event):
    return event is not None and ("profiler" in event.name or of_a_profiler(event.cpu_parent))
# Without the module, and the object that a method is of, which one of the two tells.
program = sorted(plain(event.name).rpartition(".")[2].rpartition(" of ")[0] or plain(event.name)
                 for event in prof.events() if not of_a_profiler(event))
print(json.dumps([at, program, len(names)]))
"""
    ours, theirs = both(text)
    assert ours[0] == theirs[0] == 1
    assert ours[1] == theirs[1] and ours[1].count("aten::neg") == 1, "all of the program, no more"
    # What `profile` imports and reads when it begins is no more than what theirs does.
    assert ours[2] <= theirs[2]


WARMED_UP = """
def inner(prof):
    for _ in range(4):
        torch.sin(x)
        prof.step()
plan = schedule(wait=WAIT, warmup=1, active=2, repeat=1)
with profile(with_stack=True, schedule=plan, **verbose) as prof:
    inner(prof)
print(json.dumps([[[plain(frame) for frame in event.stack] for event in prof.events()
                   if event.name == "aten::sin"],
                  sorted({event.name for event in prof.events() if "<string>" in event.name})]))
"""


@pytest.mark.parametrize("wait", [0, 1])
def test_functions_that_run_when_a_warm_up_ends_have_the_lines_where_they_are(wait):
    ours, theirs = both(WARMED_UP.replace("WAIT", str(wait)))
    assert ours == theirs and len(ours[0]) == 2


BARE = """
import json, sys
import torch
from {module} import profile, schedule, ProfilerActivity
from torch._C._profiler import _ExperimentalConfig
def run(x):
    return torch.tanh(x)
def profiled(**more):
    with profile(activities=[ProfilerActivity.CPU], with_stack=True,
                 experimental_config=_ExperimentalConfig(verbose=True), **more) as prof:
        run(x)
        if more:
            prof.step()
            run(x)
    return [event.name for event in prof.events()]
x = torch.ones(3)
profiled()
print(json.dumps([profiled(), profiled(schedule=schedule(wait=0, warmup=1, active=1))]))
"""
# What torch.profiler has of its own beginning and end.
OF_ITS_RECORDER = re.compile(r"torch/autograd/profiler\.py|(start_trace|add_metadata_json)$|"
                             r"(perf_counter_ns|_add_metadata_json|_disable_profiler)$")


def test_of_the_profilers_own_begin_and_end_no_more_is_seen_than_torch_profilers(tmp_path):
    """All that our events have beside the program's, torch.profiler's have, too."""
    found = {}
    for module in ("torch.profiler", "crosscut.torch"):
        script = tmp_path / "program.py"
        script.write_text(BARE.replace("{module}", module))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[module] = [collections.Counter(re.sub(
            r"<built-in (?:method|function) (\S*?)(?: of .*)?>$",
            lambda parts: parts[1].rpartition(".")[2], name) for name in names)
            for names in json.loads(done.stdout.splitlines()[-1])]
    assert len(found["crosscut.torch"]) == len(found["torch.profiler"]) > 0
    for ours, theirs in zip(found["crosscut.torch"], found["torch.profiler"]):
        assert ours["aten::tanh"] == theirs["aten::tanh"] == 1
        assert ours - theirs == collections.Counter()
        missing = [name for name in theirs - ours if not OF_ITS_RECORDER.search(name)]
        assert missing == []
