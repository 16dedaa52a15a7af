"""What a PyTorch program marks itself: record_function scopes, at every level, beside operations
that Crosscut finds, and when they end elsewhere."""

import collections
import json
import statistics

import pytest
from runs import crosscut, record_script, table

LOOP = """
import torch
from torch.profiler import record_function
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(120):
    with record_function("augment"):
        x = torch.randn(2, 8)
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_scopes_are_seen_in_every_step_but_control_steps(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, LOOP, "--plan=balanced", env={"CROSSCUT_SEED": "7"})
    assert done.returncode == 0, done.stderr
    begins = sorted(row["begin_ns"] for row in table(run, "spans") if row["name"] == "augment")
    steps = sorted(table(run, "steps"), key=lambda row: row["begin_ns"])
    seen = collections.Counter()  # the first scope lies before step 0
    for row in steps[:-1]:
        seen[row["level"], sum(row["begin_ns"] <= at < row["end_ns"] for at in begins)] += 1
    assert {level for level, _ in seen} == {0, 1, 2, 3}
    assert {count for level, count in seen if level > 0} == {1}, seen
    # Where operators are not seen, PyTorch's own scopes still are.
    rows = {(row["name"], row["level"]) for row in table(run, "step_operators")}
    assert ("Optimizer.step#SGD.step", "boundary") in rows and ("aten::addmm", "operators") in rows


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
    inside = [row for row in table(tmp_path / "run", "functions")
              if row["name"] == "forward (found)"]
    assert [row["count"] for row in inside] == [10]


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


def test_ends_of_scopes_that_find_no_room_in_control_steps_are_told_of(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, MANY, "--control-steps=30", "--memory=256",
                         env={"CROSSCUT_SEED": "7"})
    assert done.returncode == 0, done.stderr
    levels = [row["level"] for row in sorted(table(run, "steps"), key=lambda row: row["step"])]
    into_control = sum(before > 0 == after for before, after in zip(levels, levels[1:]))
    assert into_control > 1 and not table(run, "drops")
    messages = [row["message"] for row in table(run, "gaps")]
    lost = into_control * (1100 - 1024)
    assert any(message.startswith("Source ends of scopes missing in ") and message.endswith(
        f": {lost} scopes were ended by other threads in control steps, more than can be kept: "
        "they last too long.") for message in messages), (lost, messages)
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
