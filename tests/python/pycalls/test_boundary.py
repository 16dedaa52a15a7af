"""Thunks in method tables, slots and vectorcall pointers, on every CPython that is built for."""

import ast

import pytest
from conftest import HERE

CASES = HERE / "cases_boundary.py"
RUN = "import sys; sys.path[:0] = [sys.argv[1]]; import cases_boundary as m; getattr(m, sys.argv[2])()"


def _cases(path):
    names = [f.name for f in ast.parse(path.read_text()).body if isinstance(f, ast.FunctionDef)]
    return [n for n in names if not n.startswith("_")]


@pytest.mark.parametrize("case", _cases(CASES))
def test_boundary(python, case):
    python("-c", RUN, HERE, case)
