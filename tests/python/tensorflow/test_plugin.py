"""libcrosscut_tensorflow.so under a host that calls it as TensorFlow does, without TensorFlow."""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import time

import crosscut
import pytest

PACKAGE = pathlib.Path(crosscut.__file__).parent
LIBRARY = PACKAGE / "lib" / "libcrosscut_tensorflow.so"

HOST = """
import ctypes, sys
class Profiler(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ext", ctypes.c_void_p), ("type", ctypes.c_char_p)]
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
COLLECT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p,
                           ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p)
class Functions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ext", ctypes.c_void_p), ("start", CALL),
                ("stop", CALL), ("collect", COLLECT)]
DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
class Params(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ext", ctypes.c_void_p), ("major", ctypes.c_int32),
                ("minor", ctypes.c_int32), ("patch", ctypes.c_int32),
                ("profiler", ctypes.POINTER(Profiler)), ("functions", ctypes.POINTER(Functions)),
                ("destroy_profiler", DESTROY), ("destroy_functions", DESTROY)]

class Registration:
    def __init__(self, path):
        self.profiler, self.functions = Profiler(24), Functions(40)
        self.params = Params(64, None, 0, 0, 1, ctypes.pointer(self.profiler),
                             ctypes.pointer(self.functions))
        ctypes.CDLL(path).TF_InitProfiler(ctypes.byref(self.params), None)
        for _ in range(2):  # as TensorFlow does while the plugin stays in use
            self.params.destroy_profiler(ctypes.byref(self.profiler))
            self.params.destroy_functions(ctypes.byref(self.functions))

    def call(self, name, *more):
        copy = Profiler(24, self.profiler.ext, self.profiler.type)  # another address every time
        getattr(self.functions, name)(ctypes.addressof(copy), *more)

    def start(self): self.call("start", None)
    def stop(self): self.call("stop", None)
    def size(self):
        size = ctypes.c_size_t(12345)
        self.call("collect", None, ctypes.byref(size), None)
        return size.value
    def fetch(self, given):
        buffer, size = ctypes.create_string_buffer(given), ctypes.c_size_t(given)
        self.call("collect", buffer, ctypes.byref(size), None)
        return buffer.raw[:size.value]
    def collect(self):
        size = self.size()
        return self.fetch(size) if size else b""
"""


def run_host(program, *arguments, **environment):
    """Runs `program` below HOST; sys.argv[1] is the library."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCUT_")}
    env.update(PYTHONPATH=str(PACKAGE.parent), **environment)
    done = subprocess.run([sys.executable, "-c", HOST + program, *map(str, arguments)], env=env,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_exports_one_symbol_and_needs_none_of_tensorflows():
    def names(*flags):
        out = subprocess.run(["nm", "-D", *flags, LIBRARY], check=True, capture_output=True,
                             text=True).stdout
        return [line.split()[-1] for line in out.splitlines()]

    assert names("--defined-only") == ["TF_InitProfiler"]
    assert not [name for name in names("--undefined-only")
                if name.startswith(("TF_", "TSL_", "crosscut"))]


def in_shared_memory():
    return set(glob.glob("/dev/shm/crosscut-tensorflow*"))


def leaves_nothing_but(rings):
    """Other programs' may be there for a while, too."""
    end = time.monotonic() + 60
    while not in_shared_memory() <= rings and time.monotonic() < end:
        time.sleep(0.1)
    assert in_shared_memory() <= rings


def test_windows_hold_what_was_marked_in_them_and_leave_nothing_behind(tmp_path):
    rings = in_shared_memory()
    out = run_host("""
import crosscut
it = Registration(sys.argv[1])
for name in ("first", "second"):
    with crosscut.operation("between"): pass
    it.start()
    with crosscut.operation(name): pass
    it.stop()
    size = it.size()
    assert size == it.size() > 0
    data = it.fetch(size)
    print(len(data) == size, name.encode() in data, b"between" in data,
          b"/host:CPU-crosscut" in data, it.size())
""", LIBRARY, TMPDIR=str(tmp_path))
    assert out == "True True False True 0\n" * 2
    assert list(tmp_path.iterdir()) == []
    leaves_nothing_but(rings)


def test_a_window_that_is_never_collected_is_dropped_at_the_next_start(tmp_path):
    out = run_host("""
import crosscut
it = Registration(sys.argv[1])
it.start()
with crosscut.operation("dropped"): pass
it.stop()
it.start()
it.stop()
print(b"dropped" in it.collect())
it.start()
it.stop()
""", LIBRARY, TMPDIR=str(tmp_path))
    assert out == "False\n"
    assert list(tmp_path.iterdir()) == []


def test_the_second_registration_of_one_library_gets_nothing(tmp_path):
    link = tmp_path / "link.so"
    link.symlink_to(LIBRARY)
    out = run_host("""
import crosscut
one, two = Registration(sys.argv[1]), Registration(sys.argv[2])
one.start(); two.start()
with crosscut.operation("once"): pass
one.stop(); two.stop()
print(len(two.collect()), one.collect().count(b"once") > 0)
""", LIBRARY, link)
    assert out == "0 True\n"


@pytest.mark.parametrize("how", ["a buffer too small", "calls out of order", "no package"])
def test_trouble_is_an_empty_result(tmp_path, how):
    rings = in_shared_memory()
    (tmp_path / "tmp").mkdir()
    library = LIBRARY
    if how == "no package":
        library = tmp_path / "libcrosscut_tensorflow.so"
        library.write_bytes(LIBRARY.read_bytes())
    program = {
        "a buffer too small": "it.start(); it.stop(); size = it.size(); print(it.fetch(size - 1))",
        "calls out of order": "it.stop(); it.size(); it.start(); print(it.collect())",
        "no package": "it.start(); it.stop(); print(it.collect())"}[how]
    assert run_host("it = Registration(sys.argv[1])\n" + program, library,
                    TMPDIR=str(tmp_path / "tmp")) == "b''\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    leaves_nothing_but(rings)


def test_beside_a_session_of_crosscuts_own_it_stays_out(tmp_path):
    out = run_host("""
import crosscut
assert crosscut.start(sys.argv[2])
it = Registration(sys.argv[1])
it.start(); it.stop()
print(it.collect(), crosscut.active())
""", LIBRARY, tmp_path / "run")
    assert out == "b'' True\n"


def test_a_session_that_the_program_begins_in_a_window_is_its_own(tmp_path):
    demo = PACKAGE / "plugins" / "demo" / "libdemo.so"
    out = run_host("""
import time
import crosscut
it = Registration(sys.argv[1])
it.start()
with crosscut.operation("ours"): pass
assert crosscut.stop() and crosscut.start(sys.argv[2], control_percent=0)
with crosscut.operation("theirs"): pass
it.stop()
print(crosscut.active())
data = it.collect()
print(crosscut.active(), b"ours" in data, b"theirs" in data)
with crosscut.operation("behind"):
    time.sleep(0.2)
assert crosscut.stop()
""", LIBRARY, tmp_path / "run", CROSSCUT_PLUGINS=str(demo), CROSSCUT_PLUGIN_PERIOD_US="2000")
    assert out == "True\nTrue True False\n"
    run = crosscut.read(tmp_path / "run")
    spans = {row["name"]: row for row in run.table("spans").rows()}
    assert {"theirs", "behind"} <= spans.keys() and "ours" not in spans
    works = [row["begin_ns"] for row in run.table("device_events").rows()]
    assert max(works) > spans["behind"]["begin_ns"]  # its plugins go on, too


@pytest.mark.parametrize("child", ["pass", "it.start(); it.stop(); it.collect()",
                                   "it.stop(); it.collect()"])
def test_a_forked_child_leaves_its_parents_window_alone(tmp_path, child):
    out = run_host(f"""
import os
import crosscut
it = Registration(sys.argv[1])
it.start()
with crosscut.operation("before"): pass
if os.fork() == 0:
    {child}
    sys.exit(0)
assert os.wait()[1] == 0
with crosscut.operation("behind"): pass
it.stop()
data = it.collect()
print(b"before" in data, b"behind" in data)
""", LIBRARY, TMPDIR=str(tmp_path))
    assert out == "True True\n"
    assert list(tmp_path.iterdir()) == []


def test_many_windows_do_not_grow_the_process():
    out = run_host("""
import os
def pages(): return int(open("/proc/self/statm").read().split()[1])
it = Registration(sys.argv[1])
def rounds(n):
    for _ in range(n):
        it.start(); it.stop(); assert it.collect()
    return pages(), len(os.listdir("/proc/self/fd"))
rounds(5)
before, descriptors = rounds(1)
after, then = rounds(40)
print((after - before) * 4 < 2048, then == descriptors)
""", LIBRARY)
    assert out == "True True\n"
