"""Steps of programs that use their gradients themselves, and of those with several optimizers."""

import pytest
from runs import record_script, table

HEAD = """
import torch
from torch.utils.checkpoint import checkpoint
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
parameters = list(model.parameters())
def loss(x):
    return model(x).square().mean()
def data():
    return torch.randn(4, 8, requires_grad=True)
def update():
    for p in parameters:
        p.data.add_(p.grad, alpha=-0.1)
        p.grad = None
for i in range(60):
"""

# The runs of the engine before the fourth are taken for parts of something longer.
PROGRAMS = {
    "by hand": ("loss(data()).backward(); update()", 60 - 3),
    "a run of the engine in another": (
        "checkpoint(loss, data(), use_reentrant=True).backward(); update()", 60 - 3),
    "gradients that the program asks for": (
        "torch.autograd.grad(loss(data()), parameters)", 60 - 3),
    "gradients of a function": (
        "torch.func.grad(lambda x: loss(x))(data().detach())", 60 - 3),
    "two models": (
        "loss(data()).backward(); update()\n    loss(data()).backward(); update()", 60 - 1),
    "gradients for another end": (
        "torch.autograd.grad(loss(data()), parameters)\n    loss(data()).backward(); update()",
        60 - 1),
    "what a compiler differentiates": (
        "i or setattr(torch, 'f', torch.compile(loss, backend='aot_eager', dynamic=False));"
        " torch.f(torch.randn(2 + i // 10, 8))", 0),
    "an optimizer that steps late": (
        "optimizer = i and optimizer or torch.optim.SGD(parameters, 0.1); "
        "loss(data()).backward(); (i + 1) % 20 or optimizer.step()", 3),
    "an optimizer that comes late": (
        "loss(data()).backward(); i == 30 and setattr(torch, 'o', torch.optim.SGD(parameters, .1));"
        " update() if i < 30 else torch.o.step()", (31 - 3) + 30),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_steps_are_found_where_nothing_but_the_program_updates_its_model(tmp_path, kind):
    body, steps = PROGRAMS[kind]
    result = record_script(tmp_path / "run", HEAD + "    " + body)
    assert result.returncode == 0, result.stderr
    assert len(table(tmp_path / "run", "steps")) == steps


GENERATED = """
class Lazy(torch.optim.SGD):
    def step(self, closure=None):
        yield
        update() if HAND else super().step(closure)
made = HAND or torch.optim.SGD(parameters, 0.1)  # from now on PyTorch's own step() is known
optimizer = Lazy(parameters, 0.1)
for i in range(60):
    loss(data()).backward()
    for _ in optimizer.step(): pass
    optimizer.zero_grad()
"""


@pytest.mark.parametrize("by_hand", (False, True))
def test_an_update_that_a_generator_makes_is_one_step(tmp_path, by_hand):
    program = HEAD.replace("for i in range(60):\n", "") + f"HAND = {by_hand}" + GENERATED
    result = record_script(tmp_path / "run", program)
    assert result.returncode == 0, result.stderr
    # Of the first generator nobody knows yet who updates.
    assert len(table(tmp_path / "run", "steps")) == 60 - by_hand


SEVERAL = HEAD.replace("for i in range(60):\n", "") + """
import time
def update(optimizer):
    time.sleep(0.002)
    loss(data()).backward()
    optimizer.step()
    optimizer.zero_grad()
made = [torch.optim.SGD(parameters, 0.1) for _ in range(8)]
D, G, A = made[:3]
"""


@pytest.mark.parametrize(("body", "steps"), [
    ("for turn in range(20):\n  for _ in range(12): update((D, G)[turn % 2])", 240),
    ("for fold in made:\n  for _ in range(20): update(fold)", 160),
    ("for _ in range(60): update(D), update(G)", 60),
    ("for _ in range(40): update(D), update(D), update(G)", 80),
    ("for _ in range(40): update(D), update(G), update(A)", 40),
], ids=["phases", "folds", "GAN", "critic", "three"])
def test_updates_of_several_optimizers_are_steps_or_parts_of_one(tmp_path, body, steps):
    run = tmp_path / "run"
    result = record_script(run, SEVERAL + body, "--control-steps=0")
    assert result.returncode == 0, result.stderr
    assert len(table(run, "steps")) == steps
    # Of 16 updates in one step, or of none for a while, such a period would be told.
    assert not [row for row in table(run, "periodic_steps") if row["extra_ns"] > 20_000_000]
