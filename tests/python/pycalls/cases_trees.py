"""Whole trees at level `calls`, each compared with what the program does: who called whom and from
which line. Each function runs in a process of its own, in every interpreter that has a _pycalls.

A tree is written as its calls, indented, with the source of the calling line behind "<-".
"""

import functools
import gc
import linecache
import sys
import textwrap
import threading
import trace
import types

import _conventions as c
import tape

pc = tape.pc


def _start():
    pc.patch_module(c, "native", prefix="c")
    assert pc.start_calls()
    gc.disable()
    tape.record(1)
    assert tape.set_level(3) == 0


_stop = functools.partial(tape.set_level, 0)  # no Python frame of its own


def _bare(span):
    """The function's own name: code objects before 3.11 know no qualified one."""
    name, _, place = span.name.partition(" (")
    return name.split(".")[-1] if place else span.name


def _lines(spans, depth=0):
    for span in spans:  # may be empty: of a span without any
        assert span.closed, span
        source = linecache.getline(__file__, span.line).strip() if span.line else ""
        yield "  " * depth + _bare(span) + (f" <- {source}" if source else "")
        yield from _lines(span.children, depth + 1)


def _expect(text, spans=None):
    want = textwrap.dedent(text).strip()
    got = "\n".join(_lines(tape.tree() if spans is None else spans))
    assert got == want, f"\n{got}\n--- expected\n{want}"


def _subtrees(name):
    return [span for spans in tape.trees().values() for span in tape.flat(spans)
            if _bare(span) == name]


def functions_and_the_lines_that_call_them():
    def main():
        first(2)
        return second(first(1))

    def first(n):
        return second(n)

    def second(n):
        return c.one(n)

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          first <- first(2)
            second <- return second(n)
              c.one <- return c.one(n)
          first <- return second(first(1))
            second <- return second(n)
              c.one <- return c.one(n)
          second <- return second(first(1))
            c.one <- return c.one(n)
    """)


def generators():
    def numbers():
        try:
            yield leaf()
            yield from inner()
        finally:
            leaf()

    def inner():
        yield 2
        leaf()

    def leaf():
        return 1

    def main():
        for _ in numbers():
            leaf()
        early = numbers()
        next(early)
        early.close()

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          numbers <- for _ in numbers():
            leaf <- yield leaf()
          leaf <- leaf()
          numbers <- for _ in numbers():
            inner <- yield from inner()
          leaf <- leaf()
          numbers <- for _ in numbers():
            inner <- yield from inner()
              leaf <- leaf()
            leaf <- leaf()
          numbers <- next(early)
            leaf <- yield leaf()
          numbers <- early.close()
            leaf <- leaf()
    """)


def exceptions_thrown_into_generators():
    def numbers():
        try:
            yield 1
        except KeyError:
            yield leaf()

    def leaf():
        return 2

    def main():
        running = numbers()
        next(running)
        running.throw(KeyError())
        leaf()
        running.close()

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          numbers <- next(running)
          numbers <- running.throw(KeyError())
            leaf <- yield leaf()
          leaf <- leaf()
          numbers <- running.close()
    """)


def coroutines():
    @types.coroutine
    def pause():
        yield

    async def inner(n):
        await pause()
        return leaf(n)

    async def outer():
        await inner(1)
        return await inner(2)

    def leaf(n):
        return n

    def main():
        running = outer()
        running.send(None)
        leaf(0)
        running.send(None)
        try:
            running.send(None)
        except StopIteration as done:
            leaf(done.value)

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          outer <- running.send(None)
            inner <- await inner(1)
              pause <- await pause()
          leaf <- leaf(0)
          outer <- running.send(None)
            inner <- await inner(1)
              pause <- await pause()
              leaf <- return leaf(n)
            inner <- return await inner(2)
              pause <- await pause()
          outer <- running.send(None)
            inner <- return await inner(2)
              pause <- await pause()
              leaf <- return leaf(n)
          leaf <- leaf(done.value)
    """)


def exceptions():
    def fails(n):
        if n == 0:
            raise KeyError
        try:
            fails(n - 1)
        finally:
            cleans()

    def cleans():
        pass

    def main():
        try:
            fails(2)
        except KeyError:
            cleans()
        c.call_back(fails, 0)

    _start()
    try:
        main()
    except KeyError:
        pass
    _stop()
    _expect("""
        main <- main()
          fails <- fails(2)
            fails <- fails(n - 1)
              fails <- fails(n - 1)
              cleans <- cleans()
            cleans <- cleans()
          cleans <- cleans()
          c.call_back <- c.call_back(fails, 0)
            fails <- c.call_back(fails, 0)
    """)


def recursion():
    def fibonacci(n):
        if n < 2:
            return n
        before = fibonacci(n - 2)
        return before + fibonacci(n - 1)

    def main():
        assert fibonacci(3) == 2

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          fibonacci <- assert fibonacci(3) == 2
            fibonacci <- before = fibonacci(n - 2)
            fibonacci <- return before + fibonacci(n - 1)
              fibonacci <- before = fibonacci(n - 2)
              fibonacci <- return before + fibonacci(n - 1)
    """)


def native_functions_that_call_back():
    class Weight:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            return compare(self, other)

    def compare(a, b):
        return a.n < b.n

    def key(n):
        return c.one(-n)

    def main():
        assert sorted([1, 2], key=key) == [2, 1]
        max(map(key, [3]))
        heavy = Weight(2)
        return heavy < Weight(1)

    _start()
    main()
    _stop()
    _expect("""
        main <- main()
          key <- assert sorted([1, 2], key=key) == [2, 1]
            c.one <- return c.one(-n)
          key <- assert sorted([1, 2], key=key) == [2, 1]
            c.one <- return c.one(-n)
          key <- max(map(key, [3]))
            c.one <- return c.one(-n)
          __init__ <- heavy = Weight(2)
          __init__ <- return heavy < Weight(1)
          __lt__ <- return heavy < Weight(1)
            compare <- return compare(self, other)
    """)


def threads_that_start_later():
    def work(n):
        leaf()
        return c.one(n)

    def leaf():
        pass

    def main():
        threads = []
        for n in range(3):
            threads.append(threading.Thread(target=work, args=(n,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _start()
    main()
    _stop()
    found = _subtrees("work")
    assert len(found) == 3, tape.trees()
    for span in found:
        span.line = 0  # of threading.py
        _expect("""
            work
              leaf <- leaf()
              c.one <- return c.one(n)
        """, [span])
    threads = {t for t, spans in tape.trees().items()
               if any(_bare(s) == "work" for s in tape.flat(spans))}
    assert len(threads) == 3 and 0 not in threads
    for thread in threads:  # all else of them is the library's
        ours = [s for s in tape.flat(tape.tree(thread)) if "cases_trees.py" in s.name]
        assert [_bare(s) for s in ours] == ["work", "leaf"], tape.tree(thread)


def garbage_collections():
    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            leaf()

    def leaf():
        pass

    def main():
        Cycle()
        gc.collect(1)
        leaf()

    _start()
    main()
    _stop()
    # The finalizer is called by the collector, which main called.
    _expect("""
        main <- main()
          __init__ <- Cycle()
          garbage collection, generation 1
            __del__ <- gc.collect(1)
              leaf <- leaf()
          leaf <- leaf()
    """)


def _traced():
    def main():
        leaf()
        return c.call_back(leaf, 1)

    def leaf(n=0):
        n += 1
        return n

    return main


_TRACED = """
    main <- main()
      leaf <- leaf()
      c.call_back <- return c.call_back(leaf, 1)
        leaf <- return c.call_back(leaf, 1)
"""


def a_trace_function_at_work_at_the_same_time():
    events = []

    def tracer(frame, event, argument):
        events.append((frame.f_code.co_name, event))
        return tracer

    main = _traced()
    _start()
    sys.settrace(tracer)
    main()
    sys.settrace(None)
    _stop()
    _expect(_TRACED)
    assert [e for e in events if e[1] == "call"] == [
        ("main", "call"), ("leaf", "call"), ("leaf", "call")]
    assert sum(e == ("leaf", "line") for e in events) == 4


def coverage_at_work_at_the_same_time():
    main = _traced()
    measures = trace.Trace(count=1, trace=0)
    _start()
    measures.runfunc(main)
    _stop()
    [span] = _subtrees("main")
    span.line = 0  # of trace.py
    _expect(_TRACED.replace("main <- main()", "main"), [span])
    first = main.__code__.co_firstlineno
    counts = {line - first: n for (file, line), n in measures.results().counts.items()
              if file == __file__}
    assert counts == {1: 1, 2: 1, 5: 2, 6: 2}, counts


def code_of_one_name_has_lines_of_its_own():
    def leaf():
        pass

    def make(blanks):
        names = {"leaf": leaf}
        source = "def call():\n" + "    0\n" * blanks + "    leaf()\n"
        exec(compile(source, "<made>", "exec"), names)
        return names["call"]

    first, second = make(0), make(3)
    _start()
    for _ in range(2):
        first()
        second()
    _stop()
    lines = [span.children[0].line for span in tape.tree()]
    assert lines == [2, 5, 2, 5], lines


def places_without_number_keep_their_names():
    """There is room for 32,768 places; calls from more are recorded without their line."""
    def leaf():
        pass

    names = {"leaf": leaf}
    count = 33_000
    for n in range(0, count, 1000):
        exec(f"def calls_{n}():\n" + "    leaf()\n" * 1000, names)
    _start()
    for n in range(0, count, 1000):
        names[f"calls_{n}"]()
    _stop()
    leaves = [s for s in tape.flat(tape.tree()) if _bare(s) == "leaf"]
    assert len(leaves) == count
    # Some places are those of calls_0 to calls_32000 and of what is around this function.
    assert 0 <= sum(s.line == 0 for s in leaves) - (count - 32768) < 50
