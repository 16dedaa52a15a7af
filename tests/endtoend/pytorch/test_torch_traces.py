"""Chrome traces of crosscut.torch.profile beside torch.profiler's, for programs made at random."""

import collections
import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, random, sys, torch
from {module} import profile, record_function, ProfilerActivity
torch.set_num_threads(1)
choose = random.Random(int(sys.argv[1]))
nn = torch.nn
class Twice(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(torch.relu(self.inner(x)))
def made(depth):
    kind = choose.choice(["Linear", "Tanh", "Sequential", "Twice"])
    if depth == 0 or kind == "Linear":
        return nn.Linear(4, 4)
    if kind == "Tanh":
        return nn.Tanh()
    if kind == "Twice":
        return Twice(made(depth - 1))
    return nn.Sequential(*[made(depth - 1) for _ in range(choose.randrange(1, 4))])
kept = []  # torch.profiler takes a module for an earlier one that lay where it lies
nets = [made(choose.randrange(3)) for _ in range(3)]
x = torch.ones(2, 4, requires_grad=True)
options = {name: choose.random() < 0.5
           for name in ("record_shapes", "with_modules", "profile_memory")}
for net in choose.sample(nets, 2):
    net(x)
def run():
    for _ in range(choose.randrange(1, 4)):
        with record_function("mine"):
            choose.choice(nets)(x).sum().backward()
        kept.append(made(1))
        kept[-1](x)
for stacks in (True, False):
    with profile(activities=[ProfilerActivity.CPU], with_stack=stacks, **options) as prof:
        run()
    prof.export_chrome_trace(sys.argv[2])
    print(json.dumps(json.load(open(sys.argv[2]))["traceEvents"]))
"""
OF_ANNOTATIONS = {"cpu_op", "user_annotation"}


def traces(module, seed, path):
    done = subprocess.run([sys.executable, "-c", PROGRAM.replace("{module}", module), str(seed),
                           path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [[event for event in json.loads(line) if isinstance(event.get("pid"), int)]
            for line in done.stdout.splitlines()]


def modules(events):
    """Calls in order: name, number, and the modules around, innermost first."""
    python = {event["args"]["Python id"]: event for event in events
              if event.get("cat") == "python_function"}
    found = []
    for event in sorted(python.values(), key=lambda event: event["ts"]):
        around, outer = [], event
        while (outer := python.get(outer["args"]["Python parent id"])) is not None:
            around.append(outer["name"])
        if "Python module id" in event["args"]:
            found.append([event["name"], event["args"]["Python module id"],
                          [name for name in around if name.startswith("nn.Module: ")]])
    return found


def functions(events):
    """How often each Python function of the program and of its modules was called. Those that ran
    when recording began are named by where they were then, there."""
    names = [event["name"].rpartition("/")[2] for event in events
             if event.get("cat") == "python_function"]
    return collections.Counter(name for name in names if not name.endswith(": <module>") and
                               name.startswith(("<string>(", "module.py(", "linear.py(")))


def calls(events):
    """Operators and scopes in order: all but their times, their numbers among all events and what
    tensors were made of."""
    told = {"Sequence number", "Fwd thread id", "Input Dims", "Input type"}
    return [[event["name"], event["cat"], sorted(event["args"]),
             {key: value for key, value in event["args"].items() if key in told}]
            for event in sorted(events, key=lambda event: event.get("ts", 0))
            if event.get("cat") in OF_ANNOTATIONS]


@pytest.mark.parametrize("seed", range(3))
def test_modules_and_operators_are_told_as_torch_profiler_tells_them(seed, tmp_path):
    ours, theirs = (traces(module, seed, tmp_path / "trace.json")
                    for module in ("crosscut.torch", "torch.profiler"))
    for mine, other in zip(ours, theirs, strict=True):
        assert modules(mine) == modules(other)
        assert functions(mine) == functions(other)
        assert calls(mine) == calls(other)
        assert memory(mine) == memory(other)
        indexes = [event["args"]["Ev Idx"] for event in mine if "Ev Idx" in event.get("args", {})]
        assert len(set(indexes)) == len(indexes)
    assert len(modules(ours[0])) > 0 and len(functions(ours[0])) > 3
    assert not any(event["name"].startswith("nn.Module: ") for event in ours[1])


def memory(events):
    return collections.Counter((event["args"]["Bytes"], *sorted(event["args"])) for event in events
                               if event["name"] == "[memory]")
