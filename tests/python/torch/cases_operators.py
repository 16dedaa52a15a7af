"""Cases of test_operators.py, run on the stub recorder. Prints {case: what went wrong or ""}."""

import collections
import json
import threading
import traceback

import torch
from tape import BOUNDARY, EVALUATE, beside_torch_profiler, record, recorder, shim, spans
from torch import nn

torch.set_num_threads(1)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def same(body):
    ours, theirs = beside_torch_profiler(body)
    assert sum(theirs.values()) > 3, theirs
    assert ours == theirs, f"only theirs: {theirs - ours}\nonly ours: {ours - theirs}"


def convolutional():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                        nn.Linear(8 * 36, 10))
    images = torch.randn(4, 3, 8, 8)
    return lambda: net(images).sum().backward()


@case
def training_a_cnn():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    optimizer = torch.optim.Adam(net.parameters())
    images = torch.randn(4, 3, 8, 8)

    def body():
        optimizer.zero_grad()
        net(images).sum().backward()
        optimizer.step()
    same(body)


@case
def a_transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    tokens = torch.randn(2, 8, 32)
    same(lambda: layer(tokens).square().mean().backward())


@case
def double_backward():
    def body():
        x = torch.randn(5, requires_grad=True)
        gradient, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        gradient.sum().backward()
    same(body)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@case
def a_custom_function():
    x = torch.randn(5, requires_grad=True)
    same(lambda: Scaled.apply(x * 1).sum().backward())
    names = {span.name for span in record(lambda: Scaled.apply(x).sum().backward())}
    assert {"ScaledBackward", EVALUATE + "ScaledBackward"} <= names, names


@case
def reentrant_backward():
    from torch.utils.checkpoint import checkpoint
    net = nn.Linear(4, 4)
    x = torch.randn(2, 4, requires_grad=True)
    same(lambda: checkpoint(net, x, use_reentrant=True).sum().backward())


@case
def forward_on_many_threads():
    body = convolutional()

    def threads():
        running = [threading.Thread(target=body) for _ in range(4)]
        [t.start() for t in running]
        [t.join() for t in running]
    same(threads)


@case
def exceptions_inside_operators():
    def body():
        for shape in ((2, 3), (5, 7)):
            try:
                torch.ones(4, 4) @ torch.ones(*shape)
            except RuntimeError:
                pass
        class Broken(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, gradient):
                raise ValueError("broken")
        try:
            Broken.apply(torch.ones(3, requires_grad=True)).sum().backward()
        except ValueError:
            pass
    same(body)


@case
def names_in_reused_buffers():
    # torch builds the names of autograd's frames in one buffer after the other at one address.
    x = torch.randn(3, requires_grad=True)
    makers = (torch.sin, torch.cos, torch.exp, torch.tanh, torch.sigmoid, torch.abs)

    def body():
        for _ in range(20):
            for make in makers:
                make(x).sum().backward()
    counts = collections.Counter()
    for span in record(body):
        counts[span.name] += 1
        frame = span.parent.name if span.parent is not None else ""
        if frame.startswith(EVALUATE) and span.name.endswith("Backward0"):
            assert frame == EVALUATE + span.name
    for make in makers:
        node = f"{make.__name__.capitalize()}Backward0"
        assert counts[node] == counts[EVALUATE + node] == 20, counts


@case
def operators_that_go_away_take_their_names_along():
    x = torch.ones(2)
    for round in range(30):
        library = torch.library.Library("crosscut_test", "DEF")
        name = f"a_rather_long_operator_name_{round}"
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x + 1, "CPU")
        found = record(lambda: getattr(torch.ops.crosscut_test, name)(x))
        assert f"crosscut_test::{name}" in {span.name for span in found}, (round, found)
        library._destroy()


@case
def user_scopes_are_operations_but_torchs_own_are_not():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def body():
        with torch.profiler.record_function("my part"):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        with torch.profiler.record_function("ProfilerStep#41"):
            pass
    found = {span.name: span for span in record(body)}
    assert (found["my part"].kind, found["my part"].layer) == (1, 0)
    assert found["Optimizer.step#SGD.step"].kind == 0
    assert found["Optimizer.step#SGD.step"].flags & 2  # the layer below stays in force
    assert found["ProfilerStep#"].args == {"step": 41}
    assert found["ProfilerStep#"].kind == 0
    assert found["aten::addmm"].layer == 2
    assert "aten::linear" in found["aten::addmm"].path()
    assert found["aten::linear"].path()[:1] == ("my part",)


@case
def at_the_boundary_user_scopes_are_seen_and_operators_are_not():
    x = torch.ones(3, requires_grad=True)

    def body():
        with torch.profiler.record_function("outer"):
            with torch.profiler.record_function("inner"):
                x.exp().sum().backward()
    assert [span.path() for span in record(body, BOUNDARY)] == [("outer",), ("outer", "inner")]


@case
def a_user_scope_may_begin_at_one_level_and_end_at_another():
    x = torch.ones(3)

    def body():
        with torch.profiler.record_function("scope"):
            recorder.stub_level(BOUNDARY)
            x + 1
            recorder.stub_level(2)
            x * x
        recorder.stub_level(BOUNDARY)
        with torch.profiler.record_function("other"):
            recorder.stub_level(2)
    found = [span for span in record(body) if not span.name.startswith("profiler::")]
    paths = [span.path() for span in found]
    assert paths == [("scope",), ("scope", "aten::mul"), ("other",)], paths
    assert len(found) == 3 and all(span.ended for span in found)


@case
def backward_nodes_know_their_forward_operator():
    x = torch.randn(4, requires_grad=True)
    found = record(lambda: x.exp().sum().backward())
    forward = {span.sequence: span.name for span in found
               if span.sequence >= 0 and span.forward_thread == 0}
    pairs = {(forward[span.sequence], span.name) for span in found if span.forward_thread > 0}
    assert ("aten::exp", "ExpBackward0") in pairs and ("aten::sum", "SumBackward0") in pairs


def storm(change, seconds=3.0):
    """Calls change() again and again while 4 threads run operators."""
    stop = threading.Event()
    failures = []
    body = convolutional()

    def work():
        try:
            while not stop.is_set():
                body()
        except Exception as error:
            failures.append(error)
    recorder.stub_reset()
    recorder.stub_enable(1)
    running = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in running]
    timer = threading.Timer(seconds, stop.set)
    timer.start()
    rounds = 0
    while not stop.is_set():
        change(rounds)
        rounds += 1
    [t.join() for t in running]
    recorder.stub_level(0)
    assert not failures and rounds > 100, (failures, rounds)
    found = spans()  # raises where an end has no begin
    assert found and all(span.ended for span in found)
    return found


@case
def coming_and_going_while_four_threads_run_operators():
    found = storm(lambda i: recorder.stub_level(2 if i % 2 else 0))
    assert len(found) > 1000
    names = {span.name for span in found}
    assert names
    # "detach" is PyTorch's own name of what aten::detach does inside.
    assert all(name.startswith(("aten::", "autograd::", "torch::")) or "Backward" in name or
               name == "detach" for name in names), names


@case
def after_removal_nothing_is_recorded():
    body = convolutional()
    record(body)
    recorder.stub_reset()
    body()
    assert spans() == []
    shim.crosscut_pytorch_remove()
    body()
    assert spans() == []
    assert shim.crosscut_pytorch_add(b"") == 0
    assert record(body)


@case
def recording_that_stops_inside_an_operator_stays_balanced():
    x = torch.ones(3, requires_grad=True)

    class Switching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            recorder.stub_enable(0)
            y = x * 2
            recorder.stub_enable(1)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2
    names = [span.name for span in record(lambda: (Switching.apply(x), x + 1))]
    assert names.count("aten::mul") == 0 and names.count("aten::add") == 1, names


@case
def the_cost_is_measured():
    costs = recorder.stub_calibrate()[:10]
    for inside, outside, low, high, samples in (costs[:5], costs[5:]):  # operators, user scopes
        assert 0 < inside and 0 <= outside and samples > 1000
        assert low <= inside + outside <= high
        assert inside + outside < 5_000_000  # picoseconds (ticks here): some microseconds at most
    assert record(lambda: torch.ones(1))


def main():
    results = {}
    for name, function in CASES.items():
        try:
            function()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    print("RESULTS", json.dumps(results))


if __name__ == "__main__":
    main()
