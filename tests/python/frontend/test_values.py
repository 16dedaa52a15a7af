"""Marks are given whatever a program has at hand: none of them raises, and what cannot be kept is
counted."""

import re

import crosscut
import pytest

PROGRAM = '''
import crosscut, fractions, pathlib, sys

class Odd:
    def __str__(self): raise RuntimeError("no words")
    __int__ = __float__ = __hash__ = __eq__ = __str__

class Text(str):
    __hash__ = __eq__ = Odd.__str__

class Loss:
    def __int__(self): return 7
    def __float__(self): return 0.5

names = ["a", None, 5, 1.5, b"bytes", "\\ud800", "nul\\0nul", "", "long" * 300_000,
         pathlib.Path("p"), [], {}, Odd(), Text("t"), True]
kept = [0, -3, 2**63 - 1, -2**63, True, 1.5, -0.0, Loss(), fractions.Fraction(7, 2)]
lost = [float("nan"), float("inf"), -float("inf"), 1e400, 1e300, 2**63, -2**63 - 1, None, "x", "5",
        b"5", [], {}, Odd(), object(), 1j]
for name in names:
    with crosscut.operation(name): pass
    crosscut.step(name); crosscut.instant(name); crosscut.phase(name); crosscut.meta(name, name)
    crosscut.process_name(name); crosscut.counter(name, 1)
for value in kept: crosscut.counter("kept", value)
for value in lost: crosscut.counter("lost", value)
for value in (0, 0.5, True, Loss()): crosscut.progress(value)
for value in (float("nan"), 1.01, -1, None, "x", Odd(), 2**2000): crosscut.progress(value)
for call in (crosscut.counter, crosscut.instant, crosscut.progress):
    class Stop:
        def __str__(self): raise KeyboardInterrupt
        __int__ = __float__ = __str__
    try: call(*[Stop()] * (2 if call is crosscut.counter else 1))
    except KeyboardInterrupt: pass
    else: sys.exit("KeyboardInterrupt is not the program's any more")
crosscut.process_name("odd")
print("done")
'''


def test_no_mark_raises_for_a_value_and_what_cannot_be_kept_is_counted(recorder):
    script = recorder.script("odd.py", PROGRAM)
    import sys
    done = recorder.record(sys.executable, script, flags=("--control-steps=0",))
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    run = crosscut.read(recorder.run_dir)
    lost = [row["count"] for row in run.table("drops").rows() if row["reason"] == "value"]
    assert sum(lost) == 16 + 7
    gaps = [row["message"] for row in run.table("gaps").rows()]
    assert any(re.fullmatch(r"23 values of odd \(pid \d+\) are missing \(not a number that can be "
                            r"kept\), between .* after its start\.", gap) for gap in gaps), gaps
    cut = r"Source fractions of counters missing in odd \(pid \d+\): 3 values were cut to whole "
    assert any(re.fullmatch(cut + r"numbers\.", gap) for gap in gaps), gaps
    named = {row["operation"] for row in run.table("operations").rows()}
    assert {"a", "None", "5", "1.5", "b'bytes'", "?", "nul?nul", "p", "[]", "{}", "(unnamed)", "t",
            "True"} <= named


def test_what_may_not_be_recorded_is_not_even_converted():
    class Device:
        def __int__(self):
            raise AssertionError("a tensor on a device would be waited for")

    crosscut.counter("loss", Device())


def test_callables_without_a_name_of_their_own_are_decorated_by_their_type():
    import functools
    part = functools.partial(int, "7")
    assert crosscut.operation(part)() == 7


SETTINGS = [
    *((crosscut.start, {name: value}, kind) for name, values, kind in (
        ("memory_mib", ["x", None, 2.5], TypeError), ("memory_mib", [-1, 1 << 50], ValueError),
        ("keep_seconds", ["x", None], TypeError),
        ("keep_seconds", [-1, float("nan"), float("inf")], ValueError),
        ("control_percent", ["x", None], TypeError),
        ("control_percent", [float("nan"), 101], ValueError),
        ("seed", ["x", 1.5], TypeError), ("plan", [7, b"full"], TypeError),
        ("policy", [None, []], ValueError),
        ("python", ["x", 3], ValueError)) for value in values),
    *((crosscut.schedule, {name: value}, kind) for name, value, kind in (
        ("active", 0, ValueError), ("wait", -1, ValueError), ("active", 0.5, TypeError),
        ("repeat", None, TypeError), ("warmup", "x", TypeError))),
    *((crosscut.wrap, {"thing": "math", **given}, kind) for given, kind in (
        ({"layer": "x"}, ValueError), ({"names": "("}, ValueError), ({"names": 5}, TypeError),
        ({"thing": "no.such"}, ImportError))),
]


@pytest.mark.parametrize("call, settings, kind", SETTINGS)
def test_settings_that_cannot_be_meant_raise_and_change_nothing(tmp_path, call, settings, kind):
    run = tmp_path / "run"
    if call is crosscut.start:
        settings = {"run_dir": run, **settings}
    with pytest.raises(kind):
        call(**settings)
    assert not crosscut.active() and not run.exists()
