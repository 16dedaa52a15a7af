"""check-plugin and plugins that need TensorFlow's own symbols: real TensorFlow, real plugins."""

import json
import os
import pathlib
import subprocess

import pytest
from frameworks import python_with
from runs import CROSSCUT, record, table
from test_plugins import DEMO, directml

SOURCE = pathlib.Path(__file__).with_name("tensorflow_plugin.cc")
QUICK = ["--cycles=400", "--budget=2", "--deadline=60"]


@pytest.fixture(scope="module")
def python():
    return python_with("tensorflow")


@pytest.fixture(scope="module")
def folder(python):
    """Of the package tensorflow, not imported."""
    code = "import importlib.util as u; print(u.find_spec('tensorflow').origin)"
    origin = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return str(pathlib.Path(origin.strip()).parent)


@pytest.fixture(scope="module")
def plugin(folder, tmp_path_factory):
    """Compiled with TensorFlow's headers and linked as its guide for plugins has it."""
    library = tmp_path_factory.mktemp("plugin") / "libchip.so"
    subprocess.run(["c++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
                    "-I", f"{folder}/include", SOURCE, "-o", library, "-L", folder,
                    "-l:libtensorflow_framework.so.2"], check=True)
    return library


@pytest.fixture
def without(tmp_path):
    return path_of_python3(tmp_path, "exit 0")


def path_of_python3(folder, script):
    """An environment whose python3 is this shell script."""
    program = folder / "bin" / "python3"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:/usr/bin:/bin"}


def check(plugin, *flags, env=None):
    return subprocess.run([CROSSCUT, "check-plugin", plugin, *flags], env=env, capture_output=True,
                          text=True, timeout=600)


def results_of(done):
    return {test["id"]: test for test in json.loads(done.stdout)["tests"]}


def test_every_test_to_the_bar_is_tried_beside_the_tensorflow_of_a_named_python(
        plugin, python, folder, without):
    done = check(plugin, "--json", *QUICK, "--python", python, env=without)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["tensorflow"] == folder
    tests = results_of(done)
    assert {name: test["result"] for name, test in tests.items()} == {
        f"C{number}": "PASS" for number in range(1, 12)}
    assert "beside TensorFlow 2." in tests["C1"]["note"]


def test_python3s_tensorflow_is_found_where_the_plugin_turns_out_to_need_it(
        plugin, python, folder, tmp_path):
    env = path_of_python3(tmp_path, f'exec {python} "$@"')
    done = check(plugin, "--level=1", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"TensorFlow at {folder} is loaded before the plugin\n")
    assert check(plugin, "--probe", env=env).stdout == "good\n"


def test_where_there_is_no_tensorflow_the_next_step_is_told(plugin, without):
    done = check(plugin, "--json", env=without)
    assert done.returncode == 1
    finding, = results_of(done)["C1"]["findings"]
    assert finding["rule"] == "C1.tensorflow"
    assert "undefined symbol" in finding["text"] and "--python PATH" in finding["text"]
    probed = check(plugin, "--probe", env=without)  # no answer about the plugin
    assert probed.returncode == 3 and "first in PATH" in probed.stdout
    asked = check(plugin, "--python", "python3", env=without)
    assert (asked.returncode, asked.stdout) == (2, "") and "--python PATH" in asked.stderr


def test_a_recording_probes_it_beside_tensorflow_and_has_its_rows(plugin, python, tmp_path):
    env = path_of_python3(tmp_path, f'exec {python} "$@"')
    env |= {"CROSSCUT_PLUGIN_MOCK_WORK": "3", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = tmp_path / "run"
    done = record(run, [python, "-c", "import time; time.sleep(0.1)"], "--probe-plugins",
                  "--plugin", plugin, env=env)
    assert done.returncode == 0, done.stderr
    known, = (tmp_path / "cache" / "crosscut" / "probed-plugins").read_text().splitlines()
    assert known.endswith("\tgood")
    kernel, = [row for row in table(run, "functions") if row["name"] == "chip_kernel"]
    assert (kernel["count"], kernel["layer"]) == (3, "device")


def test_a_plugin_for_another_version_of_tensorflow_is_told_so(python, folder, tmp_path):
    """tensorflow-directml-plugin 0.4 is built for TensorFlow 2.10."""
    done = check(directml(tmp_path), "--json", "--python", python)
    assert done.returncode == 1
    finding, = results_of(done)["C1"]["findings"]
    assert finding["rule"] == "C1.loads"
    assert f"{folder} does not have it" in finding["text"]


@pytest.mark.parametrize("line", [
    [DEMO, "--only", "C1,C2"], ["--only", "C1,C2", DEMO], ["--only=C1,C2", "--env", "A=B", DEMO],
    ["--env", "A=B", "--skip", "C3", DEMO, "--level", "1"], ["--level", "1", "--", DEMO]])
def test_options_may_stand_anywhere(line):
    done = subprocess.run([CROSSCUT, "check-plugin", *line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 passed" in done.stdout and "0 failed" in done.stdout


def test_an_output_that_cannot_be_written_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run([CROSSCUT, "check-plugin", DEMO, "--only=C1"], stdout=full,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "No space left" in done.stderr


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_descriptor_is_no_fault_of_the_plugin(closed):
    checker = CROSSCUT.with_name("crosscut-check-plugin")
    done = subprocess.run(["bash", "-c", f'exec "$@" {closed}>&-', "-", checker, "--probe", DEMO],
                          capture_output=True, text=True)
    assert done.returncode == (3 if closed == 1 else 0), done.stdout


@pytest.mark.parametrize("limit", ["ulimit -n 5;", "export TMPDIR=/nowhere;",
                                   "ulimit -f 0; trap '' XFSZ;"])
def test_the_checkers_own_trouble_is_no_fault_of_the_plugin(limit):
    """No answer of a probe, either, which would be kept."""
    for flag in ["--only=C1", "--probe"]:
        done = subprocess.run(["bash", "-c", f'{limit} exec "$@"', "-", CROSSCUT, "check-plugin",
                               flag, DEMO], capture_output=True, text=True)
        assert done.returncode == 3 and "FAIL" not in done.stdout, done.stdout
