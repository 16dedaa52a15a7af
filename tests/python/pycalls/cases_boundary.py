"""What must hold at the boundary: each function runs in a process of its own, in every interpreter
that has a _pycalls (test_boundary.py). Its name is what it shows."""

import copy
import gc
import inspect
import os
import pickle
import sys
import threading
import time
import weakref

import _conventions as c
import tape

pc = tape.pc
Thing = c.Thing
pickle_name = "_conventions"


def _patch(slots=()):
    pc.patch_module(c, "native", prefix="c")
    pc.patch_type(Thing, "native", prefix="Thing")
    pc.patch_slots(Thing, "native", slots, prefix="Thing")
    pc.enable()
    tape.record(1)


def _names(thread=0):
    names = [s.name for s in tape.flat(tape.tree(thread))]
    return [n for n in names if not n.startswith("garbage")]


def _only(function, *args, **kwargs):
    """The spans that one call leaves."""
    before = len(_names())
    result = function(*args, **kwargs)
    return result, _names()[before:]


def every_calling_convention_of_functions_keeps_its_arguments():
    cases = [
        ("noargs", (), {}, 1),
        ("one", ("x",), {}, ("x",)),
        ("varargs", (1, 2, 3, 4, 5, 6, 7), {}, (1, 2, 3, 4, 5, 6, 7)),
        ("keywords", (1,), {"a": 2}, ((1,), {"a": 2})),
        ("keywords", (), {}, ((), {})),
        ("fast", tuple(range(9)), {}, tuple(range(9))),
        ("fast_keywords", (1, 2), {"a": 3, "b": 4}, ((1, 2, 3, 4), ("a", "b"))),
        ("fast_keywords", (), {}, ((), None)),
    ]
    _patch()
    for name, args, kwargs, expected in cases:
        result, spans = _only(getattr(c, name), *args, **kwargs)
        assert result == expected, (name, result)
        assert spans == [f"c.{name}"], spans


def every_calling_convention_of_methods_keeps_its_arguments():
    thing = Thing()
    cases = [
        ("noargs", (), {}, 1),
        ("one", ("x",), {}, ("x",)),
        ("varargs", (1, 2, 3), {}, (1, 2, 3)),
        ("keywords", (1,), {"a": 2}, ((1,), {"a": 2})),
        ("fast", (1, 2, 3, 4), {}, (1, 2, 3, 4)),
        ("fast_keywords", (1,), {"a": 3}, ((1, 3), ("a",))),
        ("of_class", (5,), {}, (5,)),
        ("of_none", (1, 2), {}, (1, 2)),
    ]
    _patch()
    for name, args, kwargs, expected in cases:
        for _ in range(40):  # specialised opcodes too
            result, spans = _only(getattr(thing, name), *args, **kwargs)
            assert result == expected, (name, result)
            assert spans == [f"Thing.{name}"], (name, spans)
    (me, home, args, names), spans = _only(thing.method, 1, 2, k=3)
    assert me is thing and home is Thing and args == (1, 2, 3) and names == ("k",)
    assert spans == ["Thing.method"]


def slots_are_recorded_and_keep_arguments_and_results():
    _patch(["nb_add", "nb_power", "nb_bool", "mp_length", "mp_subscript", "mp_ass_subscript",
            "sq_contains", "tp_richcompare", "tp_iternext", "no_such_slot"])
    thing = Thing()
    assert _only(lambda: thing + 4) == (("add", 4), ["Thing.__add__"])
    assert _only(lambda: pow(thing, 2, 3)) == (("power", 2, 3), ["Thing.__pow__"])
    assert _only(lambda: bool(thing)) == (True, ["Thing.__bool__"])
    assert _only(thing.__class__.__len__, thing)[0] == 1 << 40
    assert _only(lambda: len(thing)) == (1 << 40, ["Thing.__len__"])
    assert _only(lambda: thing[7]) == (("item", 7), ["Thing.__getitem__"])
    assert _only(lambda: True in thing) == (True, ["Thing.__contains__"])
    assert _only(lambda: 5 in thing) == (False, ["Thing.__contains__"])
    assert _only(lambda: thing >= 1) == (5, ["Thing.__compare__"])
    assert _only(lambda: [x for x in thing]) == ([2, 1, 0], ["Thing.__next__"] * 4)
    thing[1] = 2
    assert _names()[-1] == "Thing.__setitem__"
    for bad in (lambda: thing[None], lambda: thing.__delitem__(1), lambda: thing + "x"):
        try:
            bad()
        except (KeyError, TypeError):
            continue
        raise AssertionError("no error")
    assert tape.all_closed()


def subclasses_that_copied_a_slot_are_switched_with_it():
    class Early(Thing):
        pass

    _patch(["mp_subscript"])

    class Late(Thing):
        pass

    assert _only(lambda: Early()[1])[1] == ["Thing.__getitem__"]
    pc.disable()
    for kind in (Thing, Early, Late):
        assert _only(lambda: kind()[1]) == (("item", 1), [])
    pc.enable()
    for kind in (Thing, Early, Late):
        assert _only(lambda: kind()[1])[1] == ["Thing.__getitem__"]
    gone = weakref.ref(Late)
    del Late, kind
    gc.collect()
    assert gone() is None
    pc.unpatch_all()
    assert _only(lambda: Early()[1]) == (("item", 1), [])


def a_vectorcall_pointer_is_one_objects_own():
    thing, other = Thing(), Thing()
    assert pc.patch_vectorcall(thing, "simulator", prefix="sim") == 1
    pc.enable()
    tape.record(1)
    assert _only(thing, 1, 2) == ((1, 2), ["sim._conventions.Thing"])
    assert _only(other, 1, 2) == ((1, 2), [])
    assert pc.patch_vectorcall(lambda: 0, "native") == 0
    assert pc.patch_vectorcall(3, "native") == 0


def an_exception_leaves_its_span_closed():
    _patch()
    for _ in range(3):
        try:
            c.raises(KeyError)
        except KeyError as error:
            assert error.args == ("raised in C",)
        else:
            raise AssertionError
    assert _names() == ["c.raises"] * 3
    assert tape.all_closed() and not any(s.children for s in tape.tree())


def native_code_that_calls_back_nests():
    _patch()
    result, spans = _only(c.call_back, lambda x: c.one(c.fast(x)), 1)
    assert result == ((1,),)
    assert repr(tape.tree()) == "[c.call_back[c.fast, c.one]]" and len(spans) == 3

    def down(n):
        return c.call_back(down, n - 1) if n else "bottom"

    assert down(50) == "bottom"
    depth, span = 1, tape.tree()[-1]
    while span.children:
        (span,) = span.children
        depth += 1
    assert depth == 50


def generators_across_native_calls_stay_balanced():
    _patch()

    def numbers():
        for i in range(3):
            yield c.one(i)

    running = numbers()
    assert c.call_back(next, running) == (0,)
    running.close()
    assert [x for x in numbers()] == [(0,), (1,), (2,)]
    assert tape.all_closed()


def deep_recursion_ends_as_it_did():
    def down(n):
        return down(n - 1) + 1 if n else 0

    _patch()
    sys.setrecursionlimit(20000)
    assert down(15000) == 15000
    try:
        c.call_back(down, 30000)
    except RecursionError:
        pass
    else:
        raise AssertionError


def threads_record_each_on_their_own():
    _patch()

    def work():
        for i in range(5000):
            assert c.one(i) == (i,)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):  # switched while they run
        pc.disable()
        time.sleep(0.001)
        pc.enable()
    for t in threads:
        t.join()
    c.on_foreign_thread(work)
    total = tape.trees()
    assert all(tape.all_closed(spans) for spans in total.values()) and len(total) > 1
    assert 5000 < tape.count("c.one") <= 25000
    foreign = max(total)
    assert tape.count("c.one", foreign) == 5000


def what_construction_and_pickling_need_is_left_alone():
    before = {n: vars(Thing)[n] for n in ("__reduce__", "__init_subclass__", "__new__")}
    _patch()
    thing = Thing()
    Thing.__reduce__(thing)

    class Sub(Thing, flag=1):
        pass

    assert isinstance(pickle.loads(pickle.dumps(thing)), Thing)
    assert isinstance(copy.copy(thing), Thing) and isinstance(copy.deepcopy(thing), Thing)
    assert weakref.ref(thing)() is thing
    assert not [n for n in _names() if "__" in n]
    assert before == {n: vars(Thing)[n] for n in before}


def only_a_types_own_methods_are_patched():
    class Sub(Thing):
        pass

    assert pc.patch_type(Sub, "native") == 0
    assert pc.patch_type(object, "native") == 0
    assert pc.patch_type(type, "native") == 0


def signatures_and_documentation_stay():
    before = (str(inspect.signature(c.noargs)), c.noargs.__doc__, c.noargs.__text_signature__,
              str(inspect.signature(Thing.noargs)), c.noargs.__name__, c.noargs.__module__)
    _patch()
    assert before == (str(inspect.signature(c.noargs)), c.noargs.__doc__,
                      c.noargs.__text_signature__, str(inspect.signature(Thing.noargs)),
                      c.noargs.__name__, c.noargs.__module__)


def builtin_functions_stay_the_same_dictionary_keys():
    keys = [c.one, c.fast, Thing.of_none, time.sleep, len, Thing.one]
    table = {k: i for i, k in enumerate(keys)}
    hashes = [hash(k) for k in keys]
    pc.patch_module(time, "native")
    _patch()
    for _ in range(2):
        assert [hash(k) for k in keys] == hashes
        assert [k.__hash__() for k in keys] == hashes
        assert [table[k] for k in keys] == list(range(len(keys)))
        assert c.one == c.one_again and c.one.__eq__(c.one_again) is True
        assert c.one != c.fast and c.one != 3 and not c.one == Thing
        pc.disable()
    pc.unpatch_all()
    assert [hash(k) for k in keys] == hashes


def an_entry_reached_twice_is_patched_once():
    assert pc.patch_module(c, "native") > 0
    entries = pc.stats()["entries"]
    pc.patch_module(c, "native")
    assert pc.stats()["entries"] == entries
    _patch()
    assert c.one_again is c.one
    _, spans = _only(c.one_again, 1)
    assert len(spans) == 1


def a_later_call_changes_layer_and_name():
    pc.patch_module(c, "native", names={"one"}, prefix="a")
    pc.patch_module(c, "simulator", names={"one"}, prefix="b")
    pc.enable()
    tape.record(1)
    c.one(1)
    number = tape.tree()[0].number
    assert tape.name(number) == "b.one"
    assert tape.facts(number) == (0, "simulator", 0, "boundary")


def names_choose_by_container_or_predicate():
    assert pc.patch_module(c, "native", names={"one", "fast"}) == 3 - 1
    assert pc.patch_module(c, "native", names=lambda n: n.startswith("fast")) == 2
    try:
        pc.patch_module(c, "native", names=lambda n: 1 // 0)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError
    for bad in ("no layer", 99, -1, 1.5):
        try:
            pc.patch_module(c, bad)
        except (ValueError, TypeError):
            continue
        raise AssertionError(bad)


def read_only_tables_are_left_alone_and_counted():
    before = pc.stats()["read_only"]
    _patch()
    assert c.sealed() == 1
    assert "c.sealed" not in _names()
    assert pc.stats()["read_only"] == before + 1


def restoring_gives_back_every_byte():
    tables = c.table_bytes()
    slot = c.Thing.__getitem__
    counts = sys.getrefcount(c.one), sys.getrefcount(Thing)
    _patch(["mp_subscript", "nb_add"])
    assert c.table_bytes() != tables
    pc.disable()
    assert c.table_bytes() == tables
    pc.enable()
    pc.unpatch_all()
    assert c.table_bytes() == tables
    assert c.Thing.__getitem__ is slot
    gc.collect()
    assert (sys.getrefcount(c.one), sys.getrefcount(Thing)) == counts
    assert pc.stats()["entries"] == 0
    assert _only(c.one, 1) == ((1,), [])
    _patch()
    assert _only(c.one, 1) == ((1,), ["c.one"])


def levels_switch_everything():
    pc.patch_module(c, "native")
    tape.record(1)
    for level, expected in ((0, 0), (1, 1), (2, 1), (3, 1), (0, 0), (3, 1), (0, 0)):
        assert tape.set_level(level) == 0
        assert len(_only(c.one, 1)[1]) == expected, level
        assert pc.stats()["enabled"] == bool(expected)
        assert len([f for f in gc.callbacks if f.__name__ == "crosscut_gc"]) == expected


def nothing_is_written_while_nothing_records():
    pc.patch_module(c, "native")
    pc.enable()
    for i in range(100):
        c.one(i)
    assert tape.words() == 0


def an_operation_stands_around_its_entry():
    _patch()
    assert pc.set_operation(c, "call_back", "backward", waits=True)
    assert pc.set_operation(Thing, "noargs", "other")
    assert not pc.set_operation(c, "no_such_function", "x")
    assert not pc.set_operation(time, "sleep", "x")
    c.call_back(c.one, 1)
    Thing().noargs()
    try:
        c.call_back(c.raises, ValueError)
    except ValueError:
        pass
    assert repr(tape.tree()) == ("[backward[c.call_back[c.one]], other[Thing.noargs], "
                                 "backward[c.call_back[c.raises]]]")
    operation = tape.tree()[0]
    assert tape.facts(operation.number)[0] == 1
    assert tape.facts(operation.children[0].number) == (0, "native", 1, "boundary")
    pc.set_operation(c, "call_back", None)
    assert _only(c.call_back, c.one, 1)[1] == ["c.call_back", "c.one"]


def collections_are_spans():
    tape.record(1)
    tape.set_level(1)

    class Node:
        def __del__(self):
            c.noargs()

    pc.patch_module(c, "native")
    node = Node()
    node.me = node
    del node
    gc.collect()
    gc.collect(0)
    spans = [s for s in tape.tree() if s.name.startswith("garbage")]
    assert [s.name[-1] for s in spans] == ["2", "0"]
    assert [s.name for s in spans[0].children] == ["_conventions.noargs"]
    assert tape.facts(spans[0].number) == (0, "python", 0, "gc")
    tape.set_level(0)
    assert not [f for f in gc.callbacks if f.__name__ == "crosscut_gc"]


def a_collection_ends_where_it_does_though_another_thread_takes_the_hook_out():
    inside, goes_on = threading.Event(), threading.Event()

    class Node:
        def __del__(self):
            inside.set()
            goes_on.wait()

    def collect():
        node = Node()
        node.me = node
        del node
        gc.collect()
        c.noargs()

    gc.disable()
    pc.patch_module(c, "native")
    tape.record(1)
    tape.set_level(1)
    thread = threading.Thread(target=collect)
    thread.start()
    inside.wait()
    for level in (0, 1, 0, 1):
        tape.set_level(level)
    goes_on.set()
    thread.join()
    tape.set_level(0)
    (spans,) = [spans for spans in tape.trees().values()
                if "_conventions.noargs" in [s.name for s in spans]]
    assert [s.name[:7] for s in spans if s.name.startswith("garbage")] == ["garbage"]
    assert all(s.closed for s in spans)
    assert not [f for f in gc.callbacks if f.__name__ == "crosscut_gc"]


def blocking_builtins_are_idle():
    import queue
    import select
    import socket
    import subprocess

    for module in pc.known_modules():
        if module in sys.modules:
            pc.patch_known(module)
    pc.enable()
    tape.record(1)
    time.sleep(0.001)
    lock = threading.Lock()
    with lock:
        assert not lock.acquire(timeout=0.001)
    condition = threading.Condition()
    with condition:
        def notify():
            with condition:
                condition.notify()
        threading.Thread(target=notify).start()
        condition.wait()
    queue.SimpleQueue().put(1)
    waiting = queue.SimpleQueue()
    waiting.put(1)
    waiting.get()
    a, b = socket.socketpair()
    a.send(b"x")
    select.select([b], [], [], 1)
    poll = select.poll()
    poll.register(b)
    poll.poll(1)
    assert b.recv(1) == b"x"
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    read, write = os.pipe()
    os.write(write, b"y")
    assert os.read(read, 1) == b"y"
    os.close(read), os.close(write)
    layers = {s.name: tape.facts(s.number)[1] for s in tape.flat(tape.tree())}
    for name in ("time.sleep", "threading.Lock.acquire", "threading.Lock.__enter__",
                 "threading.RLock.__enter__", "threading.RLock._acquire_restore",
                 "queue.SimpleQueue.get", "select.select", "select.poll.poll", "socket.recv",
                 "os.waitpid", "os.read"):
        assert layers[name] == "idle", name
    for name in ("os.write", "socket.send"):
        assert layers[name] == "native", name
    assert "native" in (layers.get("subprocess.fork_exec"), layers.get("os.posix_spawn"))


def forked_children_go_on():
    _patch()
    child = os.fork()
    if child == 0:
        ok = c.one(1) == (1,) and Thing().noargs() == 1
        pc.unpatch_all()
        os._exit(0 if ok and c.one(2) == (2,) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def a_daemon_thread_inside_a_native_call_lets_the_process_end():
    _patch()
    started = threading.Event()

    def forever():
        started.set()
        while True:
            c.wait(0.001)

    threading.Thread(target=forever, daemon=True).start()
    started.wait()


def costs_are_measured_and_reported():
    pc.patch_module(c, "native")
    tape.record(1)
    c.one(1)
    words = tape.words()
    tape.calibrate()
    assert tape.words() == words
    costs = {line.split()[1]: list(map(int, line.split()[2:])) for line in tape.log()
             if line.startswith("cost")}
    assert set(costs) == {"boundary", "gc"}
    for inside, outside, low, high, samples in costs.values():
        assert inside >= 0 and outside >= 0 and samples > 0
        assert 0 < inside + outside < 10_000_000 and low <= inside + outside <= high
    assert _only(c.one, 2) == ((2,), [])
    pc.start_calls()
    assert any(line.startswith("cost pycall") for line in tape.log())


def sub_interpreters_are_refused_by_name():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    interpreter = interpreters.create()
    code = (
        "try:\n"
        "    import crosscut._pycalls\n"
        "except ImportError as error:\n"
        "    assert 'interpreter' in str(error), error\n"
        "else:\n"
        "    raise SystemError('not refused')\n"
    )
    failure = interpreters.run_string(interpreter, code)
    assert failure is None, failure
