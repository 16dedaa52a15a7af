"""A program's own profilers, tracebacks and warnings see of torch what they see without us."""

import os
import subprocess
import sys

import crosscut
import pytest
from test_operations import COMMAND

WATCH = """
import inspect, logging, os, sys, traceback, warnings
import torch
from torch import nn
from torch.utils.data import DataLoader
def code(frame):
    return os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
def stack(frame):
    names = []
    while frame:
        names.append(code(frame))
        frame = frame.f_back
    return names
x = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=.1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
    def forward(self, x):
        return self.layer(x)
net = Net()
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
def work():
    class Later(nn.Module):
        pass
    class Stepper(torch.optim.SGD):
        pass
    for batch in DataLoader(torch.ones(4, 4), batch_size=2):
        net(batch).sum().backward()
    (x * x).sum().backward()
    torch.autograd.grad((x * x).sum(), x)
    optimizer.step()
    scheduler.step()
    Stepper([x], lr=.1).step()
    net.double()
    torch.fx.symbolic_trace(net)
    del batch
work()
net.float()
"""

EVENTS = """
import collections
seen = []
def profile(frame, event, argument):
    name = getattr(argument, "__name__", None) if event.startswith("c_") else None
    seen.append((event, *code(frame), name))
sys.setprofile(profile)
work()
sys.setprofile(None)
def trace(frame, event, argument):
    seen.append((event, *code(frame)))
net.float()
sys.settrace(trace)
work()
sys.settrace(None)
for line in seen:
    print(*line)
import cProfile, pstats
with cProfile.Profile() as cprofile:
    net.float()
    work()
for key, (calls, *_) in sorted(pstats.Stats(cprofile).stats.items()):
    print(os.path.basename(key[0]), key[2].split(" at 0x")[0], calls)
"""

PROFILE = """
from torch.profiler import profile
net.float()
with profile(with_stack=True) as p:
    work()
names = [e.name.split(" at 0x")[0] for e in p.events()]
for name in sorted(names):
    print(name)
assert any("built-in method run_backward" in name for name in names)
"""

STACKS = """
print(type(torch.autograd.variable.Variable._execution_engine))
class Function(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x
    @staticmethod
    def backward(context, gradient):
        print("backward", stack(sys._getframe()))
        return gradient
Function.apply(x).sum().backward()
def hook(*_):
    print("hook", stack(sys._getframe()))
optimizer.register_step_pre_hook(hook)
def closure():
    print("closure", [entry.function for entry in inspect.stack()])
    return (x * x).sum()
optimizer.step(closure)
class Stepper(torch.optim.SGD):
    def step(self, closure=None):
        warnings.warn("from the step", stacklevel=3)
        logging.basicConfig(format="%(filename)s %(funcName)s", stream=sys.stdout, force=True)
        logging.warning("x", stacklevel=3)
        super().step()
        raise ValueError("mine")
warnings.showwarning = lambda message, category, file, *_: print(message, os.path.basename(file))
try:
    Stepper([x], lr=.1).step()
except ValueError:
    print(traceback.format_exc())
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        print("item", stack(sys._getframe()), flush=True)
        if index:
            raise ValueError("mine")
        return torch.ones(1)
for workers in (0, 1):
    try:
        list(DataLoader(Data(), num_workers=workers,
                        multiprocessing_context="fork" if workers else None))
    except ValueError:
        print(traceback.format_exc())
try:
    x.sum().backward(torch.ones(3))
except RuntimeError:
    print(traceback.format_exc())
try:
    class Odd(nn.Module, other=1):
        pass
except TypeError:
    print(traceback.format_exc())
try:
    torch.optim.SGD([x], lr=.1).step(1, 2)
except TypeError:
    print(traceback.format_exc())
"""

SEEN = """
import copy, pickle
for thing in (torch.optim.SGD.step, torch.optim.Optimizer.profile_hook_step, DataLoader.__iter__,
              torch.utils.data.dataloader._BaseDataLoaderIter.__next__, optimizer.step):
    print(repr(thing).split(" at 0x")[0], thing.__qualname__, inspect.signature(thing))
    print(thing.__class__, inspect.isfunction(thing), inspect.ismethod(thing))
    print(inspect.getsource(thing).splitlines()[0])
print(torch.optim.SGD.step.hooked)
print(pickle.loads(pickle.dumps(DataLoader.__iter__)) is DataLoader.__iter__)
print(pickle.loads(pickle.dumps(optimizer)).state_dict()["param_groups"][0]["lr"])
print(copy.deepcopy(net)(torch.ones(1, 4)).shape)
for backend in ("eager", "aot_eager"):
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    print(compiled(torch.ones(1, 4)).shape)
torch.compile(optimizer.step, backend="eager")()
class Plain(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad.mul_(0.5)
plain = Plain([x])
@torch.compile(fullgraph=True, backend="eager")
def with_step():
    plain.step()
    return x + 1
try:
    print(with_step())
except torch._dynamo.exc.Unsupported as error:
    print(str(error).splitlines()[0])
explained = torch._dynamo.explain(lambda: (plain.step(), x + 1))()
print(explained.graph_count, explained.graph_break_count)
"""


@pytest.mark.parametrize("part", ["EVENTS", "PROFILE", "STACKS", "SEEN"])
def test_a_program_that_looks_at_itself_sees_what_it_sees_without_us(tmp_path, part):
    script = tmp_path / "program.py"
    script.write_text(WATCH + globals()[part])
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("CROSSCUT_") and k not in ("PYTHONPATH", "LD_PRELOAD")}

    def run(*command):
        done = subprocess.run([*map(str, command), sys.executable, "-W", "ignore", script],
                              capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    plain = run("env")
    assert run(COMMAND, "record", "-o", tmp_path / "run", "--") == plain
    assert len(plain.splitlines()) > 5
    run = crosscut.read(tmp_path / "run")
    assert "failed" not in run.table("sources")["state"]
    found = {row["operation"] for row in run.table("operations").rows()}
    assert {"forward", "backward", "optimizer", "data"} <= found, "or nothing stood in between"
    assert len(list(run.table("steps").rows())) > 0
