"""What a control step takes out of method tables and slots, on every CPython that is built for."""

import pytest
from pycalls_support import cases


@pytest.mark.parametrize("case", cases("cases_control"))
def test_control(python, case):
    python.run_case("cases_control", case)
