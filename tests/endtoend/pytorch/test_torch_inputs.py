"""What operators are called with, and which module and operator caused which backward work: beside
torch.profiler in the same script, one import apart."""

import collections
import json
import subprocess
import sys

from runs import crosscut, record, record_script, table

# Tensors and lists of them, scalars of each kind, empty and missing ones, long lists, sparse ones.
PROGRAM = """
import sys
import torch
from {module} import profile
torch.manual_seed(0)
conv = torch.nn.Conv2d(3, 4, 3, padding=1)
x = torch.randn(2, 3, 8, 8)
w = torch.nn.Parameter(torch.ones(4, 4))
adam = torch.optim.Adam([w], lr=0.01)
with profile({arguments}) as prof:
    y = conv(x)
    torch.cat([y, y], dim=1)
    torch.add(x, 1, alpha=2)
    torch.arange(10)
    x.sum(dim=(1, 2), keepdim=True)
    x[0:1]
    torch.einsum("ij,jk", torch.ones(2, 3), torch.ones(3, 4))
    (w @ w).sum().backward()
    adam.step()
    torch.zeros(3, dtype=torch.float64, device="cpu")
    torch.empty(0)
    torch.stack([torch.ones(2)] * 40)
    x.to(torch.float16)
    torch.ones(1).item()
    torch.where(torch.tensor([True]), 1.0, float("nan"))
    torch.full((2,), 1 + 2j)
    at = torch.tensor([[0, 1], [1, 0]])
    torch.sparse_coo_tensor(at, torch.ones(2), (2, 2), check_invariants=False).coalesce()
    torch.nn.functional.embedding(torch.tensor([1]), w)
    torch._foreach_add([torch.ones(2), torch.ones(3)], [1.0, 2.0])
    torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    w.transpose(0, 1).contiguous()
    torch.nn.functional.conv2d(x, conv.weight, None, stride=[2, 2], groups=1)
prof.export_chrome_trace(sys.argv[1])
"""
INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
FRAME = "autograd::engine::evaluate_function: "


def operators(tmp_path, module, arguments="record_shapes=True"):
    path = tmp_path / f"{module}.json"
    text = PROGRAM.replace("{module}", module).replace("{arguments}", arguments)
    done = subprocess.run([sys.executable, "-c", text, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "cpu_op"]
    return sorted(events, key=lambda e: e["ts"])


def told(event):
    args = event.get("args", {})
    # torch.profiler copies a node's number to the frame around it, and tells of inputs that are
    # none as an empty list.
    sequence = None if event["name"].startswith(FRAME) else args.get("Sequence number")
    return [event["name"], sequence, *(args.get(key) or None for key in INPUTS)]


def test_inputs_are_told_as_torch_profiler_tells_them(tmp_path):
    ours = operators(tmp_path, "crosscut.torch")
    theirs = operators(tmp_path, "torch.profiler")
    assert len(ours) > 200
    assert [told(event) for event in ours] == [told(event) for event in theirs]


def test_without_shapes_nothing_is_said_of_inputs(tmp_path):
    events = operators(tmp_path, "crosscut.torch", "record_shapes=False")
    assert events
    for event in events:
        assert not set(INPUTS) & set(event.get("args", {})), event


# No size, stride or count of the program is one of the numbers that it calculates with.
CALCULATES = """
import torch
from torch._C._profiler import _RecordFunctionFast
x, image = torch.ones(4), torch.ones(1, 4, 16, 16, requires_grad=True)
conv = torch.nn.Conv2d(4, 8, 3, stride=2, padding=1, dilation=2, groups=2)
up = torch.nn.ConvTranspose2d(8, 4, 3, stride=2)
for _ in range(3):
    up(conv(image)).sum().backward()
    torch.full((2,), 31337.25)
    torch.add(x, x, alpha=31337.25)
    torch._foreach_add([x, x], [31337.25, 2.0])
    torch.where(x > 31337.25, 31337.25, 1.0)
    torch.nn.functional.pad(x, (1, 1), value=31337.25)
    x[torch.tensor([1])] = 31337.25
    with _RecordFunctionFast("mine", [x, 31337.25], {"salary": 31337.25, "name": "31337.25"}):
        pass
"""


def without_times(event):
    """All of it in which a number of the program could stand; the digits of a time are chance."""
    return {key: value for key, value in event.items() if key not in ("ts", "dur")}


def test_numbers_are_recorded_only_where_asked_for(tmp_path):
    held, flops = {}, {}
    for flags in (["--shapes"], ["--scalars"]):
        run = tmp_path / flags[0].strip("-")
        done = record_script(run, CALCULATES, "--control-steps=0", *flags)
        assert done.returncode == 0, done.stderr
        rows = table(run, "operators")
        assert {r["input_dims"] for r in rows if r["name"] == "aten::full"} == {
            "[[], [], [], [], [], []]"}
        flops[flags[0]] = collections.Counter()
        for r in rows:
            flops[flags[0]][r["name"]] += int(r["flops"] or 0) if "conv" in r["name"] else 0
        trace = tmp_path / f"{run.name}.json"
        crosscut("export", run, "-o", trace)
        held[flags[0]] = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]
                          if "31337.25" in json.dumps(without_times(event))}
    assert held["--shapes"] == set()
    assert {"aten::full", "aten::add", "aten::_foreach_add", "mine"} <= held["--scalars"]
    # What the counting of FLOPs needs of convolutions is no data.
    assert flops["--shapes"] == flops["--scalars"]
    assert all(flops["--shapes"][f"aten::conv{name}"] for name in ("2d", "_transpose2d"))


def test_calls_of_a_session_without_numbers_have_none_though_an_earlier_one_had(tmp_path):
    done = subprocess.run([sys.executable, "-c", """
import sys, torch
import crosscut
x = torch.ones(4)
for asked in ({"scalars": True}, {"shapes": True}):
    assert crosscut.start(f"{sys.argv[1]}/{len(asked)}-{list(asked)[0]}", plan="full",
                          control_percent=0, **asked)
    torch.add(x, x, alpha=31337.25)
    assert crosscut.stop()
""", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, count in (("1-scalars", 1), ("1-shapes", 0)):
        trace = tmp_path / f"{name}.json"
        crosscut("export", tmp_path / name, "-o", trace)
        held = list(map(without_times, json.loads(trace.read_text())["traceEvents"]))
        assert ("31337.25" in json.dumps(held)) == count


CHANGING = """
import torch
x = torch.ones(2)
for i in range(10_000):
    torch.mul(x, float(i) + 0.5)
for i in range(1, 30_000):
    torch.empty_strided((2, 2), (1, i)).t_()
"""


def test_inputs_that_keep_changing_end_in_shapes_without_values_and_then_in_none(tmp_path):
    done = record_script(tmp_path / "run", CHANGING, "--scalars", "--control-steps=0")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "run", "operators")
    multiplied = [r for r in rows if r["name"] == "aten::mul"]
    assert sum(r["count"] for r in multiplied) == 10_000
    assert {r["input_dims"] for r in multiplied} == {"[[2], []]"}
    transposed = [r for r in rows if r["name"] == "aten::t_"]
    assert sum(r["count"] for r in transposed) == 29_999
    assert {r["input_dims"] for r in transposed} == {"[[2, 2]]", ""}


# A tensor whose sizes, strides and layout are the program's to say.
DISPATCHING = """
import torch
from torch.utils._pytree import tree_map

class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, policy):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, dispatch_layout=True,
            dispatch_sizes_strides_policy=policy)
        made.inner, made.policy = inner, policy
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        asked.append(str(function))
        of = [arg for arg in args if isinstance(arg, Wrapped)][0]
        bare = tree_map(lambda x: x.inner if isinstance(x, Wrapped) else x, args)
        result = function(*bare, **(kwargs or {}))
        return cls(result, of.policy) if isinstance(result, torch.Tensor) else result

asked = []
for policy in ("sizes", "strides", None):
    x = Wrapped(torch.ones(5, 3).t(), policy)
    for _ in range(10):
        torch.mul(x, x)
print([name for name in asked if "mul" not in name])
"""


def test_a_tensor_is_not_asked_for_what_the_program_would_say(tmp_path):
    done = record_script(tmp_path / "run", DISPATCHING, "--shapes", "--control-steps=0")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert {row["input_dims"] for row in table(tmp_path / "run", "operators")
            if row["name"] == "aten::mul"} == {"[[3, 5], [3, 5]]"}


def test_flops_are_torch_profilers(tmp_path):
    text = """
import json, sys, torch
from {module} import profile
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2, groups=1), torch.nn.Flatten(),
                          torch.nn.Linear(72, 10))
x, a = torch.randn(2, 3, 8, 8), torch.randn(4, 5, 6)
with profile(with_flops=True) as prof:
    net(x).sum().backward()
    torch.bmm(a, a.transpose(1, 2)) + 1
    torch.baddbmm(torch.ones(4, 5, 5), a, a.transpose(1, 2)) * 2
print(json.dumps({row.key: row.flops for row in prof.key_averages() if row.flops}))
"""
    found = {}
    for module in ("crosscut.torch", "torch.profiler"):
        done = subprocess.run([sys.executable, "-c", text.replace("{module}", module)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[module] = json.loads(done.stdout)
    ours = found["crosscut.torch"]
    # They have no formula for it. The network's input needs no gradient.
    assert ours.pop("aten::convolution_backward") == ours["aten::conv2d"]
    assert len(ours) >= 6 and ours == found["torch.profiler"]


BACKWARD = """
import threading
import torch
from torch.utils.checkpoint import checkpoint

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.linear(x))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        return self.second(torch.sin(self.first(x)))

def train(case):
    net, x = Net(), torch.randn(2, 4, requires_grad=True)
    if case == "plain":
        net(x).sum().backward()
    elif case == "kept":
        loss = net(x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
    elif case == "double":
        gradient, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        gradient.square().sum().backward()
    elif case == "checkpoint":
        checkpoint(net, x, use_reentrant=False).sum().backward()
    elif case == "reentrant":
        checkpoint(net, x, use_reentrant=True).sum().backward()
    elif case == "threads":
        threads = [threading.Thread(target=train, args=("plain",)) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]

import sys
train(sys.argv[1])
"""


def backward(tmp_path, case):
    """How often a frame of each forward operator ran, by the operator and where that ran."""
    script, run = tmp_path / "train.py", tmp_path / "run"
    script.write_text(BACKWARD)
    done = record(run, [sys.executable, script, case], "--control-steps=0")
    assert done.returncode == 0, done.stderr
    found = collections.Counter()
    for row in table(run, "backward"):
        found[row["module"], row["operator"]] += row["count"]
    # No frame is missing, none is in two rows.
    frames = [r["count"] for r in table(run, "functions") if r["name"].startswith(FRAME)]
    assert sum(found.values()) == sum(frames)
    return found


PLAIN = {("Net.first (Block)", "aten::tanh"): 1, ("Net.second (Block)", "aten::tanh"): 1,
         ("Net", "aten::sin"): 1, ("Net.first.linear (Linear)", "aten::addmm"): 1,
         ("Net.second.linear (Linear)", "aten::addmm"): 1}


def of_modules(found):
    """Without transposes of weights, the sum and the gradients that are added up."""
    return {key: count for key, count in found.items() if key in PLAIN}


def test_backward_work_belongs_to_the_module_whose_operator_caused_it(tmp_path):
    assert of_modules(backward(tmp_path, "plain")) == PLAIN


def test_a_graph_that_is_kept_belongs_to_its_operators_each_time(tmp_path):
    assert of_modules(backward(tmp_path, "kept")) == {key: 2 for key in PLAIN}


def test_of_a_second_derivative_both_passes_have_their_causes(tmp_path):
    found = backward(tmp_path, "double")
    # The first pass runs each once, the second goes through the same nodes again.
    assert all(found[key] == 2 for key in PLAIN), found
    # What the first pass computed has nodes of its own: caused outside of every module.
    assert found["", "aten::mul"] == 1 and found["", "aten::tanh_backward"] == 2, found


def test_recomputed_activations_cause_what_the_first_ones_would_have(tmp_path):
    assert of_modules(backward(tmp_path, "checkpoint")) == PLAIN


def test_a_backward_pass_inside_a_backward_pass_has_its_own_causes(tmp_path):
    found = backward(tmp_path, "reentrant")
    assert of_modules(found) == PLAIN
    assert sum(count for (_, op), count in found.items() if op == "CheckpointFunction") == 1


def test_threads_that_run_forward_keep_their_numbers_apart(tmp_path):
    assert of_modules(backward(tmp_path, "threads")) == {key: 3 for key in PLAIN}


EVENTS = """
import json, torch
from {module} import profile, record_function
net, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
net(x).sum().backward()
with profile(record_shapes=True) as prof:
    with record_function("mine"):
        net(x).tanh().sum().backward()
def told(event):
    parent = event.cpu_parent
    return [event.name, event.sequence_nr, parent and parent.name, len(event.cpu_children),
            [shape for shape in event.input_shapes if shape]]
# torch.profiler takes out a call that is the only one of a call of the same name.
events = list(prof.events())
def twice(event):
    parent = event.cpu_parent
    return parent is not None and parent.name == event.name and len(parent.cpu_children) == 1
for event in events:
    if twice(event):
        event.cpu_parent.cpu_children = event.cpu_children
        for child in event.cpu_children:
            child.cpu_parent = event.cpu_parent
        event.cpu_parent = event
events = [event for event in events if event.cpu_parent is not event]
print(json.dumps(sorted(told(event) for event in events if event.name != "forward"
                        and event.name != "backward"), default=str))
"""


def test_events_are_torch_profilers_with_parents_numbers_and_shapes(tmp_path):
    found = {}
    for module in ("crosscut.torch", "torch.profiler"):
        done = subprocess.run([sys.executable, "-c", EVENTS.replace("{module}", module)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[module] = json.loads(done.stdout)
    ours, theirs = found["crosscut.torch"], found["torch.profiler"]
    for event in ours + theirs:
        if event[0].startswith(FRAME):
            event[1] = None  # torch.profiler copies its node's
        if event[2] in (None, "forward", "backward"):
            event[2] = "mine"  # our automatic operations lie between
        if event[0] == "mine":
            event[3] = 0
    assert len(ours) > 20 and ours == theirs
