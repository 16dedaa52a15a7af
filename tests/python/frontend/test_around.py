"""What stands around other people's functions: crosscut._record.around, what adapters use."""

import copy
import ctypes
import functools
import gc
import inspect
import os
import pickle
import sys
import types
import typing
import weakref

import pytest
from crosscut import _record
from test_annotations import operations

ON = ctypes.c_int32(1)
PRELUDE = """
import ctypes
on = ctypes.c_int32(1)
address = ctypes.addressof(on)
def around(name, function, span=None):
    return _record.around(function, operation(name), address, span)
"""


def around(function, name="part", on=ON, **how):
    return _record.around(function, _record.operation(name), ctypes.addressof(on), **how)


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
    Env.step = around(STEP)
    yield Env
    Env.step = STEP


def test_it_is_copied_and_pickled_by_its_place_as_functions_are(patched):
    ours = vars(patched)["step"]
    assert patched.step is ours and patched().step.__func__ is ours
    assert copy.copy(ours) is copy.deepcopy(ours) is ours
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert pickle.loads(pickle.dumps(patched().step))(2) == 2
    assert gc.is_tracked(ours) and weakref.ref(ours)() is ours
    assert _record.around.function.__get__(ours) is STEP


@pytest.mark.parametrize("see", [lambda env: env.step, lambda env: type(env).step])
def test_it_answers_as_the_function(see):
    def asked(env):
        it = see(env)
        functools.update_wrapper(lambda: None, it)
        return (it.__name__, it.__qualname__, it.__module__, it.__doc__, it.mark, it.__code__,
                it.__defaults__, it.__kwdefaults__, it.__annotations__, it.__dict__,
                inspect.signature(it), hasattr(it, "__wrapped__"),
                inspect.ismethod(it), callable(it), repr(it).replace(repr(env), ""),
                inspect.iscoroutinefunction(it), typing.get_type_hints(it))

    env = Env()
    before = asked(env)
    Env.step = around(STEP)
    try:
        assert asked(env) == before
        assert env.step == env.step and env.step != Env().step
        see(env).__func__.other = 5 if inspect.ismethod(see(env)) else None
    except AttributeError:
        see(env).other = 5
    finally:
        Env.step = STEP
    assert STEP.other == 5
    del STEP.other


def test_torch_compile_finds_a_function_that_it_can_read():
    def defaults(x, y=1):
        return x + y

    def keywords(x, *, y=1):
        return x + y

    def closure(x):
        return defaults(x)

    plain = around(vars(Env)["__init__"])
    assert inspect.isfunction(plain) and plain.__class__ is types.FunctionType
    assert inspect.getsource(plain).strip().startswith("def __init__(self)")
    for function in (defaults, keywords, closure):
        # Its guards read what a function has by the layout of one; as Cython's it calls them.
        ours = around(function)
        assert not isinstance(ours, types.FunctionType)
        assert type(ours).__name__ == "cython_function_or_method"


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


@pytest.mark.parametrize("switch", [0, 1])
def test_who_asked_is_told_when_the_outermost_call_is_over(switch):
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
        setattr(Host, name, around(vars(Host)[name], on=on, outermost=True,
                                   after=lambda *call: told.append(call)))
    host = Host()
    assert host.step(3) == "done" and told == [(host, "done", False)]
    with pytest.raises(KeyError):
        host.fails()
    assert host.other() == "done"
    assert told[1:] == [(host, None, True), (host, "done", False)]


def test_a_forked_child_is_in_no_call_that_its_parent_was_in():
    told = []
    other = around(lambda: None, outermost=True, after=lambda *call: told.append("other"))

    def forks():
        if (child := os.fork()) == 0:
            _record.after_fork_in_child()  # as in a recorded process
            other()
        return child

    outer = around(forks, outermost=True, after=lambda *call: told.append("outer"))
    if (child := outer()) == 0:  # which leaves the call, too
        other()
        os._exit(told != ["other", "outer", "other"])
    assert os.waitpid(child, 0)[1] == 0 and told == ["outer"]


@pytest.mark.parametrize(("switch", "always"), [(1, False), (1, True), (0, True), (0, False)])
def test_who_is_told_may_give_another_result_and_hears_of_what_is_recorded(switch, always):
    on = ctypes.c_int32(switch)
    f = around(lambda *args: args, on=on, always=always,
               after=lambda first, result, failed: [first, *result] if result else None)
    told = bool(switch or always)
    assert f(1, 2) == ([1, 1, 2] if told else (1, 2))
    assert f() == ()


def test_who_is_asked_first_decides_what_the_call_is(tmp_path):
    counts = operations(tmp_path, PRELUDE + """
answers = [None, True, operation("another"), 5]
asked = []
def before(*args, **keywords):
    asked.append((args, keywords))
    return answers[args[0]]
told = []
f = _record.around(lambda n, x=0: n, operation("its own"), address, before=before,
                   after=lambda n, result, failed: told.append(n))
for n in (0, 1, 1, 2, 2, 2, 3):
    assert f(n, x=n) == n
assert asked[-1] == ((3,), {"x": 3}) and told == [1, 1, 2, 2, 2, 3]
""")
    assert counts == {"its own": 2, "another": 3}


def test_calls_inside_another_are_a_part_of_it(tmp_path):
    counts = operations(tmp_path, PRELUDE + """
word = ctypes.c_int32(0)
@ctypes.CFUNCTYPE(ctypes.c_void_p)
def inside():
    return ctypes.addressof(word)
inside_at = ctypes.cast(inside, ctypes.c_void_p).value
told = []
def make(name, function):
    return _record.around(function, operation(name), address, inside=inside_at, nests=True,
                          after=lambda *call: told.append(name))
inner = make("inner", lambda: word.value)
outer = make("outer", lambda: (inner(), word.value))
assert inner() == 1 and word.value == 0
assert outer() == (1, 1) and word.value == 0
try:
    make("fails", lambda: 1 / 0)()
except ZeroDivisionError:
    assert word.value == 0
assert told == ["inner", "outer", "fails"]
""")
    assert counts == {"inner": 1, "outer": 1, "fails": 1}


@pytest.mark.parametrize("which", ["before", "after"])
def test_what_ours_raise_is_not_the_callers(monkeypatch, which):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: raised.append(what.exc_type))

    def fails(*_):
        return 1 / 0

    assert around(lambda: "result", **{which: fails})() == "result"
    assert raised == [ZeroDivisionError]


@pytest.mark.parametrize("which", ["before", "after"])
def test_an_interrupt_while_ours_run_is_the_programs(which):
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        around(lambda: "result", **{which: interrupted})()


def test_an_exception_goes_on_as_it_was_when_ours_have_been_told():
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        around(fails, after=lambda *_: str(5))()
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "fails" and len(names) == 2


def test_a_call_may_take_its_own_method_away():
    class Host:
        def leave(self):
            Host.f = plain
            gc.collect()
            return "left"

    def plain(self):
        return "plain"

    Host.f = around(Host.leave)
    host = Host()
    assert host.f() == "left" and host.f() == "plain"


def test_cycles_are_collected_and_references_given_back():
    class Host:
        def f(self):
            return Host  # a cycle: class, method, function, cell

    Host.f = around(Host.f)
    function = _record.around.function.__get__(Host.f)
    host, gone = Host(), weakref.ref(Host)
    before = sys.getrefcount(function), sys.getrefcount(vars(Host)["f"])
    for _ in range(1000):
        host.f()
        with pytest.raises(TypeError):
            host.f(1)
    assert (sys.getrefcount(function), sys.getrefcount(vars(Host)["f"])) == before
    Host.f = around(function, before=lambda *_: Host and None, after=lambda *_: Host and None)
    host.f()
    del function, host, Host
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("change", [{"operation": "part"}, {"span": 3}, {"function": 3},
                                    {"function": None}, {"before": 3}, {"after": 3}, {"on": "x"}])
def test_wrong_types_raise_type_errors(change):
    with pytest.raises(TypeError):
        _record.around(**{"function": len, "operation": _record.operation("part"), **change})


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
Host.step = around("simulate", Host.step, span=span)
Host.other = around("other", Host.other)
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
    setattr(Host, name, around(name, vars(Host)[name]))
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
Host.f = around("f", Host.f)
Host().f()
""") == {"f": 1}, "the table counts those of the lead thread"
