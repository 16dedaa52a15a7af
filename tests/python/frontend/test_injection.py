"""How Crosscut gets into a Python: every way to start one, and every way it starts others."""

import os
import pathlib
import subprocess
import sys

import crosscut
import pytest
from recording import PACKAGE, PROBE, environment

RECORDED = "recorded 1\n"


def test_a_script_is_recorded(recorder):
    script = recorder.script("program.py", PROBE)
    assert recorder.record(sys.executable, script).stdout == RECORDED


def test_an_executable_script_is_recorded(recorder):
    script = recorder.script("program", f"#!{sys.executable}\n{PROBE}\n")
    script.chmod(0o755)
    assert recorder.record(script).stdout == RECORDED


def test_a_script_whose_name_is_no_text_is_recorded_with_all_that_is_said_of_it(recorder):
    script = os.fsencode(recorder.folder) + b"/caf\xe9.py"
    with open(script, "w") as file:
        file.write(PROBE)
    done = recorder.record(sys.executable, os.fsdecode(script))
    assert done.stdout == RECORDED, done.stderr
    (process,) = recorder.processes()
    assert process.method == "record"
    assert "is not recorded" not in done.stderr


def test_a_module_is_recorded(recorder):
    recorder.script("package/__init__.py", "")
    recorder.script("package/__main__.py", PROBE)
    assert recorder.record(sys.executable, "-m", "package").stdout == RECORDED


def test_a_program_from_stdin_is_recorded(recorder):
    assert recorder.record(sys.executable, "-", input=PROBE).stdout == RECORDED


@pytest.mark.parametrize("flags", [[], ["-s"], ["-P"] if sys.version_info >= (3, 11) else [],
                                   ["-I"], ["-E"], ["-S"], ["-I", "-S"], ["-ISE"], ["-X", "dev"],
                                   ["-W", "error"], ["-B", "-u", "-OO"]], ids=" ".join)
def test_no_option_of_python_keeps_it_out_and_it_comes_once(recorder, flags):
    assert recorder.python(PROBE, *flags) == RECORDED


def test_a_python_in_a_virtual_environment_is_recorded(recorder, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    assert recorder.record(python, "-c", PROBE).stdout == RECORDED


def test_children_of_every_start_method_have_their_own_log_and_know_their_parent(recorder):
    script = recorder.script("program.py", (
        "import multiprocessing, os, subprocess, sys\n"
        "def work(method):\n"
        "    import crosscut\n"
        "    print(method, crosscut.active(), os.environ['CROSSCUT_PARENT'], flush=True)\n"
        "if __name__ == '__main__':\n"
        "    import crosscut\n"
        "    print('main', crosscut._record.process_key(), flush=True)\n"
        "    for method in ('fork', 'spawn', 'forkserver'):\n"
        "        context = multiprocessing.get_context(method)\n"
        "        process = context.Process(target=work, args=(method,))\n"
        "        process.start(); process.join()\n"
        "    subprocess.run([sys.executable, '-c', 'pass'])\n"))
    done = recorder.record(sys.executable, script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["fork", "True"], ["spawn", "True"], ["forkserver", "True"]]
    processes = {process.key: process for process in recorder.processes()}
    main = lines[0].split()[1]
    methods = {process.method for process in processes.values()}
    assert {"record", "fork", "spawn", "forkserver", "subprocess"} <= methods
    for process in processes.values():
        if process.method in ("fork", "spawn"):
            assert process.parent == main, process


def test_a_chain_of_three_images_is_three_logs(recorder):
    code = ("import os, sys\n"
            "left = int(sys.argv[1])\n"
            "print('image', left, flush=True)\n"
            "if left > 1:\n"
            "    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:-1], str(left - 1)])\n")
    done = recorder.record(sys.executable, "-c", code, "3")
    assert done.stdout == "image 3\nimage 2\nimage 1\n"
    assert len(recorder.logs()) == 3
    assert len({name.split("-")[0] for name in recorder.logs()}) == 1


def test_the_users_own_sitecustomize_runs_and_is_the_one_that_is_seen(recorder):
    recorder.script("site/sitecustomize.py", "VALUE = 'mine'")
    done = recorder.record(sys.executable, "-c",
                           "import sitecustomize; print(sitecustomize.VALUE); " + PROBE,
                           env=environment(PYTHONPATH=str(recorder.folder / "site")))
    assert done.stdout == "mine\n" + RECORDED


def test_the_pythons_own_sitecustomize_or_none_is_what_is_seen(recorder):
    # Debian's Python has one, others have none.
    code = ("import sys; found = sys.modules.get('sitecustomize'); "
            "print(found and found.__spec__.origin)")
    plain = recorder.plain(sys.executable, "-c", code)
    assert plain.returncode == 0
    assert recorder.python(code) == plain.stdout


def test_an_error_in_the_users_sitecustomize_is_told_as_without_us(recorder):
    recorder.script("site/sitecustomize.py", "raise ValueError('mine')")
    env = environment(PYTHONPATH=str(recorder.folder / "site"))
    plain = recorder.plain(sys.executable, "-c", "pass", env=env)
    recorded = recorder.record(sys.executable, "-c", "pass", env=env)
    theirs = [line for line in recorded.stderr.splitlines() if not line.startswith("crosscut:")]
    assert "ValueError: mine" in plain.stderr
    assert theirs == plain.stderr.splitlines()


def test_the_path_and_the_environment_are_those_without_us(recorder):
    code = ("import json, os, sys; print(json.dumps([sys.path, sys.argv, sorted(sys.flags), "
            "{k: v for k, v in os.environ.items()}], default=str))")
    import json

    plain = json.loads(recorder.plain(sys.executable, "-c", code).stdout)
    recorded = json.loads(recorder.python(code))
    assert recorded[:3] == plain[:3]
    changed = {name for name in set(plain[3]) | set(recorded[3])
               if plain[3].get(name) != recorded[3].get(name)}
    assert {name for name in changed if not name.startswith("CROSSCUT_")} == {
        "PYTHONPATH", "LD_PRELOAD", "OPENCL_LAYERS"}
    assert recorded[3]["PYTHONPATH"] == str(PACKAGE / "inject")


def old_pythons():
    return sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin/python"))


@pytest.mark.parametrize("python", old_pythons(), ids=lambda path: path.parts[-3])
def test_every_python_on_the_machine_runs_as_without_us(recorder, python):
    code = "import sys, os; print(sys.path); print('sitecustomize' in sys.modules)"
    plain = recorder.plain(python, "-c", code)
    recorded = recorder.record(python, "-c", code)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    version = tuple(int(part) for part in python.parts[-3].split(".")[:2])
    has_recorder = list(PACKAGE.glob(f"_record.cpython-{version[0]}{version[1]}-*.so"))
    if has_recorder:
        assert len(recorder.logs()) == 1
    else:
        assert "is not recorded" in recorded.stderr


def test_a_python_that_a_recorder_can_be_built_for_is_told_how(recorder):
    done = recorder.plain(sys.executable, "-c", "from crosscut import _norecord as it\n"
                          "it.set_reason(ImportError(\"cannot import name '_record' from 'it'\"))\n"
                          "print(it.error())", env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert f"CROSSCUT_PYTHONS={sys.executable} tools/setup.sh" in done.stdout, done.stderr


def test_adapters_run_after_the_import_and_leave_no_trace(recorder):
    recorder.script("lazy.py", "VALUE = 1")
    code = ("import sys, importlib\n"
            "from crosscut import _hooks\n"
            "seen = []\n"
            "_hooks.after_import('lazy', lambda m: seen.append(m.VALUE))\n"
            "import lazy\n"
            "assert seen == [1], seen\n"
            "assert type(lazy.__loader__).__name__ == 'SourceFileLoader'\n"
            "assert lazy.__spec__.loader is lazy.__loader__\n"
            "importlib.reload(lazy)\n"
            "assert seen == [1, 1], seen\n"
            "del sys.modules['lazy']\n"
            "spec = importlib.util.find_spec('lazy')\n"
            "loader = importlib.util.LazyLoader(spec.loader)\n"
            "spec.loader = loader\n"
            "module = importlib.util.module_from_spec(spec)\n"
            "sys.modules['lazy'] = module\n"
            "loader.exec_module(module)\n"
            "assert len(seen) == 2\n"
            "assert module.VALUE == 1\n"
            "assert len(seen) == 3\n"
            "_hooks.after_import('lazy', lambda m: 1 / 0)\n"
            "importlib.reload(module)\n"
            "try:\n"
            "    _hooks.after_import('absent', print); import absent\n"
            "except ModuleNotFoundError as error:\n"
            "    print(error.name)\n")
    env = environment(PYTHONPATH=str(recorder.folder))
    done = recorder.record(sys.executable, "-c", "import importlib.util\n" + code, env=env)
    assert (done.stdout, done.returncode) == ("absent\n", 0), done.stderr


def test_importing_crosscut_loads_neither_the_reading_half_nor_typing(recorder):
    env = environment(PYTHONPATH=str(PACKAGE.parent))
    code = ("import sys, crosscut; heavy = {'crosscut._read', 'typing', 'inspect', 'dataclasses'}; "
            "print(heavy & set(sys.modules))")
    assert recorder.plain(sys.executable, "-S", "-c", code, env=env).stdout == "set()\n"


def test_the_package_in_use_is_the_one_that_records():
    assert os.path.exists(PACKAGE / "bin" / "crosscut"), crosscut.__file__


def test_the_table_of_variables_stays_where_it_was(recorder):
    """A variable that we add would move it while other threads, a plugin's say, read it."""
    moved = recorder.python(
        "import ctypes\n"
        "table = ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'environ').value\n"
        "stack = next(line for line in open('/proc/self/maps') if '[stack]' in line)\n"
        "low, high = (int(edge, 16) for edge in stack.split()[0].split('-'))\n"
        "print(not low <= table < high)", env=environment(LC_ALL="C.UTF-8"))
    assert moved.strip() == "False"


@pytest.mark.parametrize("command", [[sys.executable, "-c", "pass"],
                                     [sys.executable, "-I", "-c", "pass"], ["sleep", "0.01"]],
                         ids=["python", "isolated", "no Python"])
def test_what_starting_took_is_told_and_is_no_time_of_the_program(recorder, command):
    recorder.record(*command)
    (row,) = crosscut.read(str(recorder.run_dir)).table("processes").rows()
    starting = row["starting_ns"]
    assert 0 < starting < 10**9
    table = crosscut.read(str(recorder.run_dir)).table("overhead")
    overhead = {row["probe"]: row for row in table.rows()}
    before = overhead["before the window"]
    assert (before["total_ns"], before["subtracted_ns"]) == (starting, 0)
    if command[0] == sys.executable:
        assert overhead["timed"]["total_ns"] > 0, "bringing in the sources"


@pytest.mark.parametrize("path", ["", ":", ":/nowhere", "/nowhere:", "a::b", "a:a", "."])
def test_modules_are_looked_for_where_they_would_be_without_us(recorder, path):
    script = recorder.script("far/away/program.py", "import sys; print(sys.path)")
    env = environment(PYTHONPATH=path)
    plain = recorder.plain(sys.executable, script, env=env).stdout
    assert recorder.record(sys.executable, script, env=env).stdout == plain


def test_a_module_that_runs_code_in_itself_is_told_of_when_it_is_whole(recorder, tmp_path):
    (tmp_path / "itself.py").write_text(
        "exec(compile('early = 1', '<string>', 'exec'), globals())\nclass Whole:\n    pass\n")
    done = recorder.record(sys.executable, "-c", (
        "import importlib, sys\n"
        f"sys.path.insert(0, {os.fspath(tmp_path)!r})\n"
        "from crosscut import _hooks\n"
        "_hooks.after_import('itself', lambda module: print(module.Whole.__name__, end=' '))\n"
        "import itself\n"
        "importlib.reload(itself)\n"))
    assert done.stdout == "Whole Whole "
