"""FLOPs of the drop-in's rows beside torch.utils.flop_counter, over operators and models."""

import json
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).with_name("flops_programs.py")
# What flop_counter tells and we tell. In a convolution by groups it counts the inputs of all groups
# for each weight; what a kernel calls, and products in place, it does not see.
FORWARD = 2 * 2 * 7 * 7 * 9 * 8
DIFFERENT = {"gradient of a weight in 4 groups": [FORWARD + 4 * FORWARD, 2 * FORWARD],
             "products inside a kernel": [0, 2 * 2 * 3 * 4 * 5],
             "product in place": [0, 2 * 3 * 4 * 5]}


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, PROGRAMS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_flops_are_those_of_flop_counter(found):
    same = {name: row for name, row in found.items() if name not in DIFFERENT}
    assert len(same) >= 100
    assert {name: ours for name, (_, ours, _) in same.items()} == {
        name: theirs for name, (theirs, _, _) in same.items()}
    nothing = {name for name, (theirs, _, _) in same.items() if theirs == 0}
    assert nothing == {"mm of nothing"}


def test_flops_that_flop_counter_misses_are_counted(found):
    assert {name: found[name][:2] for name in DIFFERENT} == DIFFERENT
