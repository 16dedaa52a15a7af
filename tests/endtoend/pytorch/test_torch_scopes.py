"""What a PyTorch program marks itself: record_function scopes, at every level, beside operations
that Crosscut finds, and when they end elsewhere."""

import bisect
import collections
import json
import os
import statistics
import subprocess
import sys

import pytest
from runs import crosscut, record_script, table
from test_adds_up import check_sums

LOOP = """
import torch
from torch.profiler import record_function
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(120):
    with record_function("NAME"):
        x = torch.randn(2, 8)
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize("name", ["augment", "crosscut.augment", "Optimizer.augment", ""])
def test_scopes_are_seen_in_every_step_but_control_steps(tmp_path, name):
    run = tmp_path / "run"
    done = record_script(run, LOOP.replace("NAME", name), "--plan=balanced",
                         env={"CROSSCUT_SEED": "7"})
    assert done.returncode == 0, done.stderr
    begins = sorted(row["begin_ns"] for row in table(run, "spans") if row["name"] == name)
    steps = sorted(table(run, "steps"), key=lambda row: row["begin_ns"])
    seen = collections.Counter()  # the first scope lies before step 0
    for row in steps[:-1]:
        seen[row["level"], sum(row["begin_ns"] <= at < row["end_ns"] for at in begins)] += 1
    assert {level for level, _ in seen} == {0, 1, 2, 3}
    assert {count for level, count in seen if level > 0} == {1}, seen
    # Where operators are not seen, PyTorch's own scopes still are.
    rows = {(row["name"], row["level"]) for row in table(run, "step_operators")}
    assert ("Optimizer.step#SGD.step", "boundary") in rows and ("aten::addmm", "operators") in rows


LATE = """
import ctypes, os
import crosscut, torch
@torch.jit.script
def scripted(x):
    with torch.autograd.profiler.record_function("mine"):
        return x + x
x = torch.ones(2)
native = None
for step in range(200):
    crosscut.step()
    if step == 120:
        native = ctypes.CDLL(os.environ["NATIVE"]).scoped if "NATIVE" in os.environ else scripted
    x + x
    if native is scripted:
        native(x)
    elif native:
        native()
"""
NATIVE = """
#include <ATen/record_function.h>
extern "C" void scoped() { RECORD_USER_SCOPE("mine"); }
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """A library that is built on PyTorch and opens a scope."""
    import torch
    from torch.utils import cpp_extension
    folder = tmp_path_factory.mktemp("native")
    (folder / "scoped.cc").write_text(NATIVE)
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", "-O0", abi,
                    *(f"-I{path}" for path in cpp_extension.include_paths()),
                    folder / "scoped.cc", "-o", folder / "scoped.so", *libraries,
                    "-ltorch_cpu", "-lc10"], check=True)
    return folder / "scoped.so"


@pytest.mark.parametrize("opened", ["by TorchScript", "by C++"])
@pytest.mark.parametrize("plan", [["--plan=balanced"], ["--plan=balanced", "--budget=0.001"]])
def test_scopes_that_no_python_opens_are_seen_from_the_first_on(tmp_path, native, opened, plan):
    run = tmp_path / "run"
    library = {"NATIVE": str(native)} if opened == "by C++" else {}
    done = record_script(run, LATE, *plan, env={"CROSSCUT_SEED": "7", **library})
    assert done.returncode == 0, done.stderr
    steps = sorted(table(run, "steps"), key=lambda row: row["begin_ns"])[120:]
    # One that outlives the operator that begins it goes on in a second row.
    begins = [row["begin_ns"] for row in table(run, "spans")
              if row["name"] == "mine" and row["first"] == row["span"]]
    seen = {level: set() for level in range(5)}
    for row in steps[:-1]:
        seen[row["level"]].add(sum(row["begin_ns"] <= at < row["end_ns"] for at in begins))
    assert seen[0] <= {0} and set.union(*list(seen.values())[1:]) == {1}, seen
    assert steps[0]["level"] in (1, 4), "hardly any test: it begins with operators"


def test_the_name_of_a_scope_is_not_computed_for_us(tmp_path):
    text = """
from torch.profiler import record_function
class Scope(record_function):
    reads = 0
    @property
    def name(self):
        Scope.reads += 1
        return "mine"
    name = name.setter(lambda self, name: None)
for _ in range(3):
    with Scope(""):
        pass
print(Scope.reads)
"""
    done = record_script(tmp_path / "run", text)
    alone = subprocess.run([sys.executable, f"{tmp_path / 'run'}.py"], capture_output=True,
                           text=True, check=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == alone.stdout
    assert operations(tmp_path / "run")["mine"]["count"] == 3


SAME = """
import crosscut, torch
from torch.profiler import record_function
class Net(torch.nn.Module):
    def forward(self, x):
        {inside}
        return x * 2
net, x = Net(), torch.ones(2)
for _ in range(10):
    {around}
"""


def operations(run):
    return {row["operation"]: row for row in table(run, "operations")}


@pytest.mark.parametrize("mark", ["record_function", "crosscut.operation"])
def test_around_a_module_a_scope_called_forward_is_the_operation(tmp_path, mark):
    text = SAME.format(inside="pass", around=f"with {mark}('forward'): net(x)")
    assert record_script(tmp_path / "run", text).returncode == 0
    rows = operations(tmp_path / "run")
    assert rows["forward"]["count"] == 10 and "forward (found)" not in rows
    parts = {row["part"]: row for row in table(tmp_path / "run", "operation_parts")}
    assert set(parts) == {"", "forward"} and parts["forward"]["count"] == 10


def test_what_the_program_marks_keeps_its_time(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, """
import crosscut, torch
net = torch.nn.Linear(64, 64)
adam = torch.optim.Adam(net.parameters())
for _ in range(10):
    with crosscut.operation("Op1"):
        with crosscut.operation("Op2"):
            loss = net(torch.ones(8, 64)).sum()
            loss.backward()
        adam.step()
    adam.zero_grad()
    net(torch.ones(8, 64))
""", "--control-steps=0")
    assert done.returncode == 0, done.stderr
    check_sums(run)
    rows, parts = operations(run), table(run, "operation_parts")
    assert {(row["operation"], row["part"]): row["count"] for row in parts if row["part"]} == {
        ("Op2", "forward"): 10, ("Op2", "backward"): 10, ("Op1", "optimizer"): 10}
    assert {name: rows[name]["count"] for name in rows if name} == {
        "Op1": 10, "Op2": 10, "forward": 10}
    for name in ("Op1", "Op2"):
        for column in ("wall_ns", "host_ns", "idle_ns", "unknown_ns", "control_ns", "corrected_ns"):
            assert rows[name][column] == sum(
                row[column] for row in parts if row["operation"] == name), (name, column)
    # Op2 has all the time that lies in its spans, whatever was found there.
    assert rows["Op2"]["wall_ns"] == rows["Op2"]["total_ns"]


def test_inside_a_module_a_scope_called_forward_is_told_from_the_modules(tmp_path):
    text = SAME.format(inside="with record_function('forward'): x = x + 1", around="net(x)")
    assert record_script(tmp_path / "run", text).returncode == 0
    rows = operations(tmp_path / "run")
    assert rows["forward"]["count"] == rows["forward (found)"]["count"] == 10
    crosscut("export", tmp_path / "run", "--to=chrome", "-o", tmp_path / "trace.json")
    names = collections.Counter(
        event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"])
    assert names["forward"] == names["forward (found)"] == 10


def test_scopes_called_like_operators_are_no_operators(tmp_path):
    text = SAME.format(inside="pass", around="with record_function('aten::mul'): net(x)")
    assert record_script(tmp_path / "run", text).returncode == 0
    assert operations(tmp_path / "run")["aten::mul"]["count"] == 10
    rows = {row["name"]: row["count"] for row in table(tmp_path / "run", "operators")}
    assert rows["aten::mul"] == 10


FUTURE = """
import threading, time, torch
from torch.autograd.profiler import record_function
x = torch.eye(8)
with record_function("outer"):
    with record_function("waits") as scope:
        future = torch.futures.Future()
        done = scope._call_end_callbacks_on_future(future)
        begun = time.monotonic_ns()
        threading.Timer(0.05, lambda: future.set_result(1)).start()
    with record_function("inside"):
        x @ x
done.wait()
print(time.monotonic_ns() - begun)
with record_function("later"):
    x @ x
time.sleep(0.3)
x @ x
"""


def test_a_scope_that_ends_with_a_future_ends_there(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, FUTURE)
    assert done.returncode == 0, done.stderr
    spans = {row["name"]: row for row in table(run, "spans") if row["layer"] == ""}
    waited = int(done.stdout)  # from after its begin to after its end
    length = spans["waits"]["end_ns"] - spans["waits"]["begin_ns"]
    assert 49_000_000 < length < waited + 100_000_000
    assert spans["waits"]["thread"].startswith("asynchronous")
    # What began meanwhile on the thread goes on as if it were not there.
    outer = spans["outer"]
    assert spans["inside"]["parent"] == outer["span"] and outer["end_ns"] < spans["waits"]["end_ns"]
    assert "waits" not in operations(run) and operations(run)["later"]["count"] == 1
    assert [row["count"] for row in table(run, "functions") if row["name"] == "waits"] == [1]
    assert "is left out" not in crosscut("report", run)
    crosscut("export", run, "--to=chrome", "-o", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["ph"] for event in events if event["name"] == "waits"] == ["X"]


MANY = """
import threading, crosscut, torch
from torch.autograd.profiler import record_function
under_way = []
for step in range(60):
    crosscut.step()
    ended, under_way = under_way, []
    other = threading.Thread(target=lambda: [future.set_result(1) for future in ended])
    other.start()
    other.join()
    for _ in range(1100):
        with record_function("lasts") as scope:
            under_way.append(torch.futures.Future())
            scope._call_end_callbacks_on_future(under_way[-1])
"""


def test_scopes_that_others_end_in_control_steps_end_there_however_many(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, MANY, "--control-steps=30", "--memory=256",
                         env={"CROSSCUT_SEED": "7"})
    assert done.returncode == 0, done.stderr
    steps = sorted(table(run, "steps"), key=lambda row: row["step"])
    levels = [row["level"] for row in steps]
    assert sum(before > 0 == after for before, after in zip(levels, levels[1:])) > 1
    assert not table(run, "drops")
    begins = [row["begin_ns"] for row in steps]
    seen = collections.Counter()
    for row in table(run, "spans"):
        if row["name"] != "lasts":
            continue
        step = bisect.bisect_right(begins, row["begin_ns"]) - 1
        seen[step] += 1
        assert step == 59 or steps[step + 1]["begin_ns"] < row["end_ns"] < steps[step + 1]["end_ns"]
    assert seen == {step: 1100 for step, level in enumerate(levels) if level > 0}
    messages = [row["message"] for row in table(run, "gaps")]
    assert any(message.startswith("Scopes of PyTorch that last over several steps of ")
               and message.endswith(f" control step ({levels.count(0)} steps are control "
                                    "steps).")
               for message in messages), messages


RANKS = """
import sys, time
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
def train(steps):
    for _ in range(steps):
        if rank == 1:
            time.sleep(0.03)
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
train(2)
dist.barrier()
with profile(activities=[ProfilerActivity.CPU]) as prof:
    train(STEPS)
theirs = sorted((event.time_range.start, event.time_range.elapsed_us())
                for event in prof.events() if event.name == "gloo:all_reduce")
with open(f"{sys.argv[1]}/theirs{rank}", "w") as out:
    print(*[us for _, us in theirs], file=out)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=["full", "balanced"])
def ranks(request, tmp_path_factory):
    """A training loop on two ranks, the second of which is late in every step."""
    import socket
    import sys

    from runs import record
    folder = tmp_path_factory.mktemp("ranks")
    program = folder / "program.py"
    program.write_text(RANKS.replace("STEPS", "12" if request.param == "full" else "40"))
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = some.getsockname()[1]
    done = record(folder / "run", [sys.executable, "-m", "torch.distributed.run",
                                   "--nproc-per-node=2", f"--master-port={port}", program, folder],
                  f"--plan={request.param}", "--control-steps=0", env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return folder


def test_ranks_are_named_and_told_to_readers(ranks):
    names = [row["name"] for row in table(ranks / "run", "processes")]
    assert {"rank 0", "rank 1"} <= set(names)
    crosscut("export", ranks / "run", "--to=chrome", "-o", ranks / "trace.json")
    info = json.loads((ranks / "trace.json").read_text())["distributedInfo"]
    assert (info["backend"], info["rank"], info["world_size"]) == ("gloo", 0, 2)
    assert info["pg_config"][0]["ranks"] == [0, 1]


def process_of(run, name):
    return next(row["process"] for row in table(run, "processes") if row["name"] == name)


def test_collectives_last_as_long_as_torch_profiler_says(ranks):
    for rank in (0, 1):
        theirs = [float(us) for us in (ranks / f"theirs{rank}").read_text().split()]
        process = process_of(ranks / "run", f"rank {rank}")
        ours = sorted((row["begin_ns"], row["end_ns"]) for row in table(ranks / "run", "spans")
                      if row["process"] == process and row["name"] == "gloo:all_reduce")
        ours = ours[-len(theirs):]  # the loop's last are those that torch.profiler saw, too
        # A thread that has to wait for a processor between its two callbacks ends one of the two
        # late: not so with most.
        differences = [abs((end - begin) / 1e3 - us)
                       for (begin, end), us in zip(ours, theirs, strict=True)]
        assert statistics.median(differences) <= 0.05 * statistics.mean(theirs), differences


def test_waiting_for_a_late_rank_is_communication(ranks):
    process = process_of(ranks / "run", "rank 0")
    layers = collections.Counter()
    for row in table(ranks / "run", "overlap"):
        if row["process"] == process and row["operation"] == "backward":
            layers[row["layers"]] += row["ns"]
    reducing = sum(row["end_ns"] - row["begin_ns"] for row in table(ranks / "run", "spans")
                   if row["process"] == process and row["name"] == "gloo:all_reduce")
    # Nearly all of it is waiting, in which nothing else goes on.
    assert 0.8 * reducing < layers["comm"] < 1.1 * reducing, (layers, reducing)
