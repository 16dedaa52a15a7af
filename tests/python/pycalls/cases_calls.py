"""What must hold at level `calls`: each function runs in a process of its own, in every interpreter
that has a _pycalls (test_calls.py). Its name is what it shows."""

import asyncio
import functools
import os
import sys
import threading
import time

import _conventions as c
import tape

pc = tape.pc
OLD = sys.version_info < (3, 12)


def _start(native=True, builtins=False):
    if native:
        pc.patch_module(c, "native", prefix="c")
        pc.patch_type(c.Thing, "native", prefix="Thing")
    assert pc.start_calls(builtins=builtins)
    tape.record(1)
    assert tape.set_level(3) == 0


_stop = functools.partial(tape.set_level, 0)  # no Python frame of its own


def _short(spans):
    """Spans by bare name: "f[g, c.one]"."""
    out = []
    for span in spans:
        if span.name.startswith("garbage"):
            continue
        inner = _short(span.children)
        bare = span.name.split(" (")[0].split(">.")[-1].split(".<locals>.")[-1]
        out.append(bare + (f"[{inner}]" if inner else ""))
    return ", ".join(out)


def _closed(thread=0):
    return all(s.closed for s in tape.flat(tape.tree(thread)))


def python_and_native_calls_nest_as_they_ran():
    class Worker:
        def run(self):
            return self.step(c.Thing())

        def step(self, thing):
            thing.noargs()
            return c.call_back(self.inner, thing.one)

        def inner(self, method):
            return method(1)

    worker = Worker()
    _start()
    for _ in range(3):
        worker.run()
    _stop()
    one = "Worker.run[Worker.step[Thing.noargs, c.call_back[Worker.inner[Thing.one]]]]"
    if sys.version_info < (3, 11):  # code objects know no qualified name
        one = one.replace("Worker.", "")
    assert _short(tape.tree()) == ", ".join([one] * 3), _short(tape.tree())
    assert _closed()
    number = tape.tree()[0].number
    called_at_and_frame = 4 | 16
    assert tape.facts(number) == (0, "python", called_at_and_frame, "pycall")
    line = Worker.run.__code__.co_firstlineno
    assert tape.name(number).startswith(f"{tape.tree()[0].name}@")
    assert tape.tree()[0].name.endswith(f"(cases_calls.py:{line})")


def builtin_functions_are_spans_where_they_are_asked_for():
    class Odd(dict):
        pass

    def key(x):
        return abs(x)

    def work():
        for _ in range(40):  # CPython has instructions of its own for these
            len("abc")
            isinstance(1, int)
        odd = Odd(a=1)
        odd.get("a")
        sorted([2, -1], key=key)
        try:
            next(iter(()))
        except StopIteration:
            c.one(1)
        c.call_back(key, 1)
        return getattr(odd, "pop")("a")

    _start(builtins=True)
    work()
    _stop()
    [mine] = [span for span in tape.flat(tape.tree())
              if span.name.split(" (")[0].split(">.")[-1] == "work"]
    loop = ", ".join(["len, isinstance"] * 40)
    assert _short([mine]).endswith(
        f"work[{loop}, dict.get, sorted[key[abs], key[abs]], iter, next, c.one, "
        "c.call_back[key[abs]], getattr, dict.pop]"), _short([mine])
    assert mine.closed


def builtin_functions_end_where_the_hook_goes_out():
    def late(steps):
        next(steps)
        len("abc")

    def steps():
        tape.set_level(0)
        tape.set_level(3)
        yield 1

    _start(builtins=True)
    late(steps())
    late(iter([1]))
    _stop()
    spans = list(tape.flat(tape.tree()))
    assert [(span.cut, span.goes_on) for span in spans if span.name == "next"] == [
        (True, False), (False, False)], spans
    assert sum(span.name == "len" and span.closed for span in spans) == 2, spans


def exceptions_and_recursion_stay_balanced():
    def fails(n):
        if n == 0:
            raise ValueError
        fails(n - 1)

    def catches():
        try:
            fails(2)
        except ValueError:
            return after()

    def after():
        return 1

    _start()
    catches()
    try:
        c.call_back(c.call_back, fails, 0)
    except ValueError:
        pass
    _stop()
    first = "catches[fails[fails[fails]], after]"
    assert _short(tape.tree()) == first + ", c.call_back[c.call_back[fails]]"
    assert _closed()


def what_began_unrecorded_ends_no_other_call_of_its_code():
    def nests(inner):
        if inner:
            return
        tape.record(0)
        nests(True)
        tape.record(1)
        after()

    def after():
        return 1

    _start()
    nests(False)
    after()
    _stop()
    assert _short(tape.tree()) == "nests[after], after", _short(tape.tree())
    assert _closed()


def generators_are_spans_while_they_run():
    def numbers():
        try:
            yield inner()
            yield 2
        except KeyError:
            yield inner()

    def inner():
        return 1

    _start()
    running = numbers()
    next(running)
    next(running)
    running.throw(KeyError())
    running.close()
    for _ in numbers():
        pass
    inner()
    _stop()
    names = _short(tape.tree())
    assert names.startswith("numbers[inner], numbers, numbers[inner]"), names
    assert names.endswith("numbers[inner], numbers, numbers, inner"), names
    assert _closed()


def coroutines_are_spans_while_they_run():
    async def work(n):
        await asyncio.sleep(0)
        return n

    async def main():
        return await asyncio.gather(*(work(i) for i in range(5)))

    _start()
    assert asyncio.run(main()) == list(range(5))
    _stop()
    assert tape.count("coroutines_are_spans_while_they_run.<locals>.work") >= 10 or OLD
    assert tape.count("work") + tape.count("coroutines") >= 10
    assert _closed()


def frames_older_than_the_hook_begin_where_it_goes_in():
    def outer():
        _start()
        inner()

    def inner():
        pass

    outer()
    inner()
    _stop()
    assert _short(tape.tree()) == "outer[_start, inner], inner"
    [module] = tape.trees()[0]
    assert module.name.startswith("<module> (") and module.cut
    assert _short(module.children).startswith("frames_older_than_the_hook_begin_where_it_goes_in")


def functions_end_where_the_hook_goes_out_and_go_on_where_it_is_back():
    def outer():
        before()
        tape.set_level(0)
        unseen()
        tape.set_level(3)
        after()

    def before():
        pass

    unseen = after = before

    _start()
    outer()
    _stop()
    assert len(tape.trees()[0]) == 2  # the functions around this one, up to the gap and behind it
    first, second = _named("outer")
    assert _short(first.children) == _short(second.children) == "before"
    assert (first.cut, first.goes_on, second.goes_on, second.cut) == (True, False, True, False)
    assert len([span for span in _named("before") if not span.goes_on]) == 2


def _named(name):
    return [span for spans in tape.trees().values() for span in tape.flat(spans)
            if _short([span]).split("[")[0] == name]


def a_function_called_while_the_hook_is_out_is_not_the_one_of_before():
    def loop():
        for i in range(4):
            step(i)

    def step(i):
        tape.set_level(0 if i % 2 == 0 else 3)
        leaf()

    def leaf():
        pass

    _start()
    loop()
    _stop()
    steps = _named("step")
    # Of 0 the part before, of 1 and 3 the part behind its switch, of 2 the part before.
    assert [_short(s.children) for s in steps] == ["", "leaf", "", "leaf"], steps
    assert all(s.closed for s in steps)


def native_calls_in_flight_stand_where_they_were_called():
    def outer():
        return c.call_back(inner, 1)

    def inner(_):
        tape.set_level(1)
        tape.set_level(3)
        return leaf()

    def leaf():
        return 1

    _start()
    outer()
    _stop()
    last = tape.trees()[0][-1]
    assert _short([last]).endswith("outer[c.call_back[inner[leaf]]]" + "]" * _depth(last, "outer"))


def _depth(span, name):
    """How many functions are around `name`."""
    depth = 0
    while _short([span]).split("[")[0] != name:
        [span] = [child for child in span.children if not child.name.startswith("garbage")]
        depth += 1
    return depth


def native_calls_of_one_session_end_in_none_but_where_the_next_is_told_of_them():
    def within(level):
        tape.set_level(0)
        tape.next_session()
        tape.record(1)
        tape.set_level(level)

    pc.patch_module(c, "native", prefix="c")
    tape.record(1)
    tape.set_level(1)
    before = len(tape.events())
    c.call_back(within, 1)
    codes = [event[1] for event in tape.events()[before:]]
    assert codes.count(1) == 0, codes  # no end: its begin is of the session before
    assert pc.start_calls()
    tape.set_level(3)
    c.call_back(within, 3)
    _stop()
    pieces = _named("c.call_back")
    assert len(pieces) > 2 and all(piece.closed for piece in pieces[1:])



def threads_of_all_kinds_are_seen():
    go = threading.Event()

    def work():
        return leaf()

    def leaf():
        return 1

    def early():
        go.wait()
        work()

    first = threading.Thread(target=early)
    first.start()
    _start()
    go.set()
    first.join()
    later = [threading.Thread(target=work) for _ in range(3)]
    for t in later:
        t.start()
    for t in later:
        t.join()
    expected = 4
    if not OLD:  # a hook of the interpreter, not of each thread
        c.on_foreign_thread(work)
        expected = 5
    _stop()
    found = [s for spans in tape.trees().values() for s in tape.flat(spans)
             if _short([s]) == "work[leaf]"]
    assert len(found) == expected, tape.trees()
    assert all(s.closed for s in found)
    after = len(list(tape.flat(tape.tree())))
    last = threading.Thread(target=work)
    last.start()
    last.join()
    assert len(list(tape.flat(tape.tree()))) == after


def stopping_leaves_no_trace_in_the_interpreter():
    _start()
    assert pc.stats()["calls"]
    pc.stop_calls()
    assert not pc.stats()["calls"]
    assert sys.getprofile() is None
    assert getattr(threading, "_profile_hook", None) is None
    if not OLD:
        assert [sys.monitoring.get_tool(i) for i in range(6)] == [None] * 6

    def quiet():
        pass

    before = tape.words()
    quiet()
    assert tape.words() == before
    assert pc.start_calls()
    quiet()
    assert tape.count("quiet") + tape.count("stopping_leaves") >= 1


def another_owner_of_the_hook_keeps_it_and_is_named():
    seen = []

    class Owner:
        def __call__(self, frame, event, arg):
            seen.append(event)

    def work():
        pass

    if OLD:
        owner = Owner()
        sys.setprofile(owner)
    else:
        for tool in (3, 4):
            sys.monitoring.use_tool_id(tool, f"their_tool_{tool}")
    assert pc.start_calls()
    tape.record(1)
    tape.set_level(3)
    work()
    tape.set_level(0)
    if OLD:
        assert sys.getprofile() is owner
        sys.setprofile(None)
        assert seen.count("call") >= 1
    else:
        assert sys.monitoring.get_tool(4) == "their_tool_4"
    states = [line for line in tape.log() if line.startswith("state pycalls conflict")]
    assert len(states) == 1, tape.log()
    assert ("Owner" if OLD else "their_tool_3") in states[0], states
    assert not pc.stats()["calls"]
    assert tape.count("another_owner") == 0


def a_profiler_that_comes_later_works():
    import cProfile
    import pstats

    def work():
        return sum(leaf(i) for i in range(10))

    def leaf(i):
        return i

    _start()
    profile = cProfile.Profile()
    profile.enable()
    work()
    profile.disable()
    _stop()
    calls = {k[2]: v[1] for k, v in pstats.Stats(profile).stats.items()}
    assert calls["leaf"] == 10 and calls["work"] == 1
    if not OLD:
        assert tape.count("a_profiler_that_comes_later_works.<locals>.leaf") == 10


def tracing_beside_works():
    lines = []

    def work():
        x = 1
        return x

    def trace(frame, event, arg):
        lines.append(event)
        return trace

    _start()
    sys.settrace(trace)
    work()
    sys.settrace(None)
    _stop()
    assert lines.count("line") >= 2 and "return" in lines
    assert any(_short([s]).startswith("work") for s in tape.flat(tape.tree()))


def deep_recursion_ends_as_it_did():
    def down(n):
        return down(n - 1) + 1 if n else 0

    sys.setrecursionlimit(12000)
    _start(native=False)
    assert down(9000) == 9000
    try:
        down(20000)
    except RecursionError:
        pass
    else:
        raise AssertionError
    assert down(5) == 5
    _stop()
    assert _closed()
    assert _short(tape.tree()[-1:]) == "down[down[down[down[down[down]]]]]"


def our_own_code_is_not_recorded():
    import crosscut

    path = os.path.join(os.path.dirname(crosscut.__file__), "session.py")
    names = {}
    exec(compile("def ours(f):\n    return f()\n", path, "exec"), names)

    def theirs():
        return 1

    _start()
    names["ours"](theirs)
    _stop()
    assert _short(tape.tree()) == "theirs"


def sleeping_in_a_function_is_idle_inside_python():
    pc.patch_known("time")

    def nap():
        time.sleep(0.001)

    _start()
    nap()
    _stop()
    assert _short(tape.tree()) == "nap[time.sleep]"


def code_that_ends_and_comes_again_gets_its_own_name():
    _start(native=False)
    for i in range(300):
        names = {}
        exec(f"def made_{i}(): pass", names)
        names[f"made_{i}"]()
        del names
    _stop()
    found = [s.name.split(" ")[0] for s in tape.flat(tape.tree()) if s.name.startswith("made_")]
    assert found == [f"made_{i}" for i in range(300)]


def a_forked_child_does_not_end_its_parents_spans():
    def fork():
        return os.fork()  # begun in the parent, returns in both

    _start(native=False)
    child = fork()
    if child == 0:
        spans = [s for s in tape.flat(tape.trees()[0]) if _short([s]).split("[")[0] == "fork"]
        # The parent's, and the child's own from where it began to record.
        os._exit(0 if [(span.cut, span.goes_on) for span in spans] == [
            (True, False), (False, True)] and spans[1].closed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    _stop()
    assert _short(tape.tree()).startswith("fork")
    assert tape.tree()[0].closed
