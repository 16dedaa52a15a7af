"""Operations, steps and sessions from Python, at their edges, as the tables show them."""

import os
import pathlib
import pickle
import subprocess
import sys

import crosscut
import pytest
from recording import PACKAGE, environment


def operations(folder, body, flags=()):
    """Runs `body` inside a session; {operation: count} of the run's tables."""
    script = folder / "program.py"
    script.write_text("import crosscut, sys, threading, asyncio\n"
                      "from crosscut import _record, operation\n"
                      f"assert crosscut.start({str(folder / 'run')!r}, python='off'), "
                      "crosscut.error()\n" + body)
    subprocess.run([sys.executable, *flags, script], check=True, timeout=60,
                   env=environment(PYTHONPATH=str(PACKAGE.parent)))
    table = crosscut.read(folder / "run").table("operations")
    return {row["operation"]: row["count"] for row in table.rows() if row["operation"]}


def test_operations_nest_and_repeat(tmp_path):
    counts = operations(tmp_path, (
        "for _ in range(3):\n"
        "    with operation('outer'):\n"
        "        with operation('inner'): pass\n"
        "        with operation('outer'): pass\n"))
    assert counts == {"outer": 6, "inner": 3}


def test_an_exception_closes_and_passes(tmp_path):
    assert operations(tmp_path, (
        "try:\n"
        "    with operation('fails'): raise KeyError('x')\n"
        "except KeyError: pass\n"
        "assert _record.open_depth() == 0\n")) == {"fails": 1}


def test_exits_out_of_order_leave_what_is_above_open(tmp_path):
    assert operations(tmp_path, (
        "a, b = operation('a'), operation('b')\n"
        "a.__enter__(); b.__enter__()\n"
        "a.__exit__(None, None, None)\n"
        "assert _record.open_depth() == 1\n"
        "b.__exit__(None, None, None)\n"
        "b.__exit__(None, None, None)\n"
        "with operation('c'): assert _record.open_depth() == 1\n")) == {"a": 1, "b": 1, "c": 1}


def test_an_exit_on_another_thread_closes_it_where_it_was_opened(tmp_path):
    assert operations(tmp_path, (
        "a = operation('a'); a.__enter__()\n"
        "t = threading.Thread(target=a.__exit__, args=(None, None, None)); t.start(); t.join()\n"
        "assert _record.open_depth() == 1\n"
        "with operation('b'): assert _record.open_depth() == 1\n"
        "assert _record.open_depth() == 0\n")) == {"a": 1, "b": 1}


def test_deep_recursion_is_followed(tmp_path):
    assert operations(tmp_path, (
        "def down(n):\n"
        "    with operation('deep'):\n"
        "        if n: down(n - 1)\n"
        "down(499)\n"
        "assert _record.open_depth() == 0\n")) == {"deep": 500}


def test_generators_and_coroutines_are_open_only_while_they_run(tmp_path):
    counts = operations(tmp_path, (
        "@operation('gen')\n"
        "def gen():\n"
        "    try:\n"
        "        got = yield 1\n"
        "        assert got == 'sent'\n"
        "        yield 2\n"
        "    except ValueError: yield 3\n"
        "    return 4\n"
        "g = gen()\n"
        "assert next(g) == 1 and _record.open_depth() == 0\n"
        "assert g.send('sent') == 2\n"
        "assert g.throw(ValueError()) == 3\n"
        "try: next(g)\n"
        "except StopIteration as end: assert end.value == 4\n"
        "@operation('coro')\n"
        "async def coro(n):\n"
        "    assert _record.open_depth() == 1\n"
        "    await asyncio.sleep(0)\n"
        "    assert _record.open_depth() == 1\n"
        "    return n\n"
        "@operation('agen')\n"
        "async def agen():\n"
        "    for i in range(2):\n"
        "        await asyncio.sleep(0)\n"
        "        yield i\n"
        "async def main():\n"
        "    assert await asyncio.gather(coro(1), coro(2)) == [1, 2]\n"
        "    assert [i async for i in agen()] == [0, 1]\n"
        "    assert _record.open_depth() == 0\n"
        "asyncio.run(main())\n"))
    assert counts["gen"] == 4
    assert counts["coro"] == 4
    assert counts["agen"] >= 4


def test_a_scope_around_a_stop_does_not_reach_into_the_next_session(tmp_path):
    assert operations(tmp_path, (
        "with operation('cut'):\n"
        "    crosscut.stop()\n"
        f"    crosscut.start({str(tmp_path / 'run')!r}, python='off')\n"
        "    with operation('later'): pass\n"
        "assert _record.open_depth() == 0\n"))["later"] == 1


def test_a_run_that_was_removed_is_made_anew_and_every_run_tells_its_sources(tmp_path):
    first, second = tmp_path / "run", tmp_path / "second"
    assert operations(tmp_path, (
        "import shutil\n"
        f"rings = lambda: len(list(__import__('pathlib').Path('/dev/shm').glob("
        "f'crosscut-*-{__import__(\"os\").getpid()}-*')))\n"
        "_record.source_state('mine', '1.0', 'missing', 'for a test')\n"
        "for run in (1, 2, 3):\n"
        "    crosscut.stop()\n"
        f"    shutil.rmtree({str(first)!r})\n"
        f"    assert crosscut.start({str(first)!r}, python='off'), crosscut.error()\n"
        "    assert rings() == 1\n"
        "    with operation(f'run {run}'): pass\n"
        "crosscut.stop()\n"
        f"assert crosscut.start({str(second)!r}, python='off')\n"))["run 3"] == 1
    for run in (first, second):
        states = [(row["name"], row["state"]) for row in crosscut.read(run).table("sources").rows()]
        assert ("mine", "missing") in states


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)",
                                 "__import__('os').kill(__import__('os').getpid(), 9)"])
def test_a_program_that_records_itself_leaves_nothing_in_memory_once_it_was_read(tmp_path, end):
    script = tmp_path / "program.py"
    script.write_text("import crosscut, sys\n"
                      f"assert crosscut.start({str(tmp_path / 'run')!r}, python='off')\n"
                      "with crosscut.operation('a'): pass\n" + end)
    child = subprocess.Popen([sys.executable, script],
                             env=environment(PYTHONPATH=str(PACKAGE.parent)))
    child.wait(60)
    rings = pathlib.Path("/dev/shm")
    assert len(list(rings.glob(f"crosscut-*-{child.pid}-*"))) == 1
    rows = list(crosscut.read(tmp_path / "run").table("operations").rows())
    assert [row["count"] for row in rows if row["operation"] == "a"] == [1]
    assert not list(rings.glob(f"crosscut-*-{child.pid}-*"))


def test_forked_children_forget_what_their_parent_has_open(tmp_path):
    counts = operations(tmp_path, (
        "import os\n"
        "with operation('parent'):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        assert _record.open_depth() == 0 and crosscut.active()\n"
        "        with operation('child'): pass\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"))
    assert len(list((tmp_path / "run").glob("*.crosscut"))) == 2
    assert set(counts) == {"parent", "child"}


def test_every_thread_keeps_its_own(tmp_path):
    assert operations(tmp_path, (
        "def work():\n"
        "    for _ in range(200):\n"
        "        with operation('work'): pass\n"
        "    assert _record.open_depth() == 0\n"
        "with operation('main'):\n"
        "    threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "    [t.start() for t in threads]; [t.join() for t in threads]\n"))["main"] == 1


def test_steps_are_counted_from_zero(tmp_path):
    operations(tmp_path, "assert [crosscut.step() for _ in range(3)] == [0, 1, 2]\n"
                         "crosscut.phase('train'); crosscut.process_name('me')\n"
                         "crosscut.instant('here'); crosscut.counter('loss', 3.7)\n")
    run = crosscut.read(tmp_path / "run")
    assert len(run.table("steps")) == 3
    assert run.table("processes")["name"] == ["me"]


def test_decorated_functions_stay_what_they_are():
    import inspect

    @crosscut.operation("f")
    def f(a, b=2):
        """Words."""
        return a + b

    @crosscut.operation("c")
    async def c():
        pass

    class Thing:
        @crosscut.operation("m")
        def m(self):
            return self

        @crosscut.operation("s")
        @staticmethod
        def s():
            return 5

    @crosscut.operation
    def bare():
        return 6

    assert f(1) == 3 and f.__doc__ == "Words."
    assert str(inspect.signature(f)) == "(a, b=2)"
    assert inspect.iscoroutinefunction(c)
    thing = Thing()
    assert thing.m() is thing and Thing.s() == 5 and bare() == 6
    assert pickle.loads(pickle.dumps(crosscut.operation("x"))) is crosscut.operation("x")


@pytest.mark.parametrize("call", [lambda: crosscut.operation(), lambda: crosscut.counter("a"),
                                  lambda: crosscut.operation("a", "b"),
                                  lambda: crosscut.operation("a")(int),
                                  lambda: crosscut.step("a", "b")])
def test_wrong_numbers_of_arguments_and_what_cannot_be_decorated_raise_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_without_a_session_nothing_is_kept_and_nothing_is_made(tmp_path):
    code = ("import crosscut, os\n"
            "with crosscut.operation('x'): assert crosscut._record.open_depth() == 0\n"
            "assert crosscut.step() == 0 and not crosscut.active() and not crosscut.stop()\n"
            "print(os.listdir('.'))\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, text=True,
                          capture_output=True, env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert done.stdout == "[]\n"


def test_a_folder_that_cannot_be_made_is_told_and_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    assert crosscut.start(tmp_path / "file" / "run") is False
    assert "run directory" in crosscut.error()


def test_schedules_skip_warm_up_and_repeat():
    plan = crosscut.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    assert [plan.action(step) for step in range(10)] == [
        "skip", "skip", "warmup", "record", "record", "skip", "warmup", "record", "record", "done"]
    with pytest.raises(ValueError):
        crosscut.schedule(active=0)


def test_names_of_every_kind_are_kept(tmp_path):
    names = ["quote\"", "tab\t", "ümlaut", "漢字", "x" * 1000, "\ud800"]
    counts = operations(tmp_path, f"for name in {names!a}:\n    with operation(name): pass\n")
    assert set(counts) == {*names[:-1], "?"}


def test_tables_go_to_polars_and_pandas_and_rows(tmp_path):
    operations(tmp_path, "with operation('a'): pass\n")
    table = crosscut.read(tmp_path / "run").table("operations")
    rows = list(table.rows())
    import polars

    frame = table.to_polars()
    assert frame.columns == table.columns
    assert frame["operation"].to_list() == [row["operation"] for row in rows]
    assert frame["wall_ns"].dtype == polars.Int64
    pandas = table.to_pandas()
    assert list(pandas["wall_ns"]) == [row["wall_ns"] for row in rows]
    assert list(table) == rows and "wall_ns" in table and "no_column" not in table
    with pytest.raises(TypeError, match=r"rows\(\)"):
        table[0]


def test_a_column_has_its_type_in_pandas_whatever_its_cells(tmp_path):
    operations(tmp_path, "with operation('a'): pass\n")
    run = crosscut.read(tmp_path / "run")
    lengths = set()
    assert run.tables()
    for name in run.tables():
        table = run.table(name)
        frame = table.to_pandas()
        lengths.add(len(table))
        kinds = list(zip(table.columns, table._table.numbers, table._table.integers))
        assert kinds
        for column, number, integer in kinds:
            missing = None in table[column]
            want = ("Int64" if missing else "int64") if integer else "float64" if number else None
            assert want is None or frame[column].dtype == want, (name, column)
    assert {0, 1} <= lengths  # also where there are no rows


@pytest.mark.parametrize("start", ["start('')", "session('').__enter__()"])
def test_an_empty_path_is_no_path(tmp_path, start):
    code = f"import crosscut; crosscut.{start}; print(crosscut.run_dir()); crosscut.stop()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, check=True,
                          capture_output=True)
    assert pathlib.Path(done.stdout.strip()).parent.name == "crosscut-runs"
    assert not (tmp_path / "run.json").exists()


def test_what_is_not_there_raises_what_fits(tmp_path):
    with pytest.raises(FileNotFoundError):
        crosscut.read(tmp_path / "absent")
    operations(tmp_path, "pass\n")
    with pytest.raises(KeyError, match="tables"):
        crosscut.read(tmp_path / "run").table("no such table")
    assert "overlap" in crosscut.read(os.fspath(tmp_path / "run")).tables()
