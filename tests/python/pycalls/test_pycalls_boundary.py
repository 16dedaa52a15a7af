"""Thunks in method tables, slots and vectorcall pointers, on every CPython that is built for."""

import pytest
from pycalls_support import cases


@pytest.mark.parametrize("case", cases("cases_boundary"))
def test_boundary(python, case):
    python.run_case("cases_boundary", case)
