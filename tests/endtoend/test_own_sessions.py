"""`with crosscut.session(...)`: where its runs lie, and that each is a run of its own."""

import os
import re
import subprocess
import sys

import pytest

import crosscut
from crosscut import reading
from runs import PACKAGE, record_script


def run_python(folder, code, **env):
    """The stdout of a program that records itself, and its stderr."""
    variables = {key: value for key, value in os.environ.items()
                 if not key.startswith("CROSSCUT_")}
    done = subprocess.run([sys.executable, "-c", "import crosscut\n" + code], cwd=folder,
                          capture_output=True, text=True, timeout=300,
                          env={**variables, "PYTHONPATH": str(PACKAGE), **env})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def operations(run):
    return set(crosscut.read(run).table("operations")["operation"]) - {""}


ONE = """
def one(name, **options):
    with crosscut.session(*([name] if name else []), plan="full", **options) as s:
        with crosscut.operation(f"work{len(paths)}"): pass
    paths.append(s.path)
    return s
paths = []
"""


def test_each_session_of_a_name_is_a_run_of_its_own(tmp_path):
    out, said = run_python(tmp_path, ONE + "for _ in range(3): one('run')\nprint(*paths)\n")
    assert out.split() == ["run", "run-2", "run-3"]
    assert [operations(tmp_path / name) for name in out.split()] == [{"work0"}, {"work1"},
                                                                     {"work2"}]
    assert "run holds a recording already; this one goes to run-2" in said
    out, _ = run_python(tmp_path, ONE + "one('run')\nprint(*paths)")  # another process, later
    assert out.split() == ["run-4"] and operations(tmp_path / "run") == {"work0"}


def test_sessions_at_once_in_many_processes_take_folders_of_their_own(tmp_path):
    code = ONE + "import time\none('run')\nprint(*paths)"
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    started = [subprocess.Popen([sys.executable, "-c", "import crosscut\n" + code], cwd=tmp_path,
                                stdout=subprocess.PIPE, text=True, env=variables)
               for _ in range(6)]
    paths = [process.communicate(timeout=300)[0].strip() for process in started]
    assert sorted(paths) == ["run", "run-2", "run-3", "run-4", "run-5", "run-6"]
    for path in paths:
        assert len(crosscut.read(tmp_path / path).table("processes")) == 1


def test_without_a_name_runs_lie_where_record_puts_them(tmp_path):
    out, said = run_python(tmp_path, ONE + "one(None); one(None)\nprint(*paths)\n")
    first, second = out.split()
    assert re.fullmatch(r"crosscut-runs/python-\d{8}-\d{6}-\d+", first)
    assert first != second and operations(tmp_path / second) == {"work1"} and said == ""
    code = "assert crosscut.start(); print(crosscut.run_dir())"
    assert "crosscut-runs/python-" in run_python(tmp_path, code)[0]


def test_the_folders_above_a_run_are_made(tmp_path):
    out, _ = run_python(tmp_path, ONE + "one('deep/er/run')\nprint(*paths)\n"
                        "assert crosscut.start('deeper/run')")
    assert out.split() == ["deep/er/run"] and operations(tmp_path / "deep/er/run") == {"work0"}
    assert (tmp_path / "deeper" / "run" / "run.json").exists()


def test_a_folder_without_a_run_is_used_as_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    out, _ = run_python(tmp_path, ONE + "one('mine')\nprint(*paths)")
    assert out.split() == ["mine"] and (tmp_path / "mine" / "notes.txt").exists()


def test_its_run_is_there_after_the_end_and_shows_itself(tmp_path):
    out, _ = run_python(tmp_path, ONE + """
s = one("run")
print(len(s.run.table("operations")), s.run is s.run, s, "srcdoc" in s._repr_html_())
with s:
    assert "recording" in repr(s) and s._repr_html_() is None and s.path == "run-2"
print(s.run.path)
""")
    assert out.splitlines() == ["2 True <crosscut session run> True", "run-2"]


def test_a_large_page_lies_beside_the_run_and_is_linked(tmp_path, monkeypatch):
    run_python(tmp_path, ONE + "one('run')")
    monkeypatch.chdir(tmp_path)
    run = crosscut.read("run")
    assert 'href="run/report.html"' in reading.framed(run.page(), run.path, most=0)
    assert (tmp_path / "run" / "report.html").read_text() == run.page()
    assert "crosscut open -o FILE" in reading.framed(run.page(), "absent/run", most=0)


def test_a_table_shows_units_what_is_left_out_and_no_markup_of_others(tmp_path):
    run_python(tmp_path, """
with crosscut.session("run", plan="full"):
    for i in range(30):
        with crosscut.operation(f"<b>{i}"): pass
""")
    table = crosscut.read(tmp_path / "run").table("operations", sort="-wall_ns")
    shown = table._repr_html_()
    assert shown.count("<tr>") == 1 + reading.SHOWN_ROWS and "&lt;b&gt;" in shown
    assert "<b>" not in shown and "<caption>operations</caption>" in shown
    assert f"{len(table) - reading.SHOWN_ROWS} more rows" in shown
    assert re.search(r">[\d.]+ (ns|µs|ms)</td>", shown)


def test_what_cannot_be_recorded_leaves_no_folder_and_says_why(tmp_path):
    (tmp_path / "file").write_text("")
    out, _ = run_python(tmp_path, """
with crosscut.session("file/run") as s: pass
print(s)
try: s.run
except RuntimeError as error: print(error)
for name in ("refused", "deep/er/refused", None):
    with crosscut.session(name, plan="balancd") as s: pass
    assert not crosscut.start(name, plan="balancd")
print(s)
""")
    assert out.count("run directory") == 2 and "did you mean balanced?" in out
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_a_session_in_itself_goes_on_to_its_outer_end(tmp_path):
    out, _ = run_python(tmp_path, """
s = crosscut.session("run", plan="full")
for turn in range(2):
    with s:
        with s as inner, s:
            with crosscut.operation("inside"): pass
        assert crosscut.active() and s.started
        with crosscut.operation("after"): pass
    print(crosscut.active(), s.started)
""")
    assert out == "False False\n" * 2
    assert operations(tmp_path / "run") == operations(tmp_path / "run-2") == {"inside", "after"}


WORKERS = """
import multiprocessing
def work():
    with crosscut.operation("work"): pass
crosscut.start("run", plan="full", control_percent=0)
context = multiprocessing.get_context("fork")
workers = [context.Process(target=work, name=f"actor-{i}") for i in range(2)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print([worker.exitcode for worker in workers])
"""


def test_the_program_has_its_name_and_forked_workers_are_complete(tmp_path):
    """They leave by os._exit(), which only `crosscut record` sees."""
    (tmp_path / "train.py").write_text("import crosscut\n" + WORKERS)
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=300, env={
                              **{key: value for key, value in os.environ.items()
                                 if not key.startswith("CROSSCUT_")}, "PYTHONPATH": str(PACKAGE)})
    assert (done.stdout, done.stderr) == ("[0, 0]\n", "")
    run = crosscut.read(tmp_path / "run")
    found = sorted((row["name"], row["complete"]) for row in run.table("processes").rows())
    assert found == [("actor-0", 1), ("actor-1", 1), ("train.py", 1)]
    assert list(run.table("operations")["operation"]).count("work") == 2


def test_under_record_the_session_of_record_goes_on(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, """
import crosscut, os
with crosscut.session("own") as s:
    with crosscut.operation("inside"): pass
with crosscut.operation("after"): pass
print(s.started, s.path == os.environ["CROSSCUT_RUN"], crosscut.active())
""", cwd=tmp_path)
    assert done.stdout == "False True True\n", done.stderr
    assert operations(run) == {"inside", "after"} and not (tmp_path / "own").exists()


@pytest.mark.parametrize("name, signature", [
    ("step", "(kind=None, /)"), ("counter", "(name, value, /)"), ("active", "()"),
    ("phase", "(name, /)"), ("meta", "(key, value, /)")])
def test_marks_have_signatures(name, signature):
    import inspect

    assert str(inspect.signature(getattr(crosscut, name))) == signature


def test_names_of_the_package_are_its_own():
    names = [name for name in dir(crosscut) if not name.startswith("__")]
    assert sorted(names) == sorted({*crosscut.__all__, "hand_over", "ray"} - {"__version__"})
