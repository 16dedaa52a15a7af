"""Functions that Crosscut stands around live as long as they would, and so do their classes; who
walks a thread's frames finds those of the program alone."""

import faulthandler
import gc
import sys
import tracemalloc
import types
import weakref

from crosscut import _patches, _record
from crosscut.adapters import tensorflow_graphs
from test_led_functions import Base, led, without_addresses


def test_what_is_led_lives_no_longer_than_the_program_has_it():
    def closing():
        class Closes(Base):
            def step(self, action, *, times=1):
                return super().step(action, times=times)

        return Closes, Closes.step, lambda: Closes().step(2)

    def generator():
        class Yields:
            def step(self):
                yield __class__

        return Yields, Yields.step, lambda: list(Yields().step())

    def executed():
        place = {"__name__": "module"}
        exec("class Executed:\n def step(self): return Executed", place)
        cls = place["Executed"]
        return cls, cls.step, lambda: cls().step()

    patches, gone = _patches.Patches(), []
    for make in (closing, generator, executed) * 3:
        cls, function, call = make()
        before = without_addresses(call())
        patches.replace(cls, "step", _record.around(function))
        patches.replace(cls, "step", _record.around(function, nests=True))
        assert without_addresses(call()) == before
        gone += weakref.ref(cls), weakref.ref(function)
        del cls, function, call
    gc.collect()
    assert [reference() for reference in gone] == [None] * len(gone)
    patches.undo()


def test_a_finaliser_calls_what_dies_with_it():
    told = []

    def make():
        class Ends(Base):
            def step(self, action, *, times=1):
                return super().step(action, times=times)

            def __del__(self):
                told.append(self.step(3, times=2))

        return Ends

    patches = _patches.Patches()
    for in_cycle in (False, True):
        cls = make()
        patches.replace(cls, "step", _record.around(cls.step))
        one = cls()
        if in_cycle:
            one.itself = one
        assert one.step(2) == 2
        del cls, one
        gc.collect()
        assert told.pop() == 6 and not told
    patches.undo()


def test_a_function_that_is_gone_is_not_mistaken_for_one_in_its_place():
    patches, told = _patches.Patches(), []
    for number in range(300):
        def function(x):
            return x

        assert function(number) == number and not told
        patches.replace({"step": function}, "step",
                        _record.around(function, before=lambda *_: told.append(1) or True))
        assert function(number) == number and told.pop() and not told
        del function
    patches.undo()


def test_who_walks_the_frames_of_a_thread_finds_no_more(tmp_path):
    class Host:
        def step(self):
            with open(tmp_path / "stacks", "w+") as file:
                faulthandler.dump_traceback(file, all_threads=False)
                file.seek(0)
                dumped = [line for line in file if line.startswith("  File")]
            tracemalloc.start(20)
            made = bytearray(1000)
            trace = [(at.filename, at.lineno) for at in tracemalloc.get_object_traceback(made)]
            tracemalloc.stop()
            return dumped[:2], trace[-2:]  # the others are of this test

        def outer(self):
            return self.step(), *map(Host.step, [self])

    before = Host().outer()
    with led(Host.step), led(Host.step), led(Host.outer):
        assert Host().outer() == before


def test_an_optimizer_of_a_graph_dies_in_no_frame_of_ours():
    class Optimizer:
        _iterations = types.SimpleNamespace(_unique_id="5")

    graphs, seen, optimizer = tensorflow_graphs.Graphs(), [], Optimizer()
    graphs.keep(optimizer)
    counts = types.SimpleNamespace(name="iteration", _unique_id="5")
    assert graphs._counts_in(counts) is optimizer
    sys.setprofile(lambda frame, event, _: seen.append((event, frame.f_code.co_filename)))
    del optimizer
    sys.setprofile(None)
    assert [file for event, file in seen if event == "call"] == []
    assert graphs._counts_in(counts) is None
