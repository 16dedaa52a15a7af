"""torch and NumPy stay what they are while their entries are thunks: each function runs in a
process of its own (test_libraries.py). Its name is what it shows."""

import copy
import inspect
import pickle
import sys
import weakref

import tape

pc = tape.pc


def _patch(level=1):
    count = sum(pc.patch_known(m) for m in pc.known_modules() if m in sys.modules)
    tape.record(1)
    assert tape.set_level(level) == 0
    return count


def _layers(*names):
    found = {s.name: tape.facts(s.number)[1] for s in tape.flat(tape.tree())}
    return [found.get(n) for n in names]


def numpy_operators_methods_and_functions_are_native():
    import numpy as np
    import numpy.fft
    import numpy.random

    assert _patch() > 300
    a = np.ones((3, 3))
    b = a + a
    b *= 2
    a @ b
    a < b
    -a
    a[0]
    a[0] = 2
    2.0 in a
    a.sum()
    np.exp(a)
    np.concatenate([a, a])
    np.random.rand(2)
    np.random.default_rng(0).normal(size=3)
    np.linalg.inv(a + np.eye(3) * 9)
    np.fft.fft(a)
    wanted = ["numpy.add", "numpy.multiply", "numpy.matmul", "numpy.less", "numpy.negative",
              "numpy.ndarray.__getitem__", "numpy.ndarray.__setitem__",
              "numpy.ndarray.__contains__", "numpy.ndarray.sum", "numpy.exp",
              "numpy.concatenate", "numpy.random.random_sample", "numpy.random.Generator.normal",
              "numpy.linalg.inv", "numpy.fft.fft"]
    assert _layers(*wanted) == ["native"] * len(wanted), dict(zip(wanted, _layers(*wanted)))
    assert tape.all_closed()


def numpy_objects_keep_identity_pickling_and_subclassing():
    import numpy as np

    class Sub(np.ndarray):
        pass

    class Refuses:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    before = (np.add, np.ndarray.sum, np.concatenate, hash(np.array), np.add.__doc__,
              np.ndarray.sum.__doc__, str(inspect.signature(np.concatenate)))
    add = np.ndarray.__add__
    _patch()
    assert before == (np.add, np.ndarray.sum, np.concatenate, hash(np.array), np.add.__doc__,
                      np.ndarray.sum.__doc__, str(inspect.signature(np.concatenate)))
    assert np.ndarray.__add__ is add
    for thing in (np.add, np.concatenate, np.array, np.ndarray, np.float64(3)):
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert copy.copy(thing) == thing
    a = np.arange(6.0).reshape(2, 3)
    assert (pickle.loads(pickle.dumps(a)) == a).all() and (copy.deepcopy(a) == a).all()
    assert a + Refuses() == "mine"
    assert [1, 2, 3] + np.ones(3) is not NotImplemented
    sub = a.view(Sub)
    assert type(sub + 1) is Sub and type(1 + sub) is Sub and type(sub[0]) is Sub
    assert weakref.ref(a)() is a and isinstance(np.add, np.ufunc)


def torch_methods_functions_and_backward_are_framework():
    import torch

    assert _patch() > 1500
    assert pc.set_operation(torch._C._ImperativeEngine, "run_backward", "backward", waits=True)
    x = torch.ones(3, requires_grad=True)
    y = torch.nn.functional.gelu((x * 2 + x)[0:2]).sum()
    y.backward()
    torch.linalg.inv(torch.eye(2))
    torch.nn.Parameter(torch.ones(2))[0]
    wanted = ["torch.Tensor.__mul__", "torch.Tensor.__getitem__", "torch.Tensor.sum",
              "torch.nn.functional.gelu", "torch.ones", "torch.autograd.engine.run_backward",
              "torch.linalg.linalg_inv"]
    assert _layers(*wanted) == ["framework"] * len(wanted), dict(zip(wanted, _layers(*wanted)))
    (operation,) = [s for s in tape.flat(tape.tree()) if s.name == "backward"]
    (engine,) = operation.children
    assert tape.facts(engine.number)[2] & 1, "the engine's span waits"


def torch_objects_keep_identity_pickling_hashes_and_subclassing():
    import torch

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    seen = []
    table = {torch.add: "add", torch.relu: "relu", torch.nn.functional.gelu: "gelu"}
    hashes = [hash(k) for k in table]
    text = torch.add.__doc__, torch.Tensor.add.__doc__
    _patch()
    assert [hash(k) for k in table] == hashes and table[torch.add] == "add"
    assert (torch.add.__doc__, torch.Tensor.add.__doc__) == text
    for thing in (torch.relu, torch.float32, torch.device("cpu"), torch.nn.functional.gelu):
        assert pickle.loads(pickle.dumps(thing)) is thing or thing == torch.device("cpu")
        assert copy.deepcopy(thing) == thing
    x = torch.ones(2, requires_grad=True)
    assert torch.equal(pickle.loads(pickle.dumps(x)), x) and torch.equal(copy.deepcopy(x), x)
    assert weakref.ref(x)() is x
    sub = torch.ones(2).as_subclass(Sub)
    assert type(torch.add(sub, 1)) is Sub and torch.add in seen
    assert type(sub[0]) is Sub and type(sub + 1) is Sub
    assert torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert torch.overrides.resolve_name(torch.relu) == "torch.relu"


def torch_scripts_as_before():
    import torch

    def work(x, y):
        return torch.relu(x @ y)[0] + x.sum()

    x = torch.randn(4, 4)
    _patch()
    scripted = torch.jit.script(work)
    assert torch.equal(scripted(x, x), work(x, x))
    traced = torch.jit.trace(work, (x, x))
    assert torch.equal(traced(x, x), work(x, x))
    assert "torch.jit.ScriptFunction.__call__" in [s.name for s in tape.flat(tape.tree())]


def torch_compiles_whole_graphs_as_before():
    import torch

    @torch.compile(fullgraph=True)
    def work(x, y):
        return torch.nn.functional.gelu(x @ y)[0] + torch.relu(x).sum()

    x = torch.randn(4, 4, requires_grad=True)
    _patch()
    out = work(x, x)
    out.sum().backward()
    assert torch.allclose(out, torch.nn.functional.gelu(x @ x)[0] + torch.relu(x).sum(), atol=1e-5)
    tape.set_level(0)
    assert torch.allclose(work(x, x), out)
    tape.set_level(1)
    assert torch.allclose(work(x, x), out)


def torch_compiles_while_every_call_is_recorded():
    import torch

    pc.start_calls()
    _patch(level=3)

    @torch.compile(fullgraph=True, backend="eager")
    def work(x):
        return torch.relu(x) + x[0]

    x = torch.randn(4)
    assert torch.allclose(work(x), torch.relu(x) + x[0])
    assert torch.allclose(work(x), torch.relu(x) + x[0])
    tape.set_level(0)


def one_switch_restores_every_entry():
    import numpy as np
    import torch

    def pointers():
        """ml_meth and slots seen through what they do: nothing is written when all are out."""
        before = tape.words()
        x = torch.ones(2)
        (x + x)[0].sum()
        a = np.ones(2)
        (a + a)[0]
        np.add(a, a)
        return tape.words() - before

    _patch()
    assert pointers() > 10
    tape.set_level(0)
    assert pointers() == 0
    tape.set_level(1)
    assert pointers() > 10
    pc.unpatch_all()
    assert pointers() == 0 and pc.stats()["entries"] == 0 and pc.stats()["foreign"] == 0


def numpys_own_tests_pass():
    import os

    import numpy
    import numpy.fft
    import numpy.random
    import pytest

    _patch()
    tape.record(0)  # thunks in, nothing kept: the tests make millions of calls
    tests = os.path.join(os.path.dirname(numpy.__file__), "_core", "tests")
    files = ["test_overrides.py", "test_indexing.py", "test_array_coercion.py",
             "test_item_selection.py", "test_scalarmath.py"]
    arguments = ["-q", "-p", "no:cacheprovider", "-W", "ignore"]
    assert pytest.main(arguments + [os.path.join(tests, f) for f in files]) == 0
    assert pc.stats()["enabled"] and pc.stats()["foreign"] == 0
