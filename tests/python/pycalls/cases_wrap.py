"""What wrap() records and what stays as it was: each function runs in a process of its own, in
every interpreter that has a _pycalls (test_pycalls_wrap.py). Its name is what it shows."""

import copy
import ctypes
import gc
import inspect
import os
import pickle
import shutil
import sys
import tempfile
import threading
import types

import crosscut
import python_recorder
import tape

said = []
crosscut._record = python_recorder.stub_record(lambda *line: said.append(line))

import _conventions as c  # noqa: E402

from crosscut import _wrap  # noqa: E402

pc = tape.pc
Thing = c.Thing
FOLDER = os.path.dirname(c.__file__)
FOREIGN = os.path.join(FOLDER, "libforeign.so")


def _begin():
    tape.record(1)
    assert tape.set_level(1) == 0


def _spans():
    return [s for s in tape.flat(tape.tree()) if not s.name.startswith("garbage")]


def _only(function, *args, **kwargs):
    """The result of a call and the names of the spans that it left."""
    before = len(_spans())
    result = function(*args, **kwargs)
    return result, [s.name for s in _spans()[before:]]


def _layer(name):
    (layer,) = {tape.facts(s.number)[1] for s in _spans() if s.name == name}
    return layer


def a_module_with_its_classes_slots_and_properties_is_one_layer():
    assert _wrap.wrap(c, "simulator", None) > 20
    _begin()
    thing = Thing()
    assert _only(c.one, 1) == ((1,), ["_conventions.one"])
    assert _only(thing.noargs) == (1, ["_conventions.Thing.noargs"])
    assert _only(lambda: thing[1]) == (("item", 1), ["_conventions.Thing.__getitem__"])
    assert _only(next, thing) == (2, ["_conventions.Thing.__next__"])
    assert _only(lambda: thing + 4) == (("add", 4), []), "operators tell types apart: left alone"
    assert _layer("_conventions.one") == _layer("_conventions.Thing.__getitem__") == "simulator"
    assert said[-1][2:] == ("on", f"_conventions as simulator: {pc.count_group(1)} functions")


def names_choose_and_mistakes_are_told():
    assert _wrap.wrap("_conventions", "data", "one|noargs") == 4
    _begin()
    assert _only(c.fast, 1)[1] == [] and _only(c.one, 1)[1] == ["_conventions.one"]
    for bad, error, word in ((("_conventions", "games", None), ValueError, "games"),
                             (("_conventions", "data", "("), ValueError, "regular expression"),
                             (("no_such_module", "data", None), ImportError, "no_such_module")):
        try:
            _wrap.wrap(*bad)
        except error as problem:
            assert word in str(problem), problem
        else:
            raise AssertionError(bad)
    assert len(_wrap._wraps) == 1


def unwrapping_gives_back_every_byte_and_every_reference():
    tables = c.table_bytes()
    item, counts = Thing.__getitem__, (sys.getrefcount(c.one), sys.getrefcount(Thing))
    _begin()
    count = _wrap.wrap(c, "simulator", None)
    _wrap.wrap(Thing, "data", "noargs")
    assert c.table_bytes() != tables
    assert _wrap.unwrap("_conventions") == count
    assert _only(Thing().noargs)[1] == ["_conventions.Thing.noargs"] and _layer(
        "_conventions.Thing.noargs") == "data"
    assert _only(c.one, 1)[1] == []
    assert _wrap.unwrap() == 1 and _wrap.unwrap() == 0
    assert c.table_bytes() == tables and Thing.__getitem__ is item
    assert _only(lambda: Thing()[1])[1] == []
    gc.collect()
    assert (sys.getrefcount(c.one), sys.getrefcount(Thing)) == counts
    assert pc.stats()["entries"] == 0 and pc.stats()["foreign"] == 0
    for _ in range(3):
        _wrap.wrap(c, "simulator", None)
        _wrap.unwrap(c)
    assert c.table_bytes() == tables and pc.stats()["full"] == 0


def wrapping_again_while_it_records_changes_everything():
    count = _wrap.wrap(Thing, "simulator", None)
    _begin()
    assert _wrap.wrap(Thing, "data", None) == count
    Thing()[1]
    assert _layer("_conventions.Thing.__getitem__") == "data"
    assert len(_wrap._wraps) == 2 and _wrap.unwrap(Thing) == 2 * count
    assert pc.stats()["entries"] == 0


def unwrapping_gives_a_known_function_its_layer_back():
    import time

    pc.patch_known("time")
    _begin()
    time.sleep(0)
    assert _layer("time.sleep") == "idle"
    _wrap.wrap(time.sleep, "comm", None)
    pc.patch_known("time")  # imported again: what the user asked for stays
    before = len(_spans())
    time.sleep(0)
    assert tape.facts(_spans()[before].number)[1] == "comm"
    assert _wrap.unwrap(time.sleep) == 1
    before = len(_spans())
    time.sleep(0)
    assert tape.facts(_spans()[before].number)[1] == "idle"


def a_class_and_an_object_stand_for_their_methods():
    class Sub(Thing):
        pass

    assert _wrap.wrap(Sub, "simulator", "noargs|one") == 2
    _begin()
    assert _only(Sub().noargs) == (1, ["_conventions.Thing.noargs"])
    _wrap.unwrap(Sub)
    thing = Thing()
    assert _wrap.wrap(thing, "simulator", "one") == 1
    assert _only(thing.one, 2) == ((2,), ["_conventions.Thing.one"])
    assert _wrap.unwrap(thing) == 1 and _only(thing.one, 2) == ((2,), [])
    assert _wrap.wrap(thing.one, "simulator", None) == 1
    assert _only(thing.one, 2) == ((2,), ["_conventions.Thing.one"])
    assert _wrap.wrap(lambda: 0, "simulator", None) == 0
    assert _wrap.wrap(3, "simulator", None) == 0


def subclasses_made_later_copy_and_give_back_their_slots():
    _wrap.wrap(Thing, "simulator", None)
    _begin()

    class Late(Thing):
        pass

    assert _only(lambda: Late()[1]) == (("item", 1), ["_conventions.Thing.__getitem__"])
    _wrap.unwrap()

    class Later(Thing):
        pass

    assert _only(lambda: (Late()[1], Later()[1])) == ((("item", 1), ("item", 1)), [])


def identity_pickling_signatures_and_hashes_stay():
    def facts():
        return (c.one, Thing.one, hash(c.one), str(inspect.signature(c.noargs)), c.noargs.__doc__,
                str(inspect.signature(Thing.noargs)), Thing.noargs.__doc__, c.one.__module__,
                {c.one: 1}[c.one], c.one == c.one_again, isinstance(Thing(), Thing))

    before = facts()
    _wrap.wrap(c, "simulator", None)
    _begin()
    assert facts() == before
    thing = Thing()
    assert pickle.loads(pickle.dumps(c.one)) is c.one
    assert isinstance(pickle.loads(pickle.dumps(thing)), Thing)
    assert isinstance(copy.copy(thing), Thing) and isinstance(copy.deepcopy(thing), Thing)


def python_called_back_is_told_apart_from_native_code():
    def back(x):
        return inner(x), c.one(x)

    def inner(x):
        return x

    _wrap.wrap(c, "simulator", None)
    _begin()
    assert c.call_back(back, 1) == (1, (1,))
    assert repr(tape.tree()) == "[_conventions.call_back[callback[_conventions.one]]]"
    assert _layer("callback") == "python"
    c.call_back(c.one, 1)
    assert repr(tape.tree()[-1]) == "_conventions.call_back[_conventions.one]"

    def down(n):
        return c.call_back(down, n - 1) if n else "bottom"

    assert down(50) == "bottom"
    assert sum(s.name == "callback" for s in _spans()) == 1 + 50
    tape.set_level(0)
    before = tape.words()
    assert c.call_back(back, 1) == (1, (1,)) and tape.words() == before


def exceptions_and_generators_pass_through_callbacks():
    def fail(x):
        raise KeyError(x)

    def numbers():
        yield 1
        yield 2

    _wrap.wrap(c, "simulator", None)
    _begin()
    for _ in range(3):
        try:
            c.call_back(fail, 7)
        except KeyError as error:
            assert error.args == (7,)
        else:
            raise AssertionError
    running = numbers()
    assert c.call_back(next, running) == 1 and next(running) == 2
    assert c.call_back(lambda: [x for x in numbers()]) == [1, 2]
    assert tape.all_closed()

    def deep(n):
        return deep(n - 1) + 1 if n else 0

    sys.setrecursionlimit(12000)
    assert c.call_back(deep, 10000) == 10000, "below a callback Python runs as it ever did"


def a_callback_that_switches_recording_off_and_on_leaves_its_thread_right():
    _wrap.wrap(c, "simulator", None)
    _begin()
    for level in (0, 1):
        c.call_back(tape.set_level, level)
        c.call_back(lambda: tape.set_level(level))
    tape.set_level(1)
    assert _only(lambda: (lambda: 1)())[1] == []
    assert _only(c.call_back, lambda: 1)[1] == ["_conventions.call_back", "callback"]


def threads_and_forks_are_told_apart():
    _wrap.wrap(c, "simulator", None)
    _begin()
    stop = threading.Event()

    def outside():
        while not stop.is_set():
            (lambda: sum(range(100)))()

    def inside():
        for _ in range(50):
            c.call_back(lambda: c.wait(0.0001))

    threads = [threading.Thread(target=inside) for _ in range(3)]
    other = threading.Thread(target=outside)
    for t in (other, *threads):
        t.start()
    for t in threads:
        t.join()
    stop.set()
    other.join()
    every = tape.trees()
    assert every and all(tape.all_closed(spans) for spans in every.values())
    assert tape.count("callback") == tape.count("_conventions.call_back") == 150
    assert tape.count("_conventions.wait") == 150

    def forks():
        child = os.fork()
        if child == 0:
            ok = c.call_back(lambda: 5) == 5
            os._exit(0 if ok else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert c.call_back(forks) == 0
    before = tape.count("callback")
    c.on_foreign_thread(lambda: 1)
    assert tape.count("callback") == before, "that thread is in no native call of its own"


def somebody_elses_evaluation_is_left_alone():
    python = ctypes.pythonapi
    python.PyInterpreterState_Main.restype = ctypes.c_void_p
    get, put = (getattr(python, f"_PyInterpreterState_{word}EvalFrameFunc")
                for word in ("Get", "Set"))
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    put.restype, put.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p]
    main = python.PyInterpreterState_Main()
    usual = get(main)
    _wrap.wrap(c, "simulator", None)
    _begin()
    seen = []
    assert c.call_back(lambda: seen.append(get(main))) is None and seen == [usual]
    theirs = _their_evaluation()
    c.call_back(lambda: put(main, theirs))
    assert get(main) == theirs
    before = tape.count("callback")
    assert c.call_back(lambda: 3) == 3 and tape.count("callback") == before
    assert get(main) == theirs
    put(main, usual)
    assert _only(c.call_back, lambda: 3)[1] == ["_conventions.call_back", "callback"]


def _their_evaluation():
    """An evaluation that does what CPython's does."""
    library = ctypes.CDLL(FOREIGN)
    return ctypes.cast(library.crosscut_test_evaluate, ctypes.c_void_p).value


def functions_of_a_ctypes_library_are_spans_of_their_own():
    library, other = ctypes.CDLL(FOREIGN), ctypes.CDLL(FOREIGN)
    library.add(1, 2)
    assert _wrap.wrap(library, "simulator", "add|mixed|each") == 3
    _begin()
    library.mixed.restype = ctypes.c_double
    library.mixed.argtypes = [ctypes.c_double, ctypes.c_int, ctypes.c_double, ctypes.c_long,
                              ctypes.c_double]
    assert _only(library.add, 1, 2) == (3, ["libforeign.add"])
    assert _only(library.mixed, .5, 1, .5, 2, .5) == (4.5, ["libforeign.mixed"])
    assert _only(other.add, 1, 2) == (3, []), "another object for the same file"
    assert _layer("libforeign.add") == "simulator"
    assert _only(ctypes.CDLL(None).getpid)[1] == []
    add = library.add
    assert _wrap.unwrap(library) == 2
    assert _only(add, 1, 2) == (3, []) and pc.stats()["entries"] == 0


def functions_that_threads_call_while_another_is_named_are_recorded():
    one, other = ctypes.CDLL(FOREIGN), ctypes.CDLL(FOREIGN)
    _wrap.wrap("libforeign.so", "data", None)
    _begin()
    add, belongs = one.add, _wrap._belongs

    def belongs_meanwhile(function, *arguments):
        if function is add:
            beside = threading.Thread(target=other.add, args=(1, 2))
            beside.start()
            beside.join()
        return belongs(function, *arguments)

    _wrap._belongs = belongs_meanwhile
    assert add(1, 2) == 3
    assert tape.count("libforeign.add") == 2


def callbacks_of_ctypes_functions_end_the_native_slice():
    library = ctypes.CDLL(FOREIGN)
    Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    _wrap.wrap(library.each, "simulator", None)
    _begin()
    assert library.each(Callback(lambda i: i * 2), 3) == 6
    assert repr(tape.tree()) == "[libforeign.each[callback, callback, callback]]"


def a_library_is_wrapped_by_name_whenever_it_is_loaded():
    _wrap.wrap("libforeign.so", "data", None)
    _begin()
    library = ctypes.CDLL(FOREIGN)
    assert _only(library.add, 2, 3) == (5, ["libforeign.add"])
    address = ctypes.cast(library.add, ctypes.c_void_p).value
    typed = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
    assert _only(typed(address), 2, 3) == (5, ["libforeign.add"])
    assert _only(typed(("add", library)), 2, 3) == (5, ["libforeign.add"])
    assert _layer("libforeign.add") == "data"
    for _ in range(3):  # the same address may be another function next time
        ctypes.CDLL(FOREIGN).each
        gc.collect()
        assert _only(ctypes.CDLL(None).getpid)[1] == []
    assert _wrap.unwrap("libforeign.so") >= 1
    assert _only(library.add, 2, 3) == (5, [])
    assert _wrap.wrap(FOREIGN, "data", "add") == 1
    assert _only(library.add, 2, 3) == (5, ["libforeign.add"])
    assert _only(library.each, None, 0) == (0, [])


def ctypes_objects_stay_what_they_are():
    def facts(library):
        add = library.add
        return (add is library.add, add.__name__, type(add).__mro__[1:], repr(type(add)),
                ctypes.cast(add, ctypes.c_void_p).value, add.restype, library._name,
                isinstance(add, ctypes._CFuncPtr), type(add) is library._FuncPtr)

    library = ctypes.CDLL(FOREIGN)
    before = facts(library)
    _wrap.wrap(library, "simulator", None)
    _begin()
    assert facts(library) == before and library.add(1, 2) == 3
    try:
        pickle.dumps(library.add)
    except (ValueError, pickle.PicklingError, AttributeError, TypeError):
        pass
    else:
        raise AssertionError("ctypes does not pickle functions")
    try:
        library.no_such_function
    except AttributeError:
        pass
    else:
        raise AssertionError
    library.add.argtypes = [ctypes.c_int, ctypes.c_int]
    try:
        library.add("x", 1)
    except ctypes.ArgumentError:
        pass
    spans = list(_spans())
    assert spans and all(s.closed for s in spans)


def nothing_in_a_module_is_asked_when_its_libraries_are_looked_for():
    asked = []

    class Proxy:  # as of web frameworks, outside of a request
        @property
        def __class__(self):
            raise RuntimeError("asked")

    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            asked.append(name)
            return object.__getattribute__(self, name)

    class Bare:
        __slots__ = ()

    module = types.ModuleType("foreign")
    module.library, module.proxy = ctypes.CDLL(FOREIGN), Proxy()
    module.Class = type("Class", (), {"__module__": "foreign", "library": ctypes.CDLL(FOREIGN)})
    sys.modules.update({"foreign": module, "foreign.bare": Bare(), "foreign.lazy": Lazy("lazy")})
    assert _wrap.wrap(module, "data", "add") == 2  # in each of the two
    _begin()
    asked.clear()
    assert _only(module.library.add, 2, 3) == (5, ["libforeign.add"])
    assert _only(module.Class.library.add, 2, 3) == (5, ["libforeign.add"])
    assert asked == []


def reading_from_a_pipe_is_idle_and_from_a_file_native():
    pc.patch_known("posix")
    _begin()
    read, write = os.pipe()
    os.write(write, b"y")
    assert os.read(read, 1) == b"y"
    with open(FOREIGN, "rb") as file:
        assert len(os.read(file.fileno(), 4)) == 4
    for bad in ((-1, 1), (1 << 70, 1), (), ("x", 1), (read, -1)):
        try:
            os.read(*bad)
        except (OSError, TypeError, OverflowError):
            continue
        raise AssertionError(bad)
    layers = [tape.facts(s.number)[1] for s in _spans() if s.name == "os.read"]
    assert layers[:2] == ["idle", "native"] and len(layers) == 7


def what_the_command_line_asked_for_is_wrapped_when_it_is_imported():
    sys.modules.pop("_conventions")
    _wrap.follow("_conventions:simulator:one|fast\nlibforeign.so:data\nx:games\nnever:native")
    assert said[-1][2] == "failed" and "x:games: layer 'games' is not one of" in said[-1][3]
    import _conventions as again

    _begin()
    assert _only(again.one, 1) == ((1,), ["_conventions.one"])
    assert _only(again.varargs, 1) == ((1,), [])
    assert _only(ctypes.CDLL(FOREIGN).add, 1, 2) == (3, ["libforeign.add"])
    said_last = said[-1][3]
    assert "_conventions as simulator: 4 functions; libforeign.so as data: called; " \
        "never as native: nothing native found yet" in said_last, said_last


def native_modules_of_a_package_are_followed_when_they_come():
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "pack")
        os.mkdir(package)
        open(os.path.join(package, "__init__.py"), "w").close()
        shutil.copy(c.__file__, package)
        sys.path.insert(0, folder)
        _wrap.follow("pack:simulator")
        import pack

        assert "pack as simulator: nothing native found yet" in said[-1][3]
        from pack import _conventions as below
    _begin()
    assert _only(below.one, 1) == ((1,), ["pack._conventions.one"])
    assert _only(c.one, 1) == ((1,), [])
    assert type(below.__spec__.loader).__name__ == "ExtensionFileLoader"
    assert _wrap.unwrap("pack") == 11 and _only(below.one, 1) == ((1,), [])
    assert _wrap.wrap(pack, "data", None) == 11, "what is below it now"


def _functions_of_a_cffi_library_are_spans_of_their_own():
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("int add(int, int); double mixed(double, int, double, long, double);"
             "int each(int (*)(int), int);")
    library = ffi.dlopen(FOREIGN)
    add = library.add
    text = repr(add), ffi.typeof(add), hash(add)
    _wrap.wrap(library, "simulator", None)
    _begin()
    assert _only(library.add, 1, 2) == (3, ["libforeign.add"])
    assert _only(library.mixed, .5, 1, .5, 2, .5) == (4.5, ["libforeign.mixed"])
    assert library.add is add and (repr(add), ffi.typeof(add), hash(add)) == text
    back = ffi.callback("int(int)", lambda i: i * 2)
    assert _only(library.each, back, 2) == (2, ["libforeign.each", "callback", "callback"])
    assert _wrap.unwrap(library) == 3 and _only(add, 1, 2) == (3, [])
    _wrap.wrap("libforeign.so", "data", "add")
    assert _only(ffi.dlopen(FOREIGN).add, 1, 2) == (3, ["libforeign.add"])
