"""`crosscut.add_arguments(parser)` and `crosscut.from_arguments(args)`: settings on the program's
own command line."""

import argparse
import os
import random
import subprocess
import sys

import pytest

import crosscut
from crosscut import _session
from runs import PACKAGE, record_script

PROGRAM = """
import argparse, crosscut, sys
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.5)
crosscut.add_arguments(parser)
args = parser.parse_args()
with crosscut.from_arguments(args) as recording:
    for _ in range(3):
        crosscut.step()
        with crosscut.operation("work"): pass
    print(bool(recording), crosscut.active(), sorted(set(vars(args)) - {"lr"}))
print(crosscut.active())
"""


def run_program(folder, *arguments):
    (folder / "program.py").write_text(PROGRAM)
    variables = {key: value for key, value in os.environ.items()
                 if not key.startswith("CROSSCUT_")}
    return subprocess.run([sys.executable, "program.py", *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True, timeout=300,
                          env={**variables, "PYTHONPATH": str(PACKAGE)})


def test_without_the_options_the_program_is_what_it_was(tmp_path):
    done = run_program(tmp_path, "--lr", "0.1")
    assert (done.stdout, done.stderr) == ("False False []\nFalse\n", "")
    assert not (tmp_path / "crosscut-runs").exists()


def test_any_of_them_records_and_the_settings_are_those_of_start(tmp_path):
    done = run_program(tmp_path, "--crosscut-run", tmp_path / "run", "--crosscut-plan=full",
                       "--crosscut-python", "off")
    assert (done.stdout.splitlines()[0], done.stderr) == (
        "True True ['crosscut_plan', 'crosscut_python', 'crosscut_run']", "")
    run = crosscut.read(tmp_path / "run")
    counts = {row["operation"]: row["count"] for row in run.table("operations").rows()}
    assert counts["work"] == 3
    assert {row["level"] for row in run.table("steps").rows()} <= {0, 3}
    for options in (["--crosscut"], ["--crosscut-budget=off"]):
        done = run_program(tmp_path, *options)
        assert done.stdout.startswith("True True") and done.stdout.endswith("\nFalse\n")
    assert len(list((tmp_path / "crosscut-runs").iterdir())) == 2


@pytest.mark.parametrize("option", [
    "--crosscut-plan=ful", "--crosscut-budget=-1", "--crosscut-python=all", "--crosscut-seed=x",
    "--crosscut-memory-mib=-5", "--crosscut-keep-seconds=inf", "--crosscut-control-percent=200"])
def test_a_value_that_cannot_be_meant_is_refused_as_any_other_of_the_program(tmp_path, option):
    done = run_program(tmp_path, option)
    assert done.returncode == 2 and done.stdout == ""
    assert f"error: argument {option.partition('=')[0]}: " in done.stderr


def test_under_record_its_settings_hold_and_a_warning_says_so(tmp_path):
    done = record_script(tmp_path / "run", PROGRAM.replace(
        "parse_args()", "parse_args(['--crosscut-plan=light'])"))
    assert done.returncode == 0 and done.stdout.startswith("False True ['crosscut_plan']\nTrue")
    assert "the --crosscut options have no effect: " in done.stderr


def test_options_at_random_become_those_of_start(monkeypatch):
    began = []

    def start(run, **options):
        began.append((run, options))
        return True

    monkeypatch.setattr(_session, "start", start)
    values = {"plan": ["light", "operators=10,everything=2.5"], "budget": [0.0, 2.5],
              "control_percent": [1.0, 50.0], "python": ["off", "calls"], "memory_mib": [64, 128],
              "keep_seconds": [0.5, 30.0], "seed": [0, 7], "shapes": [True], "scalars": [True],
              "allocations": [True]}
    for seed in range(200):
        chosen = random.Random(seed)
        wanted = {name: chosen.choice(some) for name, some in values.items()
                  if chosen.random() < 0.4}
        run = chosen.choice([None, "folder"])
        line = [] if run is None else ["--crosscut-run", run]
        for name, value in wanted.items():
            option = "--crosscut-" + name.replace("_", "-")
            line += [option] if value is True else [f"{option}={value}"]
        parser = argparse.ArgumentParser()
        crosscut.add_arguments(parser)
        began.clear()
        recording = crosscut.from_arguments(parser.parse_args(line))
        if "keep_seconds" in wanted:
            wanted["policy"] = "flight-recorder"
        assert began == ([(run, wanted)] if line else []) and bool(recording) == bool(line)
