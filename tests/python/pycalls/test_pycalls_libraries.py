"""torch and NumPy under the boundary, in the interpreter that runs these tests."""

import importlib.util

import pytest
from pycalls_support import cases

NEEDS = {"torch": ["torch", "numpy"], "one": ["torch", "numpy"], "numpys": ["numpy", "hypothesis"]}


@pytest.mark.parametrize("case", cases("cases_libraries"))
def test_libraries(main_python, case):
    for module in NEEDS.get(case.split("_")[0], ["numpy"]):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    main_python.run_case("cases_libraries", case, timeout=240)
