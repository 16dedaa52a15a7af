"""Python that native code calls back is Python, whatever called it: each kind in an operation of
its own, beside the program's own clock."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig

import pytest
import torch
from runs import record_script, table

PROGRAM = """
import ctypes, json, random, sqlite3, sys, time
import crosscut, numpy, torch
from torch.utils._python_dispatch import TorchDispatchMode

ran, kind = {}, ""
def spin(*_):
    begin = now = time.perf_counter_ns()
    while now < begin + random.randint(2_000_000, 6_000_000):
        now = time.perf_counter_ns()
    ran[kind] = ran.get(kind, 0) + now - begin

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        spin()
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        spin()
        return grad * 2

@torch.library.custom_op("ours::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    spin()
    return x / 2

class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        spin()
        return function(*args, **(kwargs or {}))

class Subclass(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        spin()
        return super().__torch_function__(function, types, args, kwargs or {})

x = torch.ones(8, requires_grad=True)
def gradient_hook():
    y = x * 2
    y.register_hook(spin)
    y.sum().backward()
def accumulated_hook():
    w = torch.ones(3, requires_grad=True)
    w.register_post_accumulate_grad_hook(spin)
    (w * 2).sum().backward()
def function():
    Doubled.apply(x).sum().backward()
def saved_tensors():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: spin() or t, lambda t: spin() or t):
        (x * x).sum().backward()
def custom_operator():
    halved(x.detach())
def dispatch():
    with Dispatched():
        torch.ones(3).add(1)
def subclass():
    torch.add(torch.ones(3).as_subclass(Subclass), 1)
def vmap():
    torch.vmap(lambda t: spin() or t * 2)(torch.ones(4, 4))
def by_ctypes():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(), 2, 4, compare(lambda *_: spin() or 0))
def by_sqlite():
    connection = sqlite3.connect(":memory:")
    connection.create_function("spin", 1, lambda n: spin() or n)
    connection.execute("select spin(1)").fetchall()
def vectorized():
    numpy.vectorize(lambda n: spin() or n, otypes=[int])([1, 2])
def from_iterator():
    numpy.fromiter((spin() or n for n in range(3)), int)

kinds = [gradient_hook, accumulated_hook, function, saved_tensors, custom_operator, dispatch,
         subclass, vmap, by_ctypes, by_sqlite, vectorized, from_iterator]
random.shuffle(kinds)
for each in kinds:
    kind = each.__name__
    crosscut.adapters.torch._operations.name_backward(kind)
    with crosscut.operation(kind):
        each()
print(json.dumps(ran))
"""


def test_python_that_native_code_calls_is_python(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, PROGRAM, "--plan=full", "--control-steps=0")
    assert done.returncode == 0, done.stderr
    python, own = {}, json.loads(done.stdout)
    for row in table(run, "overlap"):
        if row["layers"] == "python":
            python[row["operation"]] = python.get(row["operation"], 0) + row["ns"]
    assert own
    for kind, ran in own.items():
        assert python.get(kind, 0) >= 0.99 * ran, (kind, ran, python)


COVERED = """
import json, time
import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
net.register_forward_pre_hook(lambda *_: sum(range(500)) and None)
net.register_forward_hook(lambda *_: sum(range(500)) and None)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, now, took = torch.randn(8, 4), time.perf_counter_ns, {"forward": [], "backward": []}
for i in range(300):
    begin = now(); y = net(x); took["forward"].append(now() - begin)
    if i % 3 == 0:
        loss = y.sum(); begin = now(); loss.backward(); took["backward"].append(now() - begin)
    elif i % 3 == 1:
        loss = y.sum(); begin = now(); torch.autograd.backward([loss])
        took["backward"].append(now() - begin)
    else:
        loss, parameters = y.sum(), list(net.parameters())
        begin = now(); g = torch.autograd.grad(loss, parameters)
        took["backward"].append(now() - begin)
    optimizer.step()
    del y, loss
print(json.dumps(took))
"""


def test_operations_cover_the_call_as_a_timer_around_it_would(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, COVERED, "--plan=full", "--control-steps=0")
    assert done.returncode == 0, done.stderr
    for operation, own in json.loads(done.stdout).items():
        spans = sorted((row for row in table(run, "spans") if row["name"] == operation),
                       key=lambda row: row["begin_ns"])
        assert len(spans) == len(own)
        missing = [ns - (row["end_ns"] - row["begin_ns"])
                   for ns, row in zip(own, spans, strict=True)]
        share = statistics.median(missing) / statistics.median(own)
        assert 0 <= share <= 0.05, (operation, share)


EXTENSION = """
#include <Python.h>
static PyObject* call(PyObject* self, PyObject* args) {
  int how;
  PyObject *f, *name;
  if (!PyArg_ParseTuple(args, "iO", &how, &f)) return NULL;
  name = PyUnicode_FromString("f");
  switch (how) {
    case 0: return PyObject_CallFunction(f, NULL);
    case 1: return PyObject_CallFunction(f, " ,");
    case 2: return PyObject_CallFunction(f, "i", 1);
    case 3: return PyObject_CallFunction(f, "((ii))", 1, 2);
    case 4: return PyObject_CallFunction(f, "y#i", "a\\0b", (Py_ssize_t)3, 4);
    case 5: return PyObject_CallFunction(f, "O", NULL);
    case 6: return PyObject_CallFunction(f, "?");
    case 7: return PyObject_CallMethod(self, "f", "[i]", 1);
    case 8: return PyObject_CallMethod(f, "nothing", NULL);
    case 9: return PyObject_CallFunctionObjArgs(f, f, name, NULL);
    case 10: return PyObject_CallMethodObjArgs(self, name, f, NULL);
    case 11: return PyObject_CallFunction(NULL, "i", 1);
    case 12: return PyObject_CallMethod(NULL, "x", NULL);
    case 13: return PyObject_CallFunctionObjArgs(NULL, NULL);
    case 14: return PyObject_CallMethodObjArgs(NULL, name, NULL);
    default: return PyObject_CallMethodObjArgs(f, NULL, NULL);
  }
}
static PyMethodDef functions[] = {{"call", call, METH_VARARGS, 0}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "calls", 0, -1, functions};
PyMODINIT_FUNC PyInit_calls(void) { return PyModule_Create(&module); }
"""
CALLS = """
import os, sys
import torch
sys.path.insert(0, os.environ["CALLS"])
import calls
def f(*args):
    f.calls += 1
    return repr(args).replace(hex(id(f)), "f")
calls.f, f.calls = f, 0
for how in range(16):
    try:
        print(calls.call(how, f))
    except BaseException as error:
        print(type(error).__name__, error)
print(f.calls)
"""


@pytest.mark.parametrize("sizes", [[], ["-DPY_SSIZE_T_CLEAN"]])
def test_libraries_loaded_later_call_python_as_the_interpreter_lets_them(
        tmp_path, sizes, monkeypatch):
    (tmp_path / "calls.c").write_text(EXTENSION)
    libraries = pathlib.Path(torch.__file__).parent / "lib"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", *sizes,
                    f"-I{sysconfig.get_path('include')}", tmp_path / "calls.c", "-o",
                    tmp_path / "calls.so", "-Wl,--no-as-needed", f"-L{libraries}", "-lc10"],
                   check=True)
    monkeypatch.setenv("CALLS", str(tmp_path))
    plain = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    run = tmp_path / "run"
    done = record_script(run, CALLS, "--plan=full", "--control-steps=0")
    assert done.stdout == plain.stdout, done.stderr
    spans = [row for row in table(run, "spans") if row["name"] == "callback"]
    assert len(spans) == int(plain.stdout.split()[-1])
