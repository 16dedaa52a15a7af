"""Python functions (--python=calls) of real programs: their numbers are those of the program's own
clock and counts."""

import json
import sys

import pytest
from runs import record, record_script, table

TRAINING = """\
import json, time
import torch

net = torch.nn.Linear(10, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20) if "scheduler" in sys.argv else None

def train_one():
    net(torch.randn(5, 10)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(.01)
    if scheduler is not None:
        scheduler.step()

def train(loops=20):
    longest, before = 0, time.monotonic_ns()
    for _ in range(loops):
        begun = time.monotonic_ns()
        train_one()
        longest = max(longest, time.monotonic_ns() - begun)
    print(json.dumps({"loops": loops, "longest": longest, "all": time.monotonic_ns() - before}))

train()
"""


@pytest.mark.parametrize("how", ["plain", "scheduler"])
def test_functions_that_torch_opens_scopes_in_take_what_they_took(tmp_path, how):
    pytest.importorskip("torch")
    done = record_script(tmp_path / "run", TRAINING.replace("sys.argv", repr([how])),
                         "--python=calls", "--control-steps=0")
    assert done.returncode == 0, done.stderr
    truth = json.loads(done.stdout)
    rows = [row for row in table(tmp_path / "run", "functions") if row["layer"] == "python"]
    [one] = [row for row in rows if row["name"].startswith("train_one")]
    assert one["count"] == truth["loops"]
    assert one["max_ns"] <= truth["longest"]
    assert one["total_ns"] <= truth["all"]
    for name in ("record_function.__enter__", "record_function.__exit__", "profile_hook_step",
                 "Optimizer.zero_grad"):
        found = [row for row in rows if row["name"].startswith(name)]
        # It may be empty: PyTorch has some of them in some of its versions.
        assert all(row["total_ns"] <= truth["all"] for row in found), found
    assert not [row for row in table(tmp_path / "run", "gaps") if "begin" in row["message"]]


def test_nothing_is_missing_of_a_python_that_does_nothing(tmp_path):
    done = record(tmp_path / "run", [sys.executable, "-c", "pass"], "--python=calls")
    assert done.returncode == 0, done.stderr
    assert not [row for row in table(tmp_path / "run", "gaps") if "span" in row["message"]]


WORKS = """\
import json, time, crosscut

def outer():
    time.sleep(.01)
    inner()
    crosscut.pause()
    time.sleep(.05)
    crosscut.resume()
    inner()
    return time.monotonic_ns()

def inner():
    time.sleep(.01)

begun = time.monotonic_ns()
outer()
print(json.dumps(time.monotonic_ns() - begun))
"""


def test_a_pause_is_no_part_of_the_function_that_makes_it(tmp_path):
    done = record_script(tmp_path / "run", WORKS, "--python=calls")
    assert done.returncode == 0, done.stderr
    rows = {row["name"].split(" ")[0]: row for row in table(tmp_path / "run", "functions")}
    outer, inner = rows["outer"], rows["inner"]
    assert (outer["count"], inner["count"]) == (1, 2)
    assert inner["total_ns"] + 10_000_000 <= outer["total_ns"]
    assert outer["total_ns"] <= json.loads(done.stdout) - 50_000_000
    assert outer["max_ns"] == outer["total_ns"]  # its parts are one call
