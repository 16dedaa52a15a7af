"""Environments of reinforcement learning are followed, whatever their classes are made of, and stay
as they are."""

import random
import sys

import crosscut
import pytest

CORE = """
class Env:
    def step(self, action): raise NotImplementedError
    def reset(self): raise NotImplementedError
class Wrapper(Env):
    def __init__(self, env): self.env = env
    def step(self, action): return self.env.step(action)
    def reset(self): return self.env.reset()
"""


@pytest.fixture
def library(recorder):
    """Stands in for Gymnasium."""
    recorder.script("gymnasium/core.py", CORE)
    recorder.script("gymnasium/__init__.py", "from gymnasium.core import Env, Wrapper")
    return recorder


def of_operation(recorder, name):
    rows = crosscut.read(recorder.run_dir).table("operations").rows()
    return sum(row["count"] for row in rows if row["operation"] == name)


def spans(recorder):
    rows = crosscut.read(recorder.run_dir).table("functions").rows()
    return {row["name"]: row["count"] for row in rows if row["layer"] == "simulator"}


MIXED = """
from gymnasium import Env, Wrapper
class Steps:
    def step(self, action): return action
class Resets:
    def reset(self): return 0
class Mixed(Steps, Resets, Env): pass
class Other(Resets, Env):
    def step(self, action): return -action
class Over(Steps, Wrapper): pass
def run(env, steps):
    env.reset()
    return [env.step(action) for action in range(steps)]
"""


def test_a_method_from_a_base_that_is_no_environment_is_followed(library):
    library.python(MIXED + """
env, steps = Mixed(), Steps()
run(env, 5), run(Other(), 3), run(Over(env), 7)
for _ in range(20): steps.step(1)
""")
    assert of_operation(library, "simulate") == 5 + 3 + 7 + 3
    assert spans(library) == {"Steps.step": 12, "Resets.reset": 3, "Other.step": 3}


def test_a_class_is_followed_that_has_an_instance_or_methods_when_it_is_made_or_later(library):
    library.python("""
from gymnasium import Env
class Registered(Env):
    def __init_subclass__(cls): cls.one = cls()
class One(Registered):
    def step(self, action): return action
class Late(Env): pass
Late.step = lambda self, action: action
class Traced(Env):
    def step(self, action): return action
Traced.step = (lambda step: lambda self, action: step(self, action))(Traced.step)
for _ in range(4): One.one.step(1)
late, traced = Late(), Traced()
for _ in range(5): late.step(1), traced.step(2)
""")
    assert of_operation(library, "simulate") == 4 + 5 + 5


@pytest.mark.parametrize("seed", range(3))
def test_random_classes_are_followed_wherever_their_methods_are_from(library, seed):
    chance = random.Random(seed)
    lines, bases, calls = ["from gymnasium import Env"], ["Env"], 0
    for number in range(12):
        own = chance.random() < .6
        body = "def step(self, action): return action" if own else "pass"
        mixes = chance.random() < .5
        above = chance.choice(bases)
        if mixes:
            lines.append(f"class Mixin{number}:\n  {body}")
            lines.append(f"class Class{number}(Mixin{number}, {above}): pass")
        else:
            lines.append(f"class Class{number}({above}):\n  {body}")
        bases.append(f"Class{number}")
    lines.append("done = 0\nfor cls in " + "[" + ",".join(bases[1:]) + "]:\n"
                 "  if cls.step is Env.step: continue\n"
                 "  for action in range(4):\n    cls().step(action); done += 1\nprint(done)")
    calls = int(library.python("\n".join(lines)))
    assert calls > 0 and of_operation(library, "simulate") == calls


def test_classes_and_what_they_hold_go_when_the_program_lets_go_of_them(library):
    out = library.python("""
import gc, sys, weakref
from gymnasium import Env
def trial():
    class Trial(Env):
        def step(self, action): return action
        def reset(self): return super().__init__()
    env = Trial()
    env.reset(), env.step(1)
    return list(map(weakref.ref, (Trial, Trial.step, Trial.reset)))
gone = [reference for _ in range(20) for reference in trial()]
gc.collect()
print(sum(one() is not None for one in gone), len(Env.__subclasses__()))
seen = []
sys.setprofile(lambda frame, event, _: seen.append((event, frame.f_code.co_name)))
trial()
gc.collect()
sys.setprofile(None)
print([name for event, name in seen if event == "call"])
""")
    counted = of_operation(library, "simulate")
    assert out == "0 1\n['trial', 'Trial', 'reset', 'step']\n" and counted == 42


METACLASSES = """
from gymnasium import Env
class Equal(type):
    def __eq__(cls, other):
        print("compared")
        return True
class Hashed(type):
    def __hash__(cls):
        print("hashed")
        return 7
class E(Env, metaclass=Equal):
    def step(self, action): return action
class H(Env, metaclass=Hashed):
    def step(self, action): return action
e, h = E(), H()
print([e.step(action) + h.step(action) for action in range(5)])
"""


def test_a_metaclass_is_asked_for_nothing(library):
    alone = library.plain(sys.executable, "-c", METACLASSES)
    recorded = library.record(sys.executable, "-c", METACLASSES)
    assert (recorded.returncode, recorded.stdout) == (0, alone.stdout)
    assert "Traceback" not in recorded.stderr and of_operation(library, "simulate") == 10
