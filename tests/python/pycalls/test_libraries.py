"""torch and NumPy under the boundary, in the interpreter that runs these tests."""

import importlib.util

import pytest
from conftest import HERE
from test_boundary import RUN, _cases

CASES = HERE / "cases_libraries.py"


@pytest.mark.parametrize("case", _cases(CASES))
def test_libraries(main_python, case):
    library = case.split("_")[0]
    for module in {"torch": ["torch"], "numpys": ["numpy", "hypothesis"]}.get(library, ["numpy"]):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    main_python("-c", RUN.replace("cases_boundary", "cases_libraries"), HERE, case, timeout=240)
