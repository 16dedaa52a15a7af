"""Calls that are executed elsewhere, as the adapter of Ray tells of them, by others than Ray."""

import crosscut
from crosscut import _wrap
from test_found_steps import operations

PROGRAM = f"COMM = {_wrap.LAYERS.index('comm') + 1}" + """
class Reference:
    def __init__(self, task, number=1):
        self.bytes = task.ljust(24).encode() + number.to_bytes(4, "little")
    def binary(self):
        return self.bytes
class Generator:
    def __init__(self, task):
        self._generator_ref = Reference(task)
class Handle:
    of = type("Of", (), {"cls": "module.Actor"})
told = []
called, got, waited, came, stored, awaited = _record.remote_ends(told.append, None)
call = _record.remote_call(told.append, ("of", "cls"), True)
wait = _record.remote_wait(told.append, _record.span("get", COMM), 0, "references")
next_ = _record.remote_wait(told.append, _record.span("next", COMM), 0, None)
def made(result, method="step", failed=False):
    assert call(Handle(), method, x=1)
    assert called(None, result, failed) is None
"""


def test_calls_and_waits_are_spans_and_what_is_odd_is_told(tmp_path):
    operations(tmp_path, PROGRAM + """
made(Reference("a"))
made([Reference("b"), Reference("c")], "both")
made(Generator("d"), "each")
made(None), made([]), made(None, failed=True)
references = [Reference("a"), Reference("b"), Generator("d"), Reference("unknown")]
for ask in (lambda: wait(references), lambda: wait(references=references)):
    assert ask() and got(None, None, False) is None
assert wait(references) and waited(None, (references[:1], []), False) is None
assert wait(5) and got(None, None, True) is None
assert next_(Generator("d")) and came(None, Reference("d"), False) is None
assert awaited(Reference("a"), None, False) is None
assert told == []
assert call(object(), "step") is None and call(Handle()) is None
assert [type(error) for error in told] == [AttributeError, TypeError]
assert wait([object()]) and got(None, None, False) is None
assert wait([1]) and waited(None, None, False) is None
assert [type(error) for error in told[2:]] == [TypeError, TypeError]
assert called(None, None, True) is None  # more ends than begins
class Bad:
    def binary(self):
        raise KeyError("x")
made(Bad())
assert type(told[-1]) is KeyError
assert _record.open_depth() == 0
""")
    rows = crosscut.read(tmp_path / "run").table("functions").rows()
    assert {row["name"]: row["count"] for row in rows if row["layer"] == "comm"} == {
        "Actor.step.remote": 5, "Actor.both.remote": 1, "Actor.each.remote": 1,
        "get": 6, "next": 1}


def test_what_is_read_is_told_until_there_is_no_more_to_learn_of_a_thread(tmp_path):
    operations(tmp_path, """
import threading
read = []
def reads(value):
    read.append(value)
    return value != "enough"
tell = _record.remote_reads(reads)
assert [tell(value=value) for value in (1, "enough", 2)] == [True, False, None]
thread = threading.Thread(target=lambda: tell(value=3)); thread.start(); thread.join()
_record.remote_reads_again()
tell(4)
_record.remote_reads(reads)(5)
assert read == [1, "enough", 3, 4, 5]
""")


def test_what_connects_is_stated_whether_operations_are_recorded_or_not(tmp_path):
    operations(tmp_path, """
import types
from crosscut.adapters import ray
connects, told = [], []
def connect(fails=False):
    connects.append(calls.operations.on.value)
    if fails: raise OSError
module, calls = types.SimpleNamespace(connect=connect), ray._Calls("2")
ray.tell = lambda: told.append(1)
calls.follow_connecting(module)
for on in (1, 0):
    calls.operations.on.value = on
    module.connect()
    try:
        module.connect(fails=True)
    except OSError:
        pass
assert (connects, told) == ([1, 1, 0, 0], [1, 1]), (connects, told)
""")
