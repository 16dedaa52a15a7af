"""Trees of calls compared whole, on every CPython that is built for."""

import pytest
from pycalls_support import cases


@pytest.mark.parametrize("case", cases("cases_trees"))
def test_trees(python, case):
    python.run_case("cases_trees", case)
