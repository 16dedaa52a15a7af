"""Every argument of crosscut.torch.profile is carried out, or refused or warned of by name."""

import inspect
import json
import random
import subprocess
import sys

import pytest
import torch.profiler
from torch._C._profiler import _ExperimentalConfig

from crosscut import torch_arguments

HEAD = """
import gc, json, random, sys, tempfile, threading, warnings
import torch
import torch.profiler
import {module} as module
from torch.profiler import ProfilerActivity
from torch._C._profiler import _ExperimentalConfig
torch.set_num_threads(1)
x = torch.randn(4, 4)
def other():
    torch.sin(x)
def work(prof):
    for _ in range(3):
        with module.record_function("scope"):
            torch.mm(x, x) + 1
        gc.collect(0)
        worker = threading.Thread(target=other)
        worker.start()
        worker.join()
        prof.step()
"""

# What an argument is given, and how to tell that it was carried out: an expression over `p`, the
# profile, and `trace`; it differs from that of a profile without the argument.
CARRIED_OUT = {
    "activities": ("[{ProfilerActivity.CPU: []}, ProfilerActivity.CUDA]", "len(p.events())"),
    "schedule": ("module.schedule(wait=0, warmup=1, active=1, repeat=1)",
                 "sum(event.name == 'scope' for event in p.events())"),
    "on_trace_ready": ("lambda p: setattr(p, 'ready', 1)", "getattr(p, 'ready', 0)"),
    "record_shapes": ("True", "[e.input_shapes for e in p.events() if e.name == 'aten::mm'][0]"),
    "profile_memory": ("True", "sum(abs(row.cpu_memory_usage) for row in p.key_averages()) > 0"),
    "with_stack": ("True", "sum(event.is_python_function for event in p.events()) > 0"),
    "with_flops": ("True", "sum(row.flops for row in p.key_averages()) > 0"),
    "execution_trace_observer": (
        "module.ExecutionTraceObserver().register_callback(NAME)",
        "len(open(NAME).read()) > 0"),
    "acc_events": ("True", "sum(event.name == 'scope' for event in p.events())"),
    "custom_trace_id_callback": ("lambda: 'mine'", "p.get_trace_id() == 'mine'"),
    "post_processing_timeout_s": ("0.0", "len(p.events())"),
}
OPTIONS = {
    "profile_all_threads": ("True", "sum(event.name == 'aten::sin' for event in p.events())"),
    "record_python_gc_info": ("True", "sum(event.name == 'Python GC' for event in p.events()) > 0"),
    "capture_overload_names": ("True", "any('aten::add.' in name for name in trace)"),
}
# torch.profiler's own, before anything is recorded; "verbose" and "expose_kineto_event_metadata"
# ask for what is told in any case.
ELSEWHERE = {"trace_only", "verbose", "expose_kineto_event_metadata", "use_cuda", "with_modules",
             "adjust_profiler_step"}
# test_torch_metrics.py; here, where nothing reads counters, one warning says so.
OF_METRICS = {"profiler_metrics", "profiler_measure_per_kernel"}

TOLD = """
name, value, told = sys.argv[1:4]
NAME = tempfile.NamedTemporaryFile(suffix=".json").name
def result(**arguments):
    with module.profile(**arguments) as p:
        work(p)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        p.export_chrome_trace(file.name)
        trace = [event["name"] for event in json.load(open(file.name))["traceEvents"]]
    return eval(told)
more = {"record_python_gc_info": dict(with_stack=True), "acc_events": dict(
    schedule=module.schedule(wait=0, warmup=0, active=1, repeat=3))}.get(name, {})
open(NAME, "w").close()
without = result(**more)
arguments = f"dict({name}={value})"
if sys.argv[4] == "option":
    arguments = f"dict(experimental_config=_ExperimentalConfig({name}={value}))"
print(json.dumps([str(without), str(result(**more, **eval(arguments)))]))
"""


def run(text, *arguments, module="crosscut.torch"):
    """What the program prints last. PyTorch's own events have names of freed memory now and then
    (no UTF-8, with record_python_gc_info): such a trouble of the peer alone is tried again."""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", HEAD.replace("{module}", module) + text,
                               *map(str, arguments)], capture_output=True, text=True)
        if module != "torch.profiler" or "UnicodeDecodeError" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def options():
    """The names of all options of an _ExperimentalConfig, and a value that each has not."""
    names = torch_arguments.names(_ExperimentalConfig())
    defaults = dict(zip(names, _ExperimentalConfig().__getstate__()))
    return {name: (not value if isinstance(value, bool) else ["cycles"] if isinstance(value, list)
                   else "mine") for name, value in defaults.items()}


def test_every_argument_has_a_test():
    known = set(inspect.signature(torch.profiler.profile.__init__).parameters)
    assert known - {"self", "experimental_config"} <= CARRIED_OUT.keys() | ELSEWHERE
    assert len(options()) > 10


@pytest.mark.parametrize("name", [*CARRIED_OUT, *OPTIONS])
def test_an_argument_changes_what_it_says_as_it_does_in_torch_profiler(name):
    kind = "argument" if name in CARRIED_OUT else "option"
    ours, theirs = (run(TOLD, name, *{**CARRIED_OUT, **OPTIONS}[name], kind, module=module)
                    for module in ("crosscut.torch", "torch.profiler"))
    assert ours[0] != ours[1] and ours[0] == theirs[0]
    # torch.profiler records all of a device of which nothing was asked for.
    assert ours[1] == ("0" if name == "activities" else theirs[1])


DRAWN = """
drawn = json.loads(sys.argv[1])
def warned(**arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        module.profile(**arguments)
    return [str(warning.message) for warning in found]
found = []
for options, modules, activities in drawn:
    kinds = [ProfilerActivity.CPU, *(getattr(ProfilerActivity, name) for name in activities)]
    found.append(warned(experimental_config=_ExperimentalConfig(**options), with_modules=modules,
                        activities=kinds))
print(json.dumps(found))
"""


def test_of_drawn_arguments_none_is_swallowed():
    draw = random.Random(7)
    values, drawn = options(), []
    others = sorted(name for name in torch.profiler.ProfilerActivity.__members__ if name != "CPU")
    for _ in range(200):
        chosen = draw.sample(sorted(values), draw.randint(0, 5))
        drawn.append([{name: values[name] for name in chosen}, draw.random() < 0.5,
                      draw.sample(others, draw.randint(0, 2))])
    found = run(DRAWN, json.dumps(drawn))
    assert len(found) == len(drawn) > 0
    here = {activity.name for activity in torch.profiler.supported_activities()}
    for (chosen, modules, activities), warned in zip(drawn, found):
        named = {name for name in chosen
                 if f"experimental_config: {name} has no effect" in warned}
        assert set(chosen) - named <= OPTIONS.keys() | ELSEWHERE | OF_METRICS
        measures = "profiler_metrics" in chosen
        assert any("nothing reads counters here" in text for text in warned) == measures
        assert ("profiler_measure_per_kernel" in chosen and not measures) == (
            "profiler_measure_per_kernel" in named)
        assert any(text.startswith("with_modules: ") for text in warned) == modules
        for name in activities:
            assert any(f"ProfilerActivity.{name}: " in text for text in warned) == (
                name not in here)
        assert len(warned) == len(named) + modules + measures + len(set(activities) - here)


STEPS = """
def step_function(prof):
    torch.mm(x, x)
    prof.step()
def told(adjusts):
    config = _ExperimentalConfig(adjust_profiler_step=adjusts)
    with module.profile(with_stack=True, experimental_config=config, schedule=module.schedule(
            wait=0, warmup=0, active=3, repeat=1)) as prof:
        for _ in range(3):
            step_function(prof)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        prof.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    begins = {word: sorted(event["ts"] for event in events if word in event["name"])
              for word in ("ProfilerStep#", "step_function")}
    return [abs(a - b) < 2 for a, b in zip(*begins.values())], len(begins["ProfilerStep#"])
print(json.dumps([told(False), told(True)]))
"""


def test_steps_are_adjusted_where_it_is_asked_for():
    for module in ("crosscut.torch", "torch.profiler"):
        assert run(STEPS, module=module) == [[[False] * 3, 3], [[True] * 3, 3]], module


NAMED = """
x.neg()
Fast = torch._C._profiler._RecordFunctionFast
named = {"stream": 0, "grid": "lambda x : x + 1", "debug": 'a "word"', "boolean": True,
         "ratio": 0.5, "names": ["a", "b"], "list": [1, 2]}
def told(**more):
    with module.profile(**more) as prof:
        with Fast("both", [x, x], named), Fast("none"), Fast("inputs", [x]):
            x.neg()
        with Fast("names", [], {"stream": 1}), Fast("text", [], {"stream": "one", "other": "two"}):
            x.neg()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        prof.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    names = ("both", "none", "inputs", "names", "text")
    keys = (*named, "other", "Input Dims")
    return [[[event.name, event.input_shapes, event.kwinputs] for event in prof.events()
             if event.name in names],
            [[event["name"], {key: event["args"].get(key) for key in keys}] for event in events
             if event["name"] in names]]
print(json.dumps([told(record_shapes=True), told()]))
"""


def test_fast_record_functions_tell_what_they_got_by_name():
    ours, theirs = (run(NAMED, module=module) for module in ("crosscut.torch", "torch.profiler"))
    assert ours == theirs
    assert ours[0][0][0] == ["both", [[4, 4], [4, 4]], {
        "stream": 0, "grid": "lambda x : x + 1", "debug": 'a "word"', "boolean": True,
        "ratio": 0.5, "names": ["a", "b"], "list": [1, 2]}]


WINDOW = """
with module.profile(with_stack=True) as prof:
    torch.add(x, x)
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    prof.export_chrome_trace(file.name)
    events = json.load(open(file.name))["traceEvents"]
span, _, start, end = events[-4:]
inside = all(start["ts"] <= event["ts"] and event["ts"] + event.get("dur", 0) <= end["ts"] + 0.002
             for event in events)
print(json.dumps([[event["name"] for event in events[-4:]], inside,
                  span["ts"] + span["dur"] <= end["ts"] + 0.002]))
"""


def test_a_trace_ends_with_its_window():
    for module in ("crosscut.torch", "torch.profiler"):
        found = run(WINDOW, module=module)
        assert found == [["PyTorch Profiler (0)", "process_sort_index",
                          "Iteration Start: PyTorch Profiler", "Record Window End"], True, True]
