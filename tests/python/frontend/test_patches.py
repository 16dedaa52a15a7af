"""What adapters put in the place of other people's functions goes again, and what the program put
over it stays."""

import pathlib
import subprocess
import types

import pytest
from crosscut import _patches, _record
from recording import PACKAGE, environment


class Base:
    def call(self):
        return "theirs"


class Made(Base):
    @classmethod
    def of_class(cls):
        return "theirs"

    @staticmethod
    def of_nobody():
        return "theirs"

    @property
    def read(self):
        return "theirs"


def module():
    it = types.ModuleType("it")
    it.call = lambda: "theirs"
    return it


def told_of(calls, function):
    return _record.around(function, before=lambda *_: calls.append("ours"))


def in_property(calls):
    return property(told_of(calls, Made.read.fget))


# What has it, its name, what stands for it, and how it is called.
PLACES = {
    "a function": (Base, "call", lambda calls: told_of(calls, Base.call), lambda: Base().call()),
    "an inherited one": (Made, "call", lambda calls: told_of(calls, Base.call),
                         lambda: Made().call()),
    "a classmethod": (Made, "of_class",
                      lambda calls: classmethod(told_of(calls, Made.of_class.__func__)),
                      lambda: Made.of_class()),
    "a staticmethod": (Made, "of_nobody",
                       lambda calls: staticmethod(told_of(calls, Made.of_nobody)),
                       lambda: Made.of_nobody()),
    "a property": (Made, "read", in_property, lambda: Made().read),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_was_there_is_there_again(place):
    owner, name, ours, call = PLACES[place]
    before, calls, patches = dict(vars(owner)), [], _patches.Patches()
    patches.replace(owner, name, ours(calls))
    assert call() == "theirs" and calls == ["ours"]
    patches.undo()
    assert dict(vars(owner)) == before
    assert call() == "theirs" and calls == ["ours"] and not patches


@pytest.mark.parametrize("place", PLACES)
def test_what_the_program_put_over_ours_stays_and_ours_in_it_passes_on(place):
    owner, name, ours, call = PLACES[place]
    before, calls, patches = dict(vars(owner)), [], _patches.Patches()
    missing = object()
    try:
        patches.replace(owner, name, ours(calls))
        stood = vars(owner)[name]

        class TheProgramsOwn:
            def __get__(self, instance, cls):
                got = stood.__get__(instance, cls)
                return got if isinstance(got, str) else lambda: ["the program's", got()]

        own = TheProgramsOwn()
        setattr(owner, name, own)
        call()
        assert calls == ["ours"]
        patches.undo()
        assert vars(owner)[name] is own
        call()
        assert calls == ["ours"]
        # Also where the program puts ours back, as it would the function that it found.
        setattr(owner, name, stood)
        assert call() == "theirs" and calls == ["ours"]
        again = _patches.Patches()
        again.replace(owner, name, ours(calls))
        again.undo()
        assert call() == "theirs" and calls == ["ours"]
    finally:
        if before.get(name, missing) is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before[name])


def test_modules_and_items_are_places_too():
    calls, it, patches = [], module(), _patches.Patches()
    theirs, items = it.call, {1: (module().call, "more"), 2: (module().call, "more")}
    before = dict(items)
    patches.replace(it, "call", told_of(calls, theirs))
    for key in items:
        patches.replace(items, key, (told_of(calls, items[key][0]), "more"))
    kept = items[1]
    items[2] = "the program's"
    assert it.call() == kept[0]() == "theirs" and calls == ["ours", "ours"]
    patches.undo()
    assert it.call is theirs and items == {1: before[1], 2: "the program's"}
    assert kept[0]() == "theirs" and calls == ["ours", "ours"]


def test_a_call_that_is_under_way_ends_as_it_began():
    told, patches, it = [], _patches.Patches(), module()

    def theirs():
        patches.undo()
        return "theirs"

    it.call = theirs
    patches.replace(it, "call", _record.around(
        theirs, after=lambda _, result, failed: told.append((result, failed)), outermost=True))
    assert it.call() == "theirs" and told == [("theirs", False)] and it.call is theirs


def test_what_cannot_be_taken_back_keeps_nothing_else_from_it():
    class Stubborn(type):
        def __setattr__(cls, name, value):
            if not isinstance(value, _record.around):
                raise AttributeError("it stays")
            super().__setattr__(name, value)

    class Theirs(metaclass=Stubborn):
        size = len

    calls, it, patches = [], module(), _patches.Patches()
    theirs = it.call
    patches.replace(it, "call", told_of(calls, theirs))
    patches.replace(Theirs, "size", told_of(calls, len))
    with pytest.raises(AttributeError, match="it stays"):
        patches.undo()
    assert it.call is theirs and Theirs.size("abc") == 3 and calls == [] and not patches


# The program puts a function of its own over everything that is in place.
OVER = """
import json, sys
import crosscut
from crosscut import _patches
placed = []
put = _patches.Patch.__init__
def noted(self, owner, name, ours):
    put(self, owner, name, ours)
    placed.append((owner, name, ours))
_patches.Patch.__init__ = noted
run, libraries = sys.argv[1], sys.argv[2:]
assert crosscut.arm(run) and crosscut.start(), crosscut.error()
import asyncio, importlib, multiprocessing, threading
for library in libraries:
    importlib.import_module(library)
own = {}
for owner, name, ours in placed:
    if name in vars(owner):
        own[owner, name] = staticmethod(lambda: "the program's")
        setattr(owner, name, own[owner, name])
for window in range(3):
    crosscut.stop()
    print([f"{owner.__name__}.{name}" for owner, name in own
           if vars(owner).get(name) is not own[owner, name]])
    assert crosscut.start(), crosscut.error()
crosscut.stop()
print([f"{owner.__name__}.{name}" for owner, name in own
       if vars(owner).get(name) is not own[owner, name]], len(own) >= MINIMUM)
"""


@pytest.mark.parametrize(("venv", "libraries", "minimum"), [
    (".venv", ["torch.distributed"], 14),
    (".venv-rl", ["gymnasium", "stable_baselines3", "ray"], 30),
    (".venv-tensorflow", ["jax._src.compiler", "keras", "tensorflow"], 15)])
def test_a_program_that_replaces_all_that_we_replace_keeps_its_own(tmp_path, venv, libraries,
                                                                  minimum):
    python = pathlib.Path(__file__).resolve().parents[3] / venv / "bin" / "python"
    if not python.exists():
        pytest.skip(f"there is no {venv}")
    done = subprocess.run(
        [python, "-c", OVER.replace("MINIMUM", str(minimum)), tmp_path / "run", *libraries],
        capture_output=True, text=True, timeout=1200,
        env=environment(PYTHONPATH=str(PACKAGE.parent), TF_CPP_MIN_LOG_LEVEL="2"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n" * 3 + "[] True\n", done.stderr
