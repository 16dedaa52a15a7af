"""Automatic operations and steps of recorded programs that know nothing of Crosscut."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import crosscut
import pytest
from conftest import ROOT

COMMAND = pathlib.Path(crosscut.__file__).parent / "bin" / "crosscut"


@pytest.fixture
def record(tmp_path):
    """Records every step of a program whole; its run, opened."""
    def run(*program, flags=("--plan=full", "--control-steps=0")):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("CROSSCUT_") and k not in ("PYTHONPATH", "LD_PRELOAD")}
        done = subprocess.run(
            [str(COMMAND), "record", "-o", str(tmp_path / "run"), *flags, "--", sys.executable,
             *map(str, program)], capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        (tmp_path / "stdout").write_text(done.stdout)
        return crosscut.read(tmp_path / "run")
    return run


def operations(run):
    """{process: {operation: count}}"""
    found = collections.defaultdict(dict)
    for row in run.table("operations").rows():
        if row["operation"]:
            found[row["process"]][row["operation"]] = row["count"]
    return found


def only_process(run):
    (found,) = operations(run).values()
    return found


def test_every_step_of_the_training_example_is_found(record):
    run = record(ROOT / "examples" / "train.py", "--steps", 6)
    trainer, *workers = sorted(operations(run).values(), key=len, reverse=True)
    # Making the iterator and 6 batches; the model and the loss; no evaluation in 6 steps.
    assert trainer == {"data": 7, "forward": 12, "backward": 6, "optimizer": 6}
    assert len(workers) == 2
    assert all(set(worker) == {"fetch"} for worker in workers)
    assert sum(worker["fetch"] for worker in workers) == 6
    steps = list(run.table("steps").rows())
    assert [row["step"] for row in steps] == list(range(6))


def test_python_code_of_a_loading_worker_is_data(record, tmp_path):
    script = tmp_path / "loading.py"
    script.write_text("""
import gc
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return sum(i * i for i in range(200_000))
def no_collections(worker):
    gc.disable()  # they are Python's own, in a worker too
if __name__ == "__main__":
    list(DataLoader(Slow(), batch_size=1, num_workers=1, worker_init_fn=no_collections))
""")
    run = record(script)
    layers = collections.Counter()
    for row in run.table("threads").rows():
        if row["operation"] == "fetch":
            layers[row["layer"]] += row["ns"]
    assert layers["data"] > 20 * layers["python"]


def test_operations_stop_in_control_steps_and_edges_do_not(record):
    run = record(ROOT / "examples" / "heavy_python.py", "--steps", 120,
                 flags=("--control-steps=30",))
    steps = list(run.table("steps").rows())
    assert len(steps) == 120
    # The first pass lies before step 0, and the last step is what comes after the last pass.
    assert all(row["end_ns"] > row["begin_ns"] for row in steps[:-1])
    control = sum(row["control"] for row in steps[:-1])
    assert 6 <= control <= 90
    found = only_process(run)
    assert found["optimizer"] == found["backward"] == 120 - control
    assert found["forward"] == 2 * (120 - control)


PROGRAM = """
import sys, torch
from torch import nn
assert "crosscut.adapters.torch" in sys.modules
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    def forward(self, x):
        return self.layers(x)
net, x = Net(), torch.ones(2, 4)
"""


def test_two_optimizers_make_one_step_per_pass(record, tmp_path):
    script = tmp_path / "gan.py"
    script.write_text(PROGRAM + """
other = Net()
first, second = torch.optim.Adam(net.parameters()), torch.optim.SGD(other.parameters(), 0.1)
for _ in range(10):
    for model, optimizer in ((net, first), (other, second)):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
""")
    run = record(script)
    assert len(list(run.table("steps").rows())) == 10
    assert only_process(run) == {"forward": 20, "backward": 20, "optimizer": 20}


REPEATS = PROGRAM + """
from torch.utils.data import DataLoader, TensorDataset
other, loader = Net(), DataLoader(TensorDataset(torch.ones(60, 4)), batch_size=1)
def infers(count, *models):
    for _ in range(count):
        for model in models: model(x)
def reads():
    for _ in loader: pass
def updates(count):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(count):
        optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
"""


@pytest.mark.parametrize(("program", "found"), [
    ("infers(60, net)", {"inference step": 60 - 7}),
    ("infers(60, net, other)", {"inference step": 60 - 3}),
    ("reads()", {"batch": 60 - 7}),
    ("for batch in loader: net(x)", {"inference step": 60 - 7}),
    # What learns, or may, has no steps but those of its updates.
    ("updates(20); optimizer = torch.optim.SGD(net.parameters(), 0.1); infers(60, net); reads()",
     {"step": 20}),
    ("for _ in range(20): infers(3, net); net(x).sum().backward()", {"step": 20 - 3}),
    ("infers(60, net); updates(20)", {"inference step": 60 - 7 + 1, "step": 20}),
    ("infers(60, net)\nfor _ in range(20): net(x).sum().backward()",
     {"inference step": 60 - 7 + 1, "step": 20 - 3}),
    ("crosscut.step(); infers(60, net); reads()", {"step": 1}),
], ids=["one model", "two in turn", "batches", "batches that are used", "evaluates", "gradients",
        "learns later", "learns later by hand", "declared"])
def test_what_repeats_in_a_program_without_updates_is_a_step(record, tmp_path, program, found):
    script = tmp_path / "repeats.py"
    script.write_text("import crosscut\n" + REPEATS + program)
    run = record(script)
    assert collections.Counter(row["kind"] for row in run.table("steps").rows()) == found


def test_a_compiled_step_of_an_optimizer_is_an_update_and_a_step(record, tmp_path):
    script = tmp_path / "compiled.py"
    script.write_text(PROGRAM + """
optimizer = torch.optim.Adam(net.parameters())
step = torch.compile(optimizer.step, backend="eager")
train = torch.compile(lambda: optimizer.step(), backend="eager")
net(x).sum().backward()
for _ in range(4):
    step(); train(); optimizer.step()
""")
    run = record(script)
    assert only_process(run)["optimizer"] == len(list(run.table("steps").rows())) == 12


def test_a_child_that_was_forked_in_an_update_makes_steps_of_its_own(record, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(PROGRAM + """
import os
optimizer, child = torch.optim.SGD(net.parameters(), 0.1), None

def closure():
    global child
    child = child if child is not None else os.fork()
    if child == 0:
        for _ in range(20):
            torch.optim.SGD.step(optimizer)
        os._exit(0)

for _ in range(10):
    optimizer.step(closure)
assert os.waitpid(child, 0)[1] == 0
""")
    run = record(script)
    assert sorted(process["optimizer"] for process in operations(run).values()) == [10, 20]
    assert len(list(run.table("steps").rows())) == 10 + 20


def test_a_program_that_declares_its_steps_keeps_them(record, tmp_path):
    script = tmp_path / "own.py"
    script.write_text(PROGRAM + """
import crosscut
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(20):
    crosscut.step()
    for _ in range(3):
        net(x).sum().backward(); optimizer.step()
""")
    run = record(script)
    assert len(list(run.table("steps").rows())) == 20


def test_a_step_that_the_program_declares_after_its_first_update_is_the_first(record, tmp_path):
    script = tmp_path / "after.py"
    script.write_text(PROGRAM + """
import crosscut
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(20):
    net(x).sum().backward(); optimizer.step()
    crosscut.step()
""")
    assert len(list(record(script).table("steps").rows())) == 20


def test_modules_are_called_what_the_program_calls_them(record, tmp_path):
    names = ['we"ird', "back\\slash", "new\nline", "tab\t\x01", "zero\0", "lone\udc80", "plain"]
    script = tmp_path / "names.py"
    script.write_text(PROGRAM + f"""
class Odd(nn.Module):
    def forward(self, x):
        for part in self.children():
            x = part(x)
        return x
odd = Odd()
for name in {names!r}:
    odd.add_module(name, nn.Linear(4, 4))
odd(x)
""")
    run = record(script)
    told = {f"Odd.{name} (Linear)".replace("\udc80", "?") for name in names}
    assert told | {"Odd"} == set(run.table("modules")["module"]) - {""}
    exported = tmp_path / "trace.json"
    subprocess.run([str(COMMAND), "export", tmp_path / "run", "--to=chrome", "-o", exported],
                   check=True)
    events = {event["name"] for event in json.loads(exported.read_text())["traceEvents"]}
    assert {f"nn.Module: {name}" for name in told} <= events


def test_what_belongs_to_an_outer_operation_stays_there(record, tmp_path):
    script = tmp_path / "nested.py"
    script.write_text(PROGRAM + """
from torch.utils.checkpoint import checkpoint
class Broken(nn.Module):
    def forward(self, x):
        raise ValueError
for _ in range(5):
    y = checkpoint(net, x.clone().requires_grad_(), use_reentrant=True)  # recomputed in backward
    y.sum().backward()
    try:
        Broken()(x)
    except ValueError:
        pass
    with torch.no_grad():
        net(x)
lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=1)
def closure():
    lbfgs.zero_grad()
    loss = net(x).sum()
    loss.backward()
    return loss
lbfgs.step(closure)
""")
    found = only_process(record(script))
    assert found == {"forward": 16, "backward": 6, "optimizer": 1}


def test_modules_behind_a_method_of_the_superclass_infer_as_those_before_it(record, tmp_path):
    script = tmp_path / "infers.py"
    script.write_text('''
import torch
from crosscut.adapters import operations

class Base:
    def collect(self): model(torch.ones(1, 4))

class Mine(Base):
    def collect(self):
        model(torch.ones(1, 4))
        super().collect()
        model(torch.ones(1, 4))

model = torch.nn.Linear(4, 4)
ops = operations.Operations()
ops.follow(Base, ("collect",), lambda cls, name, function: ops.around(
    function, "rollout", **ops.inferring()))
Mine().collect()
Base().collect()
model(torch.ones(1, 4))
''')
    assert only_process(record(script)) == {"rollout": 2, "inference": 4, "forward": 1}


def test_torch_cannot_tell_that_it_is_recorded(record, tmp_path):
    script = tmp_path / "identity.py"
    script.write_text(PROGRAM + """
import copy, inspect, io, pickle
assert nn.Module.__call__ is nn.Module._wrapped_call_impl
assert type(net).__call__ is nn.Module.__call__
copy.deepcopy(net)(x)
pickle.loads(pickle.dumps(nn.Linear(2, 2)))(torch.ones(1, 2))
optimizer = torch.optim.Adam(net.parameters())
pickle.loads(pickle.dumps(copy.deepcopy(optimizer)))
assert list(inspect.signature(optimizer.step).parameters) == ["closure"]
torch.jit.script(net)(x)
torch.jit.trace(net, x)(x)
torch.fx.symbolic_trace(net)(x)
for backend in ("eager", "aot_eager"):
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    compiled(x).sum().backward()
    torch.compile(lambda x: net(x) * 2, fullgraph=True, backend=backend)(x)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
optimizer.step()
scheduler.step()
torch.compile(optimizer.step, backend="eager")()
before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
for _ in range(3):
    compiled(x)
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == before
net(x)
print("unharmed")
""")
    run = record(script)
    assert (tmp_path / "stdout").read_text() == "unharmed\n"
    assert only_process(run)["forward"] >= 9
    states = {row["name"]: row["state"] for row in run.table("sources").rows()}
    assert states["pytorch"] == states["operations"] == "on"


def test_uninstalling_puts_everything_back(record, tmp_path):
    script = tmp_path / "uninstall.py"
    script.write_text(PROGRAM + """
import ctypes
from crosscut.adapters import torch as adapter
optimizer = torch.optim.Adam(net.parameters())
loading = torch.utils.data.dataloader
places = [(torch.optim.Adam, "step"), (torch.optim.Optimizer, "_patch_step_function"),
          (loading._BaseDataLoaderIter, "__next__"), (loading.DataLoader, "__iter__"),
          (torch.utils.data._utils.fetch._MapDatasetFetcher, "fetch")]
before = [vars(owner)[name] for owner, name in places]
adapter.uninstall()
assert all(vars(owner)[name] is there for (owner, name), there in zip(places, before))
assert "__init_subclass__" not in vars(nn.Module)
slots = {ctypes.c_void_p.from_address(id(c) + 128).value for c in (nn.Module, Net, nn.Linear)}
class Plain:
    def __call__(self): pass
assert slots == {ctypes.c_void_p.from_address(id(Plain) + 128).value}
assert "crosscut" not in repr(type(torch.autograd.variable.Variable._execution_engine).run_backward)
net(x).sum().backward(); optimizer.step()
""")
    run = record(script)
    assert operations(run) == {}
    names = set(run.table("functions")["name"])
    assert "aten::uniform_" in names and "aten::addmm" not in names


def test_what_the_program_replaces_stays_its_own_beside_windows_and_in_them(tmp_path):
    done = subprocess.run([sys.executable, "-c", """
import sys
import crosscut
assert crosscut.arm(sys.argv[1]) and crosscut.start(), crosscut.error()
import torch
from torch.utils.data import DataLoader
assert crosscut.stop()
made = []
def init_subclass(cls, **options):
    made.append(cls.__name__)
torch.nn.Module.__init_subclass__ = classmethod(init_subclass)
begin = DataLoader.__iter__
DataLoader.__iter__ = lambda self: iter([*begin(self), "the program's"])
for window in range(3):
    assert crosscut.start(), crosscut.error()
    class Net(torch.nn.Module):
        def forward(self, x):
            return x
    Net()(torch.ones(1))
    print(list(DataLoader([1]))[1:], end=" ")
    if window == 1:
        torch.nn.Module.__init_subclass__ = classmethod(lambda cls: made.append("again"))
    assert crosscut.stop()
    print(list(DataLoader([1]))[1:], end=" ")
    class Other(torch.nn.Module):
        pass
print(made)
""", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("[\"the program's\"] " * 6 +
                           "['Net', 'Other', 'Net', 'again', 'again', 'again']\n")
    assert only_process(crosscut.read(tmp_path / "run"))["forward"] == 3


def test_frees_for_which_a_pause_has_no_room_are_told_of(tmp_path):
    done = subprocess.run([sys.executable, "-c", """
import sys
import torch
import crosscut
assert crosscut.start(sys.argv[1], plan="full", control_percent=0, python="off", allocations=True)
crosscut.step()
blocks = [torch.empty(1) for _ in range((1 << 15) + 100)]
crosscut.pause()
blocks.clear()
crosscut.resume()
crosscut.stop()
""", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    messages = [row["message"] for row in crosscut.read(tmp_path / "run").table("gaps").rows()]
    (told,) = [message for message in messages if "frees of memory" in message]
    assert "100 frees in pauses and control steps" in told


@pytest.mark.parametrize(("sources", "operators", "automatic"), [
    ("operations", False, True), ("opencl", False, True), ("pytorch", True, True),
    ("none", False, False)])
def test_a_list_of_sources_leaves_operators_out_but_operations_only_with_none(
        record, tmp_path, sources, operators, automatic):
    script = tmp_path / "sources.py"
    script.write_text(PROGRAM.replace("assert ", "") + """
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    net(x).sum().backward(); optimizer.step()
""")
    run = record(script, flags=("--control-steps=0", f"--sources={sources}"))
    found = operations(run)
    assert (list(found.values()) == [{"forward": 3, "backward": 3, "optimizer": 3}]) == automatic
    assert (found == {}) != automatic
    assert len(list(run.table("steps").rows())) == (3 if automatic else 0)
    assert ("aten::addmm" in set(run.table("functions")["name"])) == operators


def test_without_the_shim_the_operations_remain_and_the_table_says_so(record, tmp_path,
                                                                      monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    script = tmp_path / "plain.py"
    script.write_text(PROGRAM + "net(x).sum().backward()\n")
    run = record(script)
    assert only_process(run) == {"forward": 1, "backward": 1}
    (row,) = [row for row in run.table("sources").rows() if row["name"] == "pytorch"]
    assert row["state"] == "missing" and "crosscut doctor --build" in row["message"]


def test_the_arrow_goes_from_the_forward_operator_to_its_backward_node(record, tmp_path):
    import json
    script = tmp_path / "arrows.py"
    script.write_text(PROGRAM + "net(x).sum().backward()\n")
    record(script)
    out = tmp_path / "trace.json"
    subprocess.run([str(COMMAND), "export", str(tmp_path / "run"), "--to=chrome", "-o", str(out)],
                   check=True)
    events = json.loads(out.read_text())["traceEvents"]
    arrows = collections.Counter(event["ph"] for event in events if event.get("cat") == "fwdbwd")
    nodes = [event for event in events if event["ph"] == "X" and
             event["name"] in ("AddmmBackward0", "ReluBackward0", "TBackward0", "SumBackward0")]
    assert arrows["s"] == arrows["f"] == len(nodes) == 6


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))


UPDATES = """
import sys, torch
def made(cls=torch.optim.SGD):
    model = torch.nn.Linear(4, 4)
    return model, cls(model.parameters(), lr=0.1)
def update(model, optimizer, closure=None):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step(closure)
"""
A_CLASS_ABOVE = UPDATES + """
class Mine(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
made()  # so that SGD.step is hooked, too
mine = made(Mine)
for _ in range(10):
    update(*mine)
"""
IN_GREENLETS = UPDATES + """
import greenlet
(_, other), mine = made(), made()
main = greenlet.getcurrent()
late = greenlet.greenlet(lambda: other.step(main.switch))  # suspended in its closure for good
update(*mine, late.switch)
for _ in range(9):
    update(*mine)
"""
IN_GEVENT = UPDATES + """
from gevent import monkey
monkey.patch_all()
import gevent
(_, other), mine = made(), made()
def late():
    other.step(lambda: gevent.sleep(3600))
gevent.spawn(late)
for _ in range(10):
    update(*mine, lambda: gevent.sleep(0.001))
"""


@pytest.mark.parametrize("program", [A_CLASS_ABOVE, IN_GREENLETS, IN_GEVENT],
                         ids=["a class above", "greenlets", "gevent"])
def test_an_update_is_one_step_wherever_others_are_open(record, tmp_path, program):
    pytest.importorskip("gevent")
    script = tmp_path / "updates.py"
    script.write_text(program)
    steps = list(record(script).table("steps").rows())
    assert [row["step"] for row in steps] == list(range(10))


INTERRUPTED = UPDATES + """
from crosscut import _record
import crosscut
def interrupted(_):
    raise KeyboardInterrupt
model, optimizer = made()
update(model, optimizer)
_record.set_step_hook(interrupted)
for step in (lambda: update(model, optimizer), crosscut.step):
    try:
        step()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_in_the_step_hook_is_the_programs(record, tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    record(script)
    assert (tmp_path / "stdout").read_text() == "interrupted\n" * 2
