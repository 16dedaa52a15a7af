"""Runs of PyTorch compared: counts are facts, other shapes are no comparison."""

import json
import subprocess
import sys

import pytest

from runs import CROSSCUT, record_script

LOOP = """
import crosscut, torch
torch.set_num_threads(1)
weights = torch.randn(16, 16)
for _ in range(30):
    crosscut.step()
    with crosscut.operation("forward"):
        hidden = torch.randn({batch}, 16) @ weights
        for _ in range({times}):
            hidden = torch.tanh(hidden)
    with crosscut.operation("loss"):
        hidden.sum().item()
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch_diff")
    for name, batch, times in (("base", 8, 1), ("more", 8, 3), ("larger", 64, 1)):
        done = record_script(folder / name, LOOP.format(batch=batch, times=times),
                             "--allocations", "--shapes")
        assert done.returncode == 0, done.stderr
    return folder


def diff(runs, a, b, *flags, code=0):
    done = subprocess.run([CROSSCUT, "diff", runs / a, runs / b, *flags], text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def rows(done, name):
    (columns,) = [table["columns"] for table in json.loads(done.stdout)["tables"]
                  if table["table"] == name]
    return [dict(zip(columns, cells)) for cells in zip(*columns.values())]


def test_a_count_that_changed_is_a_fact(runs):
    done = diff(runs, "base", "more", "--format=json")
    names = {row["name"]: row for row in rows(done, "diff_step_names")}
    tanh = names["aten::tanh"]
    assert (tanh["a_low"], tanh["a_high"], tanh["b_low"], tanh["b_high"]) == (1, 1, 3, 3)
    assert tanh["changed"] == 1 and tanh["b_count"] == 3 * tanh["b_steps"]
    assert names["aten::mm"]["changed"] == 0
    counts = {row["what"]: row for row in rows(done, "diff_step_counts")}
    assert counts["operators"]["b_low"] == counts["operators"]["a_low"] + 2
    assert counts["allocations"]["changed"] == 1
    text = diff(runs, "base", "more").stdout
    assert "Counts per step that changed" in text and "aten::tanh" in text


def test_names_that_appear_or_vanish_have_one_side(runs):
    found = rows(diff(runs, "base", "larger", "--format=json"), "diff_inputs")
    mm = {(row["input_dims"], row["found"]) for row in found if row["name"] == "aten::mm"}
    assert mm == {("[[8, 16], [16, 16]]", "A"), ("[[64, 16], [16, 16]]", "B")}


def test_runs_of_another_batch_size_are_not_compared(runs):
    done = diff(runs, "base", "larger", "--fail-above=5%", code=3)
    assert "most operators have other input shapes" in done.stderr
    diff(runs, "base", "base", "--fail-above=5%")
