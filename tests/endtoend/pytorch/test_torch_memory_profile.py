"""Memory profiles of crosscut.torch.profile beside torch.profiler's, for trainings at random."""

import json
import subprocess
import sys

import pytest

TRAINING = """
import json, random, sys, warnings, torch
from torch import nn
from torch.profiler._memory_profiler import TensorKey
from {module} import profile, schedule, ProfilerActivity
warnings.simplefilter("ignore")
warnings.filterwarnings("error", "blocks of this profile")
torch.set_num_threads(1)
torch.manual_seed(0)
choose = random.Random(int(sys.argv[1]))
def made(depth):
    kind = choose.choice(["Linear", "Tanh", "Sequential", "BatchNorm", "Dropout"])
    if depth == 0 or kind == "Linear":
        return nn.Linear(16, 16)
    if kind == "Sequential":
        return nn.Sequential(*[made(depth - 1) for _ in range(choose.randrange(1, 4))])
    return {"Tanh": nn.Tanh, "BatchNorm": lambda: nn.BatchNorm1d(16), "Dropout": nn.Dropout}[kind]()
net = nn.Sequential(nn.Linear(16, 16), made(2), made(2))
kind, options = choose.choice([("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adam", {}),
                               ("AdamW", {"foreach": False}), ("RMSprop", {})])
optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.1, **options)
x = torch.ones(8, 16)
to_none, before, made_outside = choose.random() < 0.5, choose.randrange(3), choose.random() < 0.5
def step():
    y = net(x if made_outside else torch.ones(8, 16))
    loss = y.sum() if choose.random() < 0.5 else nn.functional.mse_loss(y, x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=to_none)
for _ in range(before):
    step()
plan = schedule(wait=0, warmup=1, active=2, repeat=1) if choose.random() < 0.5 else None
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
             with_stack=True, schedule=plan) as prof:
    for _ in range(3):
        step()
        prof.step()
told = prof._memory_profile()
before, after = [], []
for time, action, (key, version), size in told.timeline:
    category = told._categories.get(key, version) if isinstance(key, TensorKey) else "unknown"
    (before if time < 0 else after).append((action.name, size, str(category)))
prof.export_memory_timeline(sys.argv[2], device="cpu")
print(json.dumps([sorted(before), after, [sizes for sizes in json.load(open(sys.argv[2]))[1]][-1]]))
"""


@pytest.mark.parametrize("seed", range(3))
def test_blocks_have_the_categories_that_torch_profiler_gives_them(seed, tmp_path):
    ours, theirs = (told(TRAINING, module, seed, tmp_path / "timeline.json")
                    for module in ("crosscut.torch", "torch.profiler"))
    assert ours == theirs, seed
    assert {"Category.PARAMETER", "Category.GRADIENT"} <= {row[2] for row in ours[0] + ours[1]}


OTHERS = """
import json, threading, warnings, torch, torch.profiler
from {module} import profile, ProfilerActivity
options = dict(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
               with_stack=True)
x = torch.ones(3)
def adds(prof):
    return [row.count for row in prof.key_averages() if row.key == "aten::add"]
def said(act):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    return [str(warning.message) for warning in found if "no category" in str(warning.message)]
def inside():
    global inner
    with profile(**options) as inner:
        x + 1
with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as outer:
    first = said(inside)
held = profile(**options)
held.start()
def stop():
    worker = threading.Thread(target=held.stop)
    worker.start()
    worker.join()
second = said(stop)
inside()
print(json.dumps([adds(outer), adds(inner), first, second,
                  torch.autograd._profiler_enabled(), len(inner._memory_profile().timeline) > 0]))
"""


def test_a_profile_without_a_memory_profile_says_so_and_ends_no_other_profiler():
    outer, inner, first, second, is_on, is_told = told(OTHERS, "crosscut.torch")
    assert outer == inner == [1] and is_told and not is_on
    assert [text.split(": ")[1] for text in first + second] == [
        "another profiler of PyTorch's is on",
        "the profile ended on another thread than it began on"]


def told(text, module, *arguments):
    done = subprocess.run([sys.executable, "-c", text.replace("{module}", module),
                           *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
