"""The operator shim: what it records, beside torch.profiler on the same run of the program."""

import json

import pytest
from conftest import HERE, run_python

CASES = [line.split("(")[0][4:] for previous, line in zip(
    [""] + (HERE / "cases_operators.py").read_text().splitlines(),
    (HERE / "cases_operators.py").read_text().splitlines()) if previous == "@case"]


@pytest.fixture(scope="module")
def results(stub_package):
    done = run_python(stub_package, HERE / "cases_operators.py")
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert done.returncode == 0 and lines, done.stderr
    return json.loads(lines[0].removeprefix("RESULTS "))


@pytest.mark.parametrize("case", CASES)
def test_shim(results, case):
    assert results[case] == "", results[case]
