"""Events of crosscut.torch.profile beside torch.profiler's: same program, same attributes."""

import json
import subprocess
import sys

import pytest

HEAD = """
import json, sys, threading, warnings
import torch
from {module} import profile, record_function, ProfilerActivity
from torch._C._profiler import _ExperimentalConfig
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
x = torch.randn(4, 8)
def loss_of(x):
    with record_function("forward pass"):
        y = net(x)
    return torch.cat([y, y]).view(8, 2).sum()
def train():
    loss_of(x).backward()
train()
"""


def run(text, module, *arguments):
    done = subprocess.run([sys.executable, "-c", HEAD.replace("{module}", module) + text,
                           *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def both(text):
    return [json.loads(run(text, module)) for module in ("crosscut.torch", "torch.profiler")]


ATTRIBUTES = """
with profile(record_shapes=True, profile_memory=True) as prof:
    train()
def told(event):
    return [event.name, event.thread, event.fwd_thread, event.sequence_nr, event.scope,
            event.activity_type, event.input_shapes, event.structured_input_shapes,
            event.structured_input_strides, event.input_dtypes, repr(event.concrete_inputs),
            event.kwinputs, event.cpu_memory_usage, event.self_cpu_memory_usage,
            event.is_user_annotation, event.is_async, event.count, event.flops,
            str(event.device_type),
            event.cpu_parent and event.cpu_parent.name, len(event.cpu_children)]
ours = ("forward", "backward")  # operations that Crosscut finds by itself
print(json.dumps([[told(event) for event in prof.events() if event.name not in (*ours, "[memory]")],
                  sorted(event.cpu_memory_usage for event in prof.events()
                         if event.name == "[memory]")]))
"""
PARENT, SELF_MEMORY = -2, 13


def test_every_attribute_of_an_event_is_torch_profilers():
    (ours, freed), (theirs, their_freed) = both(ATTRIBUTES)
    assert freed == their_freed and len(freed) > 0  # outside of all calls
    for event in ours:
        if event[PARENT] == "forward":
            event[PARENT] = "forward pass"
        if event[PARENT] == "backward":
            event[PARENT] = None
        if event[0] == "forward pass":  # our own operation lies in it, with what it called
            there = next(there for there in theirs if there[0] == "forward pass")
            event[SELF_MEMORY], event[-1] = there[SELF_MEMORY], there[-1]
    assert len(ours) > 30
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)


STACKS = """
with profile(with_stack=True) as prof:
    train()
def own(stack):
    return [frame for frame in stack if frame.startswith("<string>(") and "<module>" not in frame]
events = [event for event in prof.events() if event.activity_type == "cpu_op"]
functions = [event for event in prof.events() if event.is_python_function]
print(json.dumps([[[event.name, own(event.stack)] for event in events
                   if event.name.startswith(("aten::addmm", "aten::tanh", "aten::cat"))],
                  own([event.name for event in functions]),
                  min(event.python_id for event in functions) > 0]))
"""


def test_a_stack_has_the_functions_around_a_call_and_around_its_forward_call():
    ours = json.loads(run(STACKS, "crosscut.torch"))
    config = "experimental_config=_ExperimentalConfig(verbose=True)"
    theirs = json.loads(run(STACKS.replace("with_stack=True", f"with_stack=True, {config}"),
                            "torch.profiler"))
    assert ours == theirs
    assert any(name == "aten::tanh_backward" and "loss_of" in stack[0]
               for name, stack in ours[0])


THREADS = """
def work():
    torch.square(x)
def names(**more):
    with profile(**more) as prof:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        torch.sin(x)
    return sorted(event.name for event in prof.events() if event.name in ("aten::pow", "aten::sin"))
every = _ExperimentalConfig(profile_all_threads=True)
print(json.dumps([names(), names(experimental_config=every)]))
"""


def test_events_are_those_of_the_thread_that_profiles_unless_all_are_asked_for():
    ours, theirs = both(THREADS)
    assert ours == theirs == [["aten::sin"], ["aten::pow", "aten::sin"]]


KINETO = """
with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
    train()
results = prof.profiler.kineto_results
calls = [event for event in results.events() if event.name() == "aten::addmm"]
assert all(event.end_ns() > event.start_ns() > results.trace_start_ns() for event in calls)
assert len({event.correlation_id() for event in calls}) == len(calls) == 2
from torch.profiler import _utils
nodes = list(_utils.traverse_dfs(results.experimental_event_tree()))
assert sum(node.name == "aten::addmm" for node in nodes) == 2
assert results.experimental_event_tree() is results.experimental_event_tree()
from torch.profiler._memory_profiler import MemoryProfile
assert isinstance(prof._memory_profile(), MemoryProfile)
actions = [(action.name, size) for _, action, _, size in prof._memory_profile().timeline]
assert ("CREATE", 4 * 16 * 4) in actions and ("DESTROY", 4 * 16 * 4) in actions
warnings.simplefilter("ignore")
prof.export_memory_timeline(sys.argv[1] + ".json", "cpu")
prof.export_memory_timeline(sys.argv[1] + ".raw.json.gz", "cpu")
times, sizes = json.load(open(sys.argv[1] + ".json"))
assert len(times) == len(sizes) > 10 and max(map(sum, sizes)) >= 4 * 16 * 4
try:
    with profile() as prof:
        train()
    prof._memory_profile()
except ValueError as error:
    print(error)
"""


def test_what_programs_read_of_kinetos_results_is_there(tmp_path):
    told = run(KINETO, "crosscut.torch", tmp_path / "memory")
    assert told == ("record_shapes=True, profile_memory=True, with_stack=True required for memory "
                    "profiling.\n")


ARGUMENTS = """
CPU = ProfilerActivity.CPU
def told(**arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            with profile(**arguments) as prof:
                train()
            print(len(prof.events()) > 0)
        except (RuntimeError, ValueError) as error:
            print(type(error).__name__, error)
    for warning in found:
        print("  ", warning.filename == "<string>", warning.message)
told(experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True,
                                             performance_events=["cycles"]))
told(experimental_config=_ExperimentalConfig(profile_all_threads=True), record_shapes=True)
told(with_modules=True)
told(activities=[{CPU: ["NONE_SUCH"]}])
told(activities=[{CPU: ["CPU_OP"]}])
told(activities=[{CPU: []}])
told(activities=[CPU, {CPU: []}])
told(experimental_config=_ExperimentalConfig(trace_only=True))
"""


def test_an_argument_that_changes_nothing_is_warned_of_by_name():
    assert run(ARGUMENTS, "crosscut.torch").splitlines() == [
        "True",
        "   True experimental_config: enable_cuda_sync_events has no effect",
        "   True experimental_config: performance_events has no effect",
        "True",
        "True",
        "   True with_modules: modules are in the tables `modules` and `backward` of `run`; "
        "they are events with with_stack",
        "RuntimeError Unknown or non-member activity type name: 'NONE_SUCH'",
        "True",
        "   True activities: all of ProfilerActivity.CPU is recorded, not only CPU_OP",
        "False",
        "ValueError Activity ProfilerActivity.CPU specified more than once",
        "RuntimeError events() is not available when trace_only=True in ExperimentalConfig. Use "
        "export_chrome_trace() instead."]


NAMES = """
import torch.profiler, crosscut.torch
print([name for name in torch.profiler.__all__ if not hasattr(crosscut.torch, name)],
      {name for name in dir(torch.profiler.profile) if not hasattr(profile, name)})
"""


def test_every_name_of_torch_profilers_is_there():
    assert run(NAMES, "crosscut.torch") == "[] set()\n"


OBSERVED = """
from crosscut.torch import ExecutionTraceObserver
observer = ExecutionTraceObserver().register_callback(sys.argv[1])
with profile(execution_trace_observer=observer) as prof:
    train()
assert sum(event.name == "aten::addmm" for event in prof.events()) == 2
nodes = json.load(open(sys.argv[1]))["nodes"]
print(sum(node["name"] == "aten::addmm" for node in nodes))
"""


def test_an_execution_trace_is_of_the_same_window(tmp_path):
    assert run(OBSERVED, "crosscut.torch", tmp_path / "et.json") == "2\n"


BEGUN = """
import random
choose = random.Random(int(sys.argv[1]))
a = torch.ones(4, 4)
class Worker:
    def __init__(self):
        self.turn, self.done = threading.Event(), threading.Event()
        self.ends = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
    def run(self):
        while True:
            self.turn.wait()
            self.turn.clear()
            for _ in range(7):
                torch.mm(a, a)
            self.done.set()
            if self.ends:
                return
    def call(self, ends):
        self.ends = ends
        self.turn.set()
        self.done.wait()
        self.done.clear()
        if ends:
            self.thread.join()
workers, counts = [Worker()], []
for _ in range(4):
    if choose.random() < 0.6:
        workers.append(Worker())
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        if choose.random() < 0.3:
            workers.append(Worker())
        for _ in range(choose.randrange(4)):
            torch.mm(a, a)
        for worker in list(workers):
            ends = choose.random() < 0.3
            worker.call(ends)
            if ends:
                workers.remove(worker)
    counts.append(sum(row.count for row in prof.key_averages() if row.key == "aten::mm"))
print(json.dumps(counts))
"""


@pytest.mark.parametrize("seed", range(2))
def test_calls_of_threads_that_python_began_at_any_time_are_the_programs(seed):
    ours, theirs = (json.loads(run(BEGUN, module, seed))
                    for module in ("crosscut.torch", "torch.profiler"))
    assert ours == theirs, seed
