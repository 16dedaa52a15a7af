"""A program's own profilers, tracers, tracebacks and warnings see what they see without us."""

import pathlib
import sys

import crosscut
import pytest
from recording import PACKAGE


def pythons():
    """Those on this machine that have a recorder, this one first."""
    found = {sys.version_info[:2]: pathlib.Path(sys.executable)}
    for python in sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin/python")):
        version = tuple(int(part) for part in python.parts[-3].split(".")[:2])
        if list(PACKAGE.glob(f"_record.cpython-{version[0]}{version[1]}-*.so")):
            found.setdefault(version, python)
    return [pytest.param(python, id=".".join(map(str, version)))
            for version, python in found.items()]


WATCH = """
import contextlib, os, sys, threading
seen = []
def code(frame):
    return os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
def stack(frame):
    names = []
    while frame:
        names.append(code(frame))
        frame = frame.f_back
    return names
def profile(frame, event, argument):
    name = getattr(argument, "__name__", None) if event.startswith("c_") else None
    seen.append((event, *code(frame), name))
def trace(frame, event, argument):
    seen.append((event, *code(frame)))
    return trace
@contextlib.contextmanager
def watched(how):
    seen.clear()
    how = {"setprofile": sys.setprofile, "settrace": sys.settrace}[how]
    how(profile if how is sys.setprofile else trace)
    try:
        yield
    finally:
        how(None)
def tell(title):
    print(title)
    for line in seen:
        print("  ", *line)
    seen.clear()
"""

IMPORTS = """
import importlib
import asyncio, colorsys, ctypes, functools, multiprocessing.process, traceback, weakref
for how in ("setprofile", "settrace"):
    # Of both: with adapters and without, in Python and in C.
    for name in ("multiprocessing.process", "asyncio.events", "ctypes", "_ctypes", "colorsys",
                 "mine", "mine.below"):
        sys.modules.pop(name, None)
        with watched(how):
            importlib.import_module(name)
        tell((how, name))
    with watched(how):
        importlib.reload(sys.modules["mine"])
    tell((how, "reload"))
print([type(finder).__name__ for finder in sys.meta_path], type(sys.modules["mine"].__loader__))
for name in ("broken", "absent", "mine.absent"):
    try:
        importlib.import_module(name)
    except Exception:
        traceback.print_exc(file=sys.stdout)
"""

THREADS = """
import threading, warnings, logging
threading.setprofile(profile)
thread = threading.Thread(target=lambda: print(stack(sys._getframe())), name="one")
thread.start(); thread.join()
threading.setprofile(None)
# Where a thread waits is chance.
seen[:] = [line for line in seen if "lock" not in str(line) and "wait" not in str(line)]
tell("threads")
thread = threading.Thread(target=print)
with watched("setprofile"):
    thread.name = "two"
tell("a name")
class Own(threading.Thread):
    def _set_native_id(self):
        warnings.warn("from below", stacklevel=2)
        super()._set_native_id()
Own(target=print).start()
"""

TASKS = """
import asyncio
async def part(n):
    if n == 1:
        print(stack(sys._getframe()))
    await asyncio.sleep(0)
    return n
async def main():
    with watched("setprofile"):
        await asyncio.gather(part(1), part(2))
    tell("tasks")
    asyncio.get_running_loop().call_soon(lambda: print(stack(sys._getframe())))
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0.01)
def handler(loop, context):
    import traceback
    traceback.print_exception(context["exception"], file=sys.stdout)
async def both():
    asyncio.get_running_loop().set_exception_handler(handler)
    await main()
asyncio.run(both())
"""

CHILDREN = """
import multiprocessing, traceback
def work(number):
    print(stack(sys._getframe()), flush=True)
    with watched("setprofile"):
        child = os.fork()
        if child == 0:
            os._exit(0)
    os.waitpid(child, 0)
    tell("fork")
    sys.stdout.flush()
with watched("setprofile"):
    pid = os.fork()
    if pid == 0:
        sys.setprofile(None)
        tell("in the child")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
tell("fork")
sys.stdout.flush()
process = multiprocessing.get_context("fork").Process(target=work, args=(1,))
process.start(); process.join()
"""


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("part", ["IMPORTS", "THREADS", "TASKS", "CHILDREN"])
def test_a_program_that_watches_itself_sees_what_it_sees_without_us(recorder, python, part):
    recorder.script("mine/__init__.py", "VALUE = sum(n for n in range(3))")
    recorder.script("mine/below.py", "from mine import VALUE")
    recorder.script("broken.py", "def fails(): raise ValueError('mine')\nfails()")
    script = recorder.script("program.py", WATCH + globals()[part])
    # Not even compiled files, or the warning of 3.12 that the recorder's thread is there at a fork.
    command = (python, "-B", "-W", "ignore", script)
    plain = recorder.plain(*command)
    recorded = recorder.record(*command, flags=("--wrap=mine:native",))
    assert plain.returncode == 0 and plain.stdout, plain.stderr
    assert recorded.stdout == plain.stdout
    run = crosscut.read(recorder.run_dir)
    states = {row["name"]: row["state"] for row in run.table("sources").rows()}
    assert states["pycalls"] == "on" and "failed" not in states.values(), states
