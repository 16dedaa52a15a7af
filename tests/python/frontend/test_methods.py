"""Methods of other people's classes as operations: crosscut._record.method, what adapters use."""

import copy
import ctypes
import gc
import inspect
import pickle
import sys
import weakref

import pytest
from crosscut import _record
from test_annotations import operations

ON = ctypes.c_int32(1)
PRELUDE = """
import ctypes
on = ctypes.c_int32(1)
address = ctypes.addressof(on)
def method(name, function, called=None, span=None):
    return _record.method(operation(name), function, called or function, address, span)
"""


def method(function, name="part", on=ON, called=None, after=None):
    return _record.method(_record.operation(name), function, called or function,
                          ctypes.addressof(on), None, after)


class Env:
    def __init__(self):
        self.at = 0

    def step(self, action, *, times: int = 1) -> int:
        "One step."
        self.at += action * times
        return self.at


Env.step.mark = "of the function"
STEP = Env.step


@pytest.fixture
def patched():
    Env.step = method(STEP)
    yield Env
    Env.step = STEP


def test_the_class_shows_the_function_and_so_do_pickles(patched):
    assert patched.step is STEP and patched().step.__func__ is vars(patched)["step"]
    assert copy.copy(vars(patched)["step"]) is STEP
    assert pickle.loads(pickle.dumps(vars(patched)["step"])) is STEP
    assert pickle.loads(pickle.dumps(patched().step))(2) == 2
    assert gc.is_tracked(vars(patched)["step"])


def test_a_bound_method_answers_as_the_function(patched):
    bound = patched().step
    assert inspect.ismethod(bound) and isinstance(bound.__self__, Env)
    assert str(inspect.signature(bound)) == "(action, *, times: int = 1) -> int"
    assert (bound.__name__, bound.__doc__, bound.mark) == ("step", "One step.", "of the function")
    assert bound.__qualname__ == "Env.step" and bound.__module__ == __name__
    assert inspect.unwrap(bound) is STEP and inspect.getsource(bound).strip().startswith("def step")
    assert bound == bound.__self__.step and bound != patched().step
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        bound.nothing_of_that_name


def test_calls_pass_arguments_results_and_exceptions(patched):
    env = patched()
    assert env.step(1) == 1 and env.step(2, times=2) == 5 and env.step(*[1], **{"times": 3}) == 8
    with pytest.raises(TypeError, match=r"step\(\) missing 1 required positional argument"):
        env.step()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        env.step(1, other=1)
    with pytest.raises(TypeError, match="unsupported operand"):
        env.step(None)

    class Below(Env):
        def step(self, action, *, times=1):
            return -super().step(action, times=times)

    assert Below().step(4) == -4


def test_what_is_called_hangs_on_the_switch():
    on = ctypes.c_int32(0)

    class Host:
        f = method(lambda self: "function", on=on, called=lambda self: "called")

    host = Host()
    assert host.f() == "function"
    on.value = 1
    assert host.f() == "called"


@pytest.mark.parametrize("switch", [0, 1])
def test_who_asked_is_told_when_the_outermost_call_has_returned(switch):
    on, told = ctypes.c_int32(switch), []

    class Host:
        def step(self, depth):
            assert told == []
            return self.step(depth - 1) if depth else self.other()

        def other(self):
            return "done"

        def fails(self):
            raise KeyError(switch)

    for name in ("step", "other", "fails"):
        setattr(Host, name, method(vars(Host)[name], on=on, after=lambda: told.append(1)))
    host = Host()
    assert host.step(3) == "done" and told == [1]
    with pytest.raises(KeyError):
        host.fails()
    assert told == [1], "a call that failed was none"
    assert host.other() == "done" and told == [1, 1]


def test_what_the_told_one_raises_is_not_the_callers(monkeypatch):
    class Host:
        f = method(lambda self: "result", after=lambda: 1 / 0)

    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: raised.append(what.exc_type))
    assert Host().f() == "result" and raised == [ZeroDivisionError]


def test_a_call_may_take_its_own_method_away():
    class Host:
        def leave(self):
            Host.f = plain
            gc.collect()
            return "left"

    def plain(self):
        return "plain"

    Host.f = method(Host.leave)
    host = Host()
    assert host.f() == "left" and host.f() == "plain"


def test_cycles_are_collected_and_references_given_back():
    class Host:
        def f(self):
            return Host  # a cycle: class, method, function, cell

    Host.f = method(Host.f)
    function, host, gone = Host.f, Host(), weakref.ref(Host)
    before = sys.getrefcount(function), sys.getrefcount(vars(Host)["f"])
    for _ in range(1000):
        host.f()
        with pytest.raises(TypeError):
            host.f(1)
    assert (sys.getrefcount(function), sys.getrefcount(vars(Host)["f"])) == before
    Host.f = method(function, after=lambda: Host)
    host.f()
    del function, host, Host
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("change", [{"operation": "part"}, {"span": 3}, {"function": 3},
                                    {"called": None}, {"on": 0}, {"on": "x"}])
def test_wrong_types_raise_type_errors(change):
    keywords = {"operation": _record.operation("part"), "function": len, "called": len,
                "on": ctypes.addressof(ON), "span": None, **change}
    with pytest.raises(TypeError):
        _record.method(**keywords)


def test_the_outermost_call_of_a_name_is_the_operation_and_each_is_the_span(tmp_path):
    layer = "__import__('crosscut._wrap')._wrap.LAYERS.index('simulator') + 1"
    counts = operations(tmp_path, PRELUDE + f"span = _record.span('Host.step', {layer})\n" + """
class Host:
    def step(self, depth):
        assert _record.open_depth() == depth_at(depth)
        return self.step(depth - 1) if depth else self.other()
    def other(self):
        return "done"
def depth_at(depth): return 1 + (4 - depth)
Host.step = method("simulate", Host.step, span=span)
Host.other = method("other", Host.other)
host = Host()
assert host.step(3) == "done" and _record.open_depth() == 0
with operation("simulate"):
    assert host.other() == "done"
assert host.other() == "done"
""")
    assert counts == {"simulate": 2, "other": 3}
    from crosscut import read
    functions = {row["name"]: row for row in read(tmp_path / "run").table("functions").rows()}
    assert (functions["Host.step"]["count"], functions["Host.step"]["layer"]) == (4, "simulator")


def test_exceptions_switches_and_sessions_leave_nothing_open(tmp_path):
    assert operations(tmp_path, PRELUDE + """
class Host:
    def fails(self): raise KeyError("x")
    def switches(self): on.value = 0
    def stops(self): crosscut.stop()
for name in ("fails", "switches", "stops"):
    setattr(Host, name, method(name, vars(Host)[name]))
host = Host()
try:
    host.fails()
except KeyError:
    pass
assert _record.open_depth() == 0
host.switches()
assert _record.open_depth() == 0
host.switches()
on.value = 1
host.stops()
assert _record.open_depth() == 0
host.switches()
""") == {"fails": 1, "switches": 1, "stops": 1}


def test_threads_and_forked_children_have_their_own(tmp_path):
    assert operations(tmp_path, PRELUDE + """
import os
class Host:
    def f(self):
        if threading.current_thread() is threading.main_thread():
            t = threading.Thread(target=self.f); t.start(); t.join()
            child = os.fork()
            if child == 0:
                assert _record.open_depth() == 0
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        assert _record.open_depth() == 1
Host.f = method("f", Host.f)
Host().f()
""") == {"f": 1}, "the table counts those of the lead thread"
