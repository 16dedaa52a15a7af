"""crosscut.torch.profile: scripts for torch.profiler with one import changed."""

import json
import os
import subprocess
import sys

import pytest
from runs import ROOT, crosscut

from crosscut import read

# What both profilers run; {module} is where the names come from.
HEAD = """
import json, sys, warnings
import torch
from {module} import profile, record_function, schedule, ProfilerActivity
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(144, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
def train():
    with record_function("my step"):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
train()
"""

COUNTS = HEAD + """
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for _ in range(3):
        train()
rows = prof.key_averages()
print(json.dumps({row.key: row.count for row in rows}))
print(rows.table(sort_by="self_cpu_time_total", row_limit=5), file=sys.stderr)
"""

CYCLES = HEAD + """
ready = []
def on_ready(prof):
    prof.export_chrome_trace(f"{sys.argv[1]}/cycle{len(ready)}.json")
    ready.append(prof.step_num)
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
             on_trace_ready=on_ready) as prof:
    prof.add_metadata("job", "seven")
    for _ in range(10):
        train()
        prof.step()
print(ready)
"""


def run(text, module, *arguments):
    done = subprocess.run([sys.executable, "-c", text.replace("{module}", module), *arguments],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_calls_have_the_names_and_counts_of_torch_profilers(tmp_path):
    ours = run(COUNTS, "crosscut.torch")
    theirs = json.loads(run(COUNTS, "torch.profiler").stdout)
    counts = json.loads(ours.stdout)
    assert counts == theirs  # the operations that Crosscut finds by itself are in the run's tables
    assert "Self CPU time total: " in ours.stderr
    assert len([line for line in ours.stderr.splitlines() if "us" in line or "ms" in line]) >= 5


OVERLOADS = HEAD + """
from torch._C._profiler import _ExperimentalConfig
more = dict(experimental_config=_ExperimentalConfig(capture_overload_names=True))
with profile(activities=[ProfilerActivity.CPU], **more) as prof:
    train()
    one = torch.ones(3)
    torch.add(one + one + 1, 2, out=torch.empty(3))
rows = prof.key_averages(group_by_overload_name=True)
print(json.dumps({"rows": sorted([row.key, row.overload_name, row.count] for row in rows),
                  "events": sorted([event.name, event.overload_name]
                                   for event in prof.events())}))
print(rows.table(), file=sys.stderr)
print(len(prof.key_averages()), len({row.key for row in rows}), file=sys.stderr)
"""


def test_overloads_are_those_of_torch_profilers():
    ours = run(OVERLOADS, "crosscut.torch")
    automatic = ("forward", "backward", "optimizer")
    found = {kind: [row for row in rows if row[0] not in automatic]
             for kind, rows in json.loads(ours.stdout).items()}
    assert found == json.loads(run(OVERLOADS, "torch.profiler").stdout)
    assert [row for row in found["rows"] if row[0] == "aten::add"] == [
        ["aten::add", "Tensor", 2], ["aten::add", "out", 1]]
    head = next(line.split() for line in ours.stderr.splitlines() if "Self CPU %" in line)
    assert head[:3] == ["Name", "Overload", "Name"]
    assert len(set(ours.stderr.splitlines()[-1].split())) == 1  # grouped by name: as many rows


def test_every_cycle_of_a_schedule_is_whole(tmp_path):
    assert run(CYCLES, "crosscut.torch", str(tmp_path)).stdout == "[4, 8]\n"
    for cycle in ("cycle0.json", "cycle1.json"):
        trace = json.loads((tmp_path / cycle).read_text())
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
        assert len(steps) == 2
        assert sum(event["name"] == "my step" for event in events) == 2
        assert sum(event["name"] == "aten::addmm" for event in events) == 2
        assert "seven" in json.dumps(trace)
    assert run(CYCLES, "torch.profiler", str(tmp_path)).stdout == "[4, 8]\n"


def test_what_cannot_be_told_is_an_error():
    done = run(HEAD + """
prof = profile(record_shapes=True)
bad = [lambda: prof.run, lambda: prof.key_averages(), lambda: prof.export_chrome_trace("nowhere"),
       lambda: prof.key_averages().table(sort_by="nonsense"), lambda: prof.export_stacks("nowhere")]
for i, call in enumerate(bad):
    if i == 3:
        with prof:
            train()
    try:
        call()
    except (RuntimeError, ValueError, AttributeError, AssertionError) as error:
        print(type(error).__name__, error)
""", "crosscut.torch")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "RuntimeError", "AssertionError", "AssertionError", "AttributeError", "AssertionError"]
    assert "nothing is recorded yet" in done.stdout and "with_stack=True" in done.stdout


API = HEAD + """
import io, os, torch.profiler
out = sys.argv[1]
with profile(record_shapes=True, profile_memory=True) as prof:
    train()
events, rows = prof.events(), prof.key_averages()
for found in (events, rows):
    assert isinstance(found, torch.autograd.profiler_util.EventList)
    assert "aten::addmm" in found.table(row_limit=-1, top_level_events_only=False)
    found.supported_export_stacks_metrics()
    assert found.self_cpu_time_total > 0 and found.total_average().count >= len(found)
assert events.total_average().count == len(events)
assert sum(row.count for row in events.key_averages()) == len(events)
assert isinstance(prof, torch.profiler.profile)
events.export_chrome_trace(out)
assert len(json.load(open(out))) == len(events)
plain = torch.profiler.profile(record_shapes=True, profile_memory=True)
with plain:
    train()
def lacking(mine, theirs):
    return {name for name in dir(theirs) if not hasattr(mine, name)}
print(lacking(prof, plain), lacking(events[0], plain.events()[0]),
      lacking(rows[0], plain.key_averages()[0]))
print(prof.get_trace_id() != plain.get_trace_id(), repr(events[0])[:14], repr(rows[0])[:17])
"""


def test_results_are_torch_profilers_own_classes_with_all_that_they_have(tmp_path):
    lacking, told = run(API, "crosscut.torch", str(tmp_path / "e.json")).stdout.splitlines()
    assert lacking == "set() set() set()"
    assert told == "True <FunctionEvent <FunctionEventAvg"


ACCUMULATED = HEAD + """
def cycles(**more):
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=3),
                 custom_trace_id_callback=lambda: "mine", **more) as prof:
        for _ in range(9):
            torch.add(1, 2)
            prof.step()
    assert prof.get_trace_id() == "mine"
    return [sum(row.count for row in rows if row.key == "aten::add")
            for rows in (prof.key_averages(), prof.events())]
print(cycles(), cycles(acc_events=True))
"""


def test_events_of_all_cycles_are_kept_where_asked_for():
    for module in ("crosscut.torch", "torch.profiler"):
        assert run(ACCUMULATED, module).stdout == "[2, 2] [6, 6]\n"


LATE = HEAD + """
with profile(post_processing_timeout_s=0.0) as prof:
    train()
assert len(prof.events()) == len(prof.key_averages()) == 0
try:
    with profile(post_processing_timeout_s=-1.0):
        pass
except ValueError as error:
    print(error)
"""


def test_making_events_takes_no_longer_than_asked_for():
    done = run(LATE, "crosscut.torch")
    assert "timed out after 0.000 seconds, returning partial results with 0 events" in done.stderr
    assert done.stdout == "post_processing_timeout_s must be non-negative\n"


def test_a_run_can_be_kept_and_reported(tmp_path):
    run(HEAD + """
with profile() as prof:
    train()
prof.save(sys.argv[1])
prof.export_perfetto(sys.argv[2])
""", "crosscut.torch", str(tmp_path / "kept"), str(tmp_path / "t.pftrace"))
    kept = tmp_path / "kept"
    assert "aten::addmm" in crosscut("table", kept, "functions")
    # The program and its ring are gone: all of it was in what was kept.
    assert [gap for gap in read(kept).gaps if "control steps" not in gap] == []
    assert (tmp_path / "t.pftrace").stat().st_size > 1000


def test_a_forked_child_that_ends_leaves_the_result_alone():
    done = run(HEAD + """
import os
with profile() as prof:
    train()
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(any(row.key == "aten::addmm" for row in prof.key_averages()))
""", "crosscut.torch")
    assert done.stdout == "True\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_leave_no_recording(method, tmp_path):
    (tmp_path / "temporary").mkdir()
    script = tmp_path / "program.py"
    script.write_text(HEAD.replace("{module}", "crosscut.torch") + f"""
import multiprocessing
held = []
def child():
    held.append(profile())
    with held[0]:
        train()
    print(any(row.key == "aten::addmm" for row in held[0].key_averages()), flush=True)
if __name__ == "__main__":
    with profile() as mine:
        train()
    process = multiprocessing.get_context("{method}").Process(target=child)
    process.start()
    process.join()
    print(process.exitcode, any(row.key == "aten::addmm" for row in mine.key_averages()))
""")
    # OpenMP's threads do not survive a fork: whoever wants them in the child waits for ever.
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.stdout == "True\n0 True\n", done
    assert not list((tmp_path / "temporary").glob("crosscut-*"))


# Profiles that are not ended as they should: how often aten::add is in them, and in later ones.
UNENDED = """
import gc, sys, warnings
import torch
from {module} import profile, schedule, ProfilerActivity
warnings.simplefilter("ignore")
def new(**more):
    return profile(activities=[ProfilerActivity.CPU], **more)
def add(times):
    for _ in range(times):
        torch.ones(3) + 1
def told(prof):
    return sum(event.name == "aten::add" for event in prof.events())
{unended}
for times in (1, 2):
    with new() as later:
        add(times)
    print("later", told(later))
"""
UNENDED_PROFILES = {
    "dropped": "new().start(); add(1); gc.collect()",
    "dropped in a cycle": "it = new(); it.self = it; it.start(); add(1); del it; gc.collect()",
    "kept": "kept = new(); kept.start(); add(1)",
    "begun twice": "it = new(); it.start(); add(1); it.start(); add(2); it.stop(); print(told(it))",
    "begun thrice and ended twice":
        "it = new()\nfor _ in range(3): it.start(); add(1)\nit.stop(); print(told(it)); it.stop()",
    "begun beside another":
        "one, two = new(), new(); one.start(); add(1); two.start(); add(2); two.stop(); add(1)\n"
        "one.stop(); print(told(one), told(two))",
    "ended after a later one":
        "it = new(); it.start(); add(1)\nwith new() as two: add(2)\nit.stop()\n"
        "print(told(it), told(two))",
    "left in its warm-up":
        "it = new(schedule=schedule(wait=0, warmup=1, active=3)); it.start(); add(1)",
    "left in its steps":
        "it = new(schedule=schedule(wait=0, warmup=1, active=3)); it.start(); it.step(); add(1)",
    "left by an exception":
        "try:\n    it = new(); it.start(); add(1); raise ValueError\nexcept ValueError: pass",
}


@pytest.mark.parametrize("unended", UNENDED_PROFILES)
def test_a_profile_that_is_not_ended_spoils_no_later_one(unended):
    text = UNENDED.replace("{unended}", UNENDED_PROFILES[unended])
    theirs = [line for line in run(text, "torch.profiler").stdout.splitlines()
              if not line.startswith("USDT")]
    assert run(text, "crosscut.torch").stdout.splitlines() == theirs
    assert theirs[-2:] == ["later 1", "later 2"]


def test_a_profile_that_is_given_up_says_so_and_leaves_the_programs_own_session_alone(tmp_path):
    done = run(HEAD + """
import os, crosscut
kept = profile()
kept.start()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with profile():
        train()
print([str(one.message) for one in told if "given up" in str(one.message)])
kept.start()
crosscut.stop()
assert crosscut.start(sys.argv[1])
kept.stop()
del kept
print(crosscut.run_dir() == sys.argv[1])
held = profile()
crosscut.stop()
held.start()
if os.fork() == 0:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with profile() as prof:
            torch.ones(3) + 1
        print(len(told), sum(event.name == "aten::add" for event in prof.events()), flush=True)
    os._exit(0)
os.wait()
torch.ones(3) * 2
held.stop()
print(sum(event.name == "aten::mul" for event in held.events()))
""", "crosscut.torch", str(tmp_path / "run"))
    assert done.stdout == ("['a profile that was not stopped is given up: another begins']\nTrue\n"
                           "0 1\n1\n"), done.stderr


SHAPES = HEAD + """
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    train()
rows = prof.key_averages(group_by_input_shape=True)
print(rows.table(sort_by="cpu_time_total", row_limit=1))
assert all(row.cpu_time_total <= max(row.cpu_time_total for row in rows if row.key == "my step")
           for row in rows)
"""


def test_a_table_has_the_columns_of_rows_that_it_leaves_out():
    for module in ("crosscut.torch", "torch.profiler"):
        text = run(SHAPES, module).stdout
        assert "my step" in text and "aten::" not in text, text
        assert "Input Shapes" in text


TOGGLED = HEAD + """
with profile(activities=[ProfilerActivity.CPU]) as prof:
    train()
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    train()
    prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    train()
print(next(row.count for row in prof.key_averages() if row.key == "my step"))
"""


def test_collection_can_be_switched_inside_a_window():
    assert run(TOGGLED, "crosscut.torch").stdout == run(TOGGLED, "torch.profiler").stdout == "2\n"


def _example(folder, module):
    """The example's printed tables, as lists of the first column, and the traces that it left."""
    source = (ROOT / "examples" / "torch_profile.py").read_text()
    assert source.count("from torch.profiler import") == 1
    script = folder / f"{module}.py"
    script.write_text(source.replace("from torch.profiler import", f"from {module} import"))
    out = folder / f"{module}-out"
    done = subprocess.run([sys.executable, script, out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tables, rows, rules = [], [], 0
    for line in done.stdout.splitlines():
        if line.startswith("---"):
            rules += 1
            if rules % 3 == 0:
                tables.append(rows)
                rows = []
        elif rules % 3 == 2 and line.strip():
            rows.append(line.split("  ")[0].strip() or line.strip().split("  ")[0])
    return tables, done.stdout, sorted(out.iterdir())


def test_the_examples_script_runs_with_only_the_import_changed(tmp_path):
    theirs, their_text, their_files = _example(tmp_path, "torch.profiler")
    ours, our_text, our_files = _example(tmp_path, "crosscut.torch")
    assert len(ours) == len(theirs) == 4, our_text
    assert all(ours)
    # Theirs scales FLOPs for all rows at once ("Total MFLOPs"), and tells lines only where an
    # experimental option asks for them.
    for head in ("Name", "Self CPU", "CPU total", "# of Calls", "Input Shapes", "CPU Mem",
                 "Self CPU Mem", "FLOPs"):
        assert head in our_text and head in their_text, head
    assert "Source Location" in our_text and "torch_profile" not in their_text
    assert ".py" in our_text.split("Source Location")[1]
    assert len(our_files) == len(their_files) == 3
    counts = []
    for files in (our_files, their_files):
        [whole] = [path for path in files if path.name == "trace.json"]
        names = {}
        for event in json.loads(whole.read_text())["traceEvents"]:
            if event.get("cat") == "cpu_op":
                names[event["name"]] = names.get(event["name"], 0) + 1
        counts.append(names)
    assert counts[0] == counts[1]
    for path in our_files:
        json.loads(path.read_text())


def test_a_program_that_profiled_leaves_nothing_in_shared_memory():
    done = run(HEAD + """
import os
for _ in range(2):
    with profile() as prof:
        train()
    prof.key_averages()
print(os.getpid(), os.path.dirname(prof.run.path))
""", "crosscut.torch")
    pid, folder = done.stdout.split()
    assert not os.path.exists(folder)
    assert not [name for name in os.listdir("/dev/shm") if f"-{pid}-" in name]


@pytest.mark.parametrize("ends", ["multiprocessing.util._exit_function(); os._exit(0)",
                                  "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_children_that_profiled_leave_nothing_behind_the_next_profile(ends, tmp_path):
    text = HEAD.replace("{module}", "crosscut.torch") + f"""
import multiprocessing.util, os
pids = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        with profile() as prof:
            torch.mm(torch.ones(3, 3), torch.ones(3, 3))
        prof.key_averages()
        {ends}
    os.waitpid(pid, 0)
    pids.append(pid)
with profile():
    torch.mm(torch.ones(3, 3), torch.ones(3, 3))
print(*pids)
"""
    (tmp_path / "temporary").mkdir()
    before = set(os.listdir("/dev/shm"))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300,
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary"), "OMP_NUM_THREADS": "1"})
    pids = done.stdout.split()
    assert len(pids) == 3, done.stderr
    assert not [name for name in {*os.listdir("/dev/shm")} - before
                for pid in pids if f"-{pid}-" in name]
    assert not list((tmp_path / "temporary").glob("crosscut-*"))
