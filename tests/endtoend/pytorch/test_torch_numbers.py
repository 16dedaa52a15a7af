"""The numbers of crosscut.torch.profile beside those of torch.profiler, over programs of many
kinds: profile_programs.py."""

import json
import pathlib
import subprocess
import sys

import profile_programs
import pytest

HERE = pathlib.Path(__file__).parent


def run(text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, HERE / "profile_compare.py"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_there_are_programs_of_many_kinds():
    assert len(profile_programs.PROGRAMS) >= 40


# Whose bytes differ: where two threads work at once, torch.profiler counts what either allocates
# for both; in a transform of functions it sees fewer frees.
OTHER_BYTES = {"forked_script", "functional_transforms"}


@pytest.mark.parametrize("name", profile_programs.PROGRAMS)
def test_rows_counts_and_bytes_are_torch_profilers(found, name):
    columns = 1 if name in OTHER_BYTES else 3
    theirs, ours = ({key: row[:columns] for key, row in rows.items()
                     if columns == 3 or not key.startswith("[memory]")} for rows in found[name])
    assert ours == theirs


ELEMENTWISE = ("aten::add ", "aten::mul ")  # of a first input without dimensions it says 1


@pytest.mark.parametrize("name", [name for name in profile_programs.PROGRAMS
                                  if name != "sparse_matrices"])  # counted twice there
def test_flops_are_torch_profilers_where_it_has_a_formula(found, name):
    theirs, ours = found[name]
    known = {key: row[3] for key, row in theirs.items()
             if row[3] and not key.startswith(ELEMENTWISE)}
    assert {key: ours[key][3] for key in known} == known


def test_nothing_is_said_of_cycles_that_end_in_warm_up():
    done = run("""
import torch, torch.profiler as tp, crosscut.torch as ct
for k in range(12):
    with ct.profile(schedule=tp.schedule(wait=0, warmup=k % 3, active=1, repeat=1),
                    on_trace_ready=lambda p: p.key_averages()) as p:
        torch.ones(2); p.step(); p.step()
    with ct.profile(schedule=tp.schedule(wait=0, warmup=2, active=1)) as p:
        torch.ones(2); p.step()
""")
    assert "log was removed" not in done.stderr


STEPS = """
import json, sys, tempfile, torch, torch.profiler, crosscut.torch
def told(module):
    schedule = module.schedule(wait=1, warmup=1, active=3, repeat=1)
    with module.profile(schedule=schedule) as p:
        for i in range(6):
            torch.add(torch.ones(4), i)
            if i == 2:  # before it records, torch.profiler forgets them
                p.add_metadata_json("ranks", "[1, 2]")
                p.add_metadata("text", "[1, 2]")
            p.step()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        p.export_chrome_trace(file.name)
        trace = json.load(open(file.name))
    steps = [event["name"] for event in trace["traceEvents"]
             if event["ph"] == "X" and event["name"].startswith("ProfilerStep")]
    return [sorted(steps), trace["ranks"], trace["text"],
            {row.key: row.count for row in p.key_averages()}]
print(json.dumps([told(torch.profiler), told(crosscut.torch)]))
"""


def test_steps_have_the_programs_numbers_and_metadata_is_what_it_was():
    theirs, ours = json.loads(run(STEPS).stdout.splitlines()[-1])
    assert ours == theirs
    assert ours[0] == [f"ProfilerStep#{n}" for n in (2, 3, 4)] and ours[3]["ProfilerStep*"] == 3


FAST = """
import contextlib, json, torch, torch.profiler, crosscut.torch
from torch._C._profiler import _RecordFunctionFast as Fast
again = Fast("again")
def work():
    with Fast("one"), Fast("two", [torch.ones(2)], {}):
        torch.ones(2).add(1)
    with contextlib.suppress(ValueError), Fast("raises"):
        raise ValueError
    for _ in range(3):
        with again:
            torch.ones(1)
def counts(module):
    with module.profile() as p:
        work()
        on = torch.autograd.profiler._is_profiler_enabled
    return [{row.key: row.count for row in p.key_averages()}, on]
theirs, ours = counts(torch.profiler), counts(crosscut.torch)
across = Fast("across")
across.__enter__()
with crosscut.torch.profile():
    across.__exit__(None, None, None)
    late = Fast("late")
    late.__enter__()
late.__exit__(None, None, None)
with crosscut.torch.profile() as outer, torch.profiler.profile() as inner:
    work()
print(json.dumps([theirs, ours, [{row.key for row in p.key_averages()} >= {"one", "two", "again"}
                                 for p in (outer, inner)],
                  torch.autograd.profiler._is_profiler_enabled]))
"""


def test_fast_record_functions_are_recorded():
    theirs, ours, both, after = json.loads(run(FAST).stdout.splitlines()[-1])
    assert ours == theirs and ours[0]["again"] == 3 and ours[1] is True
    assert both == [True, True] and after is False
