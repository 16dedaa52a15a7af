"""Every Python function, on every CPython that is built for."""

import pytest
from pycalls_support import cases


@pytest.mark.parametrize("case", cases("cases_calls"))
def test_calls(python, case):
    python.run_case("cases_calls", case)
