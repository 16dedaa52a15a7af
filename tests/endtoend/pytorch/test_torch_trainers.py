"""What trainers do beside training, by its name: Transformers' and Lightning's."""

import json
import subprocess

import pytest
from runs import ROOT, record, table

PROGRAM = ROOT / "tests" / "endtoend" / "pytorch" / "trainers.py"
MODULES = {"transformers": "transformers", "lightning": "pytorch_lightning"}


def python_with(module):
    python = ROOT / ".venv-rl" / "bin" / "python"
    look = f"import importlib.util as it, sys; sys.exit(not it.find_spec({module!r}))"
    if python.exists() and subprocess.run([python, "-c", look]).returncode == 0:
        return str(python)
    pytest.skip(f"no Python here has {module}")


@pytest.mark.parametrize("library", MODULES)
def test_evaluation_and_saving_have_their_names(tmp_path, library):
    python = python_with(MODULES[library])
    result = record(tmp_path / "run", [python, str(PROGRAM), library], "--control-steps=0")
    assert result.returncode == 0, result.stderr
    clock = json.loads(result.stdout.splitlines()[-1])
    rows = {row["operation"]: row for row in table(tmp_path / "run", "operations")}
    expected = {"evaluate": 3, "save": 2, "predict": 1} if library == "transformers" else {
        "evaluate": 3, "save": 2}
    assert expected.keys() <= rows.keys()
    for name, count in expected.items():
        assert rows[name]["count"] == count, name
        # The clock stands around it; what is inside belongs to it.
        assert 0.7 * clock[name] < rows[name]["wall_ns"] / 1e6 <= 1.01 * clock[name], name
    # Training is what it was, without the forwards and batches of evaluation.
    assert rows["forward"]["count"] == rows["optimizer"]["count"] == 60
    summary, = table(tmp_path / "run", "step_summary")
    assert summary["steps"] == 60
    assert not [row for row in table(tmp_path / "run", "sources") if row["state"] == "failed"]


@pytest.mark.parametrize("library", MODULES)
def test_a_program_that_only_evaluates_has_its_steps(tmp_path, library):
    python = python_with(MODULES[library])
    result = record(tmp_path / "run", [python, str(PROGRAM), library, "evaluate"],
                    "--control-steps=0")
    assert result.returncode == 0, result.stderr
    rows = {row["operation"]: row for row in table(tmp_path / "run", "operations")}
    assert "evaluate" not in rows and rows["forward"]["count"] == 16
