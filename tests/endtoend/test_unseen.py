"""Whatever an adapter stands around in the real frameworks: a program that asks for it is told what
it is told unrecorded."""

import json
import pathlib
import subprocess

import pytest
from runs import PACKAGE

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Arguments: "record" or "plain", a file for the list of places, and the libraries.
ASKS = """
import copy, functools, hashlib, importlib, inspect, json, pickle, re, sys, types
from unittest import mock
how, path, *libraries = sys.argv[1:]
if how == "record":
    import crosscut
    from crosscut import _patches
    places = []
    put = _patches.Patch.__init__
    def noted(self, owner, name, ours):
        put(self, owner, name, ours)
        if isinstance(owner, types.ModuleType):
            places.append((owner.__name__, "", name))
        elif isinstance(owner, type):
            places.append((owner.__module__, owner.__qualname__, name))
    _patches.Patch.__init__ = noted
    assert crosscut.arm(path + ".run") and crosscut.start(), crosscut.error()
import asyncio, multiprocessing, threading
for library in libraries:
    importlib.import_module(library)
if how == "record":
    json.dump(sorted(set(places)), open(path, "w"))

def tried(ask):
    try:
        answer = ask()
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    return re.sub("0x[0-9a-f]+", "", answer) if isinstance(answer, str) else answer

def asked_of(value):
    yield "type", type(value) is types.FunctionType, type(value).__name__, type(value).__module__
    yield "class", value.__class__.__name__, isinstance(value, types.FunctionType)
    yield "text", re.sub("0x[0-9a-f]+", "", repr(value)), sorted(dir(value))
    yield "inspect", [bool(tried(lambda: getattr(inspect, name)(value))) for name in dir(inspect)
                      if name.startswith("is") and name != "isabstract"]
    yield "signature", tried(lambda: str(inspect.signature(value)))
    yield "source", tried(lambda: hashlib.sha256(inspect.getsource(value).encode()).hexdigest())
    yield "code", tried(lambda: (value.__code__.co_code.hex(), value.__code__.co_varnames,
                                 value.__code__.co_filename, value.__code__.co_firstlineno))
    yield "pickles", [tried(lambda: pickle.dumps(value, protocol).hex()) for protocol in range(6)]
    yield "copies", [tried(lambda: copied(value) is value) for copied in (copy.copy, copy.deepcopy)]
    yield "autospec", tried(lambda: str(inspect.signature(mock.create_autospec(value))))
    yield "wraps", tried(lambda: functools.wraps(value)(lambda: 0).__wrapped__ is value)
    yield "unwrapped", tried(lambda: inspect.unwrap(value).__code__.co_firstlineno)
    yield "bound", tried(lambda: types.MethodType(value, 1) == types.MethodType(value, 1))

def asked_of_class(cls):
    class Below(cls):
        pass
    for one in (cls, Below):
        yield [base.__qualname__ for base in one.__mro__], sorted(vars(one))
        yield one.__new__ is object.__new__, tried(lambda: str(inspect.signature(one)))
        yield one.__init_subclass__.__qualname__, type(one).__qualname__
        for name in vars(one):
            got = getattr(one, name, None)
            if isinstance(got, types.FunctionType):
                yield name, got is inspect.getattr_static(one, name)

answers = {}
for module, owner, name in json.load(open(path)):
    holder = sys.modules[module]
    for part in owner.split(".") if owner else ():
        holder = getattr(holder, part, None)
    if holder is None:
        continue
    if isinstance(holder, type) and owner not in answers:
        answers[f"{module}.{owner}"] = tried(lambda: [*asked_of_class(holder)])
    value = vars(holder).get(name)
    for part in ("", "fget", "fset", "__func__"):
        one = getattr(value, part, None) if part else value
        if one is not None:
            answers[f"{module}.{owner}.{name} {part}"] = [*asked_of(one)]
json.dump(answers, sys.stdout)
"""


def answers(python, how, path, libraries):
    program = f"{path}.py"
    pathlib.Path(program).write_text(ASKS)
    done = subprocess.run([python, program, how, path, *libraries], capture_output=True, text=True,
                          timeout=1200, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGE),
                                             "TF_CPP_MIN_LOG_LEVEL": "2"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# JAX's profiler is C: what is in its place are objects of ours (docs/pytorch.md).
REPLACED = ("jax._src.profiler.StepTraceAnnotation", "jax._src.profiler..", "jaxlib._profiler..")


@pytest.mark.parametrize(("venv", "libraries", "least"), [
    (".venv", ["torch.distributed", "torch.utils.data", "torch.optim"], 14),
    (".venv-rl", ["gymnasium", "stable_baselines3", "ray"], 40),
    (".venv-tensorflow", ["jax", "jax._src.compiler", "keras", "tensorflow"], 15)])
def test_what_adapters_stand_around_answers_as_it_does_unrecorded(tmp_path, venv, libraries,
                                                                  least):
    python = ROOT / venv / "bin" / "python"
    if not python.exists():
        pytest.skip(f"there is no {venv}")
    path = str(tmp_path / "asks")
    recorded = answers(python, "record", path, libraries)
    plain = answers(python, "plain", path, libraries)
    differ = [place for place in plain
              if plain[place] != recorded.get(place) and not place.startswith(REPLACED)]
    assert (differ, len(plain) >= least) == ([], True), [
        (plain[place], recorded.get(place)) for place in differ[:3]]
