"""Every Python function, on every CPython that is built for."""

import pytest
from conftest import HERE
from test_boundary import RUN, _cases

CASES = HERE / "cases_calls.py"


@pytest.mark.parametrize("case", _cases(CASES))
def test_calls(python, case):
    python("-c", RUN.replace("cases_boundary", "cases_calls"), HERE, case)
