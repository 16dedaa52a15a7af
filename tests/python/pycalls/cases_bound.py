"""Classes bound by pybind11 and nanobind under wrap(): each function runs in a process of its own
(test_pycalls_wrap.py), with the module that CROSSCUT_BOUND names. Its name is what it shows."""

import copy
import importlib
import inspect
import os
import pickle

import crosscut
import python_recorder
import tape

crosscut._record = python_recorder.stub_record(lambda *line: None)

from crosscut import _wrap  # noqa: E402

NAME = os.environ["CROSSCUT_BOUND"]
m = importlib.import_module(NAME)
Simulator = m.Simulator


def _begin():
    tape.record(1)
    assert tape.set_level(1) == 0


def _only(function, *args, **kwargs):
    def names():
        return [s.name for s in tape.flat(tape.tree()) if not s.name.startswith("garbage")]

    before = len(names())
    result = function(*args, **kwargs)
    return result, [name.removeprefix(f"{NAME}.") for name in names()[before:]]


def functions_methods_properties_and_construction_are_spans():
    assert _wrap.wrap(m, "simulator", None) >= 7
    _begin()
    simulator, spans = _only(Simulator, 3)
    assert spans == ["Simulator.__init__"]
    assert _only(simulator.step, 2) == (5, ["Simulator.step"])
    assert _only(lambda: simulator.step(action=1)) == (6, ["Simulator.step"])
    method = simulator.step
    assert _only(method, 1) == (7, ["Simulator.step"])
    assert _only(Simulator.kind) == ("simulator", ["Simulator.kind"])
    assert _only(lambda: simulator.seed) == (7, ["Simulator.seed"])
    assert _only(m.twice, 4) == (8, ["twice"])
    (layer,) = {tape.facts(s.number)[1] for s in tape.flat(tape.tree())
                if s.name == f"{NAME}.Simulator.step"}
    assert layer == "simulator"
    assert _wrap.unwrap(m) >= 7
    assert _only(lambda: Simulator(1).step(1) + m.twice(1)) == (4, [])


def one_method_or_one_class_may_be_wrapped():
    simulator = Simulator(1)
    _begin()
    assert _wrap.wrap(simulator.step, "simulator", None) == 1
    assert _only(lambda: simulator.step(1) + m.twice(1)) == (4, ["Simulator.step"])
    _wrap.unwrap(), _wrap.wrap(Simulator, "simulator", "kind")
    assert _only(lambda: simulator.kind() + str(m.twice(1))) == ("simulator2", ["Simulator.kind"])


def objects_behave_as_before():
    class Sub(Simulator):
        def __init__(self, seed):
            super().__init__(seed)

        def step(self, action):
            return super().step(action) * 10

    def facts():
        return (Simulator.step, Simulator.__dict__["step"], m.twice, hash(m.twice),
                Simulator.step.__doc__, Simulator.step.__name__, m.twice.__doc__,
                m.twice.__module__,
                getattr(m.twice, "__text_signature__", None),
                getattr(Simulator.step, "__nb_signature__", None),
                isinstance(Simulator(1), Simulator), inspect.isroutine(m.twice),
                type(Simulator(1).step), {m.twice: 1}[m.twice])

    before = facts()
    _wrap.wrap(m, "simulator", None)
    _begin()
    assert facts() == before
    simulator = Simulator(4)
    assert pickle.loads(pickle.dumps(simulator)).seed == copy.copy(simulator).seed == 4
    assert Sub(2).step(1) == 30 and Sub(2).seed == 2 and isinstance(Sub(2), Simulator)
    for bad in (lambda: simulator.step("x"), lambda: simulator.step(), lambda: Simulator()):
        try:
            bad()
        except TypeError as error:
            assert "incompatible" in str(error)
        else:
            raise AssertionError
    assert tape.all_closed()


def exceptions_of_cpp_pass():
    _wrap.wrap(m, "simulator", None)
    _begin()
    for _ in range(3):
        try:
            Simulator(1).fail()
        except RuntimeError as error:
            assert str(error) == "raised in C++"
        else:
            raise AssertionError
    assert tape.all_closed()


def callbacks_end_the_native_slice_on_their_own_thread():
    simulator = Simulator(1)
    _wrap.wrap(m, "simulator", None)
    _begin()
    assert _only(simulator.each, lambda seed: m.twice(seed), 2) == (
        4, ["Simulator.each", "callback", "twice", "callback", "twice"])
    try:
        simulator.each(lambda seed: seed // 0, 1)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError
    assert tape.all_closed()
    simulator.elsewhere(lambda seed: m.twice(seed))
    assert simulator.seed == 8
    threads = tape.trees()
    assert len(threads) == 2 and [s.name for s in threads[1]] == [f"{NAME}.twice"]
