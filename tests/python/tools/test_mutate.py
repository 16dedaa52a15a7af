"""The rules of tools/mutate, and a run of it on its own tests' sources."""

import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import mutation_rules as rules  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "tools" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)

CPP = """#include <a> // 3 < 4
template <int N = 3>
int F(int x) {
  int y = 12;
  if (x <= y) return 7;
  Call(x, "5 > 6");
  values.at[x] += 0x10;
  const std::vector<int> kept = Make(1.5f);
  return std::max(y,
                  Other(x));  /* 9 */
}
"""


def changes(text, found):
    """(line, the line's new text) of each mutant, which changes that line alone."""
    out = []
    assert found
    for mutant in found:
        old, new = text.split("\n"), mutant.of(text).split("\n")
        differ = [i for i, (a, b) in enumerate(zip(old, new), 1) if a != b]
        assert len(old) == len(new) and differ == [mutant.line]
        out.append((mutant.line, new[mutant.line - 1].strip()))
    return sorted(out)


def test_cpp_is_changed_where_a_program_does_something_else():
    assert changes(CPP, rules.of_cpp(CPP)) == [
        (4, "int y = 11;"), (4, "int y = 13;"),
        (5, "if (x < y) return 7;"), (5, "if (x <= y) return 6;"), (5, "if (x <= y) return 8;"),
        (6, ""), (7, ""), (9, "return std::min(y,")]


PYTHON = '''"""3 < 4"""
def f(x, y=2):
    ü = "ü"; z = max(x, y)
    if x == y:
        print("5")
    return ü[1] + 1.5
'''


def test_python_is_changed_by_its_tree():
    assert changes(PYTHON, rules.of_python(PYTHON)) == [
        (2, "def f(x, y=1):"), (2, "def f(x, y=3):"), (3, 'ü = "ü"; z = min(x, y)'),
        (4, "if x != y:"), (5, "pass"), (6, "return ü[0] + 1.5"), (6, "return ü[2] + 1.5")]
    for mutant in rules.of_python(PYTHON):
        compile(mutant.of(PYTHON), "x", "exec")


@pytest.mark.parametrize("path", ["src/compare/keyed_tables.cc", "src/format/log_reader.cc"])
def test_places_of_real_sources_are_found_and_each_changes_its_line(path):
    text = (ROOT / path).read_text()
    found = rules.of_cpp(text)
    assert len(changes(text, found)) > 20
    assert {mutant.rule for mutant in found} >= {"turned comparison", "constant by one",
                                                 "dropped line"}


@pytest.mark.parametrize("seen, of, low, high", [(0, 0, 0, 1), (35, 61, 0.449, 0.690),
                                                 (10, 10, 0.722, 1), (0, 10, 0, 0.278)])
def test_the_interval_is_wilsons(seen, of, low, high):
    assert mutate.wilson(seen, of) == pytest.approx((low, high), abs=0.001)


def test_all_tests_run_and_the_quick_ones_first():
    seconds = {"/b/one": {"A.fast": 0.1, "A.slow": 9.0, "A.quick": 0.2, "B.slow": 0.5},
               "/b/two": {"C.fast": 0.05}, "/b/three": {"D.slow": 2.0}}
    commands = mutate.quick_first(seconds)
    assert [(round(s, 3), command[0], command[-1]) for s, command in commands] == [
        (0.05, "/b/two", "--gtest_filter=C.fast"),
        (0.3, "/b/one", "--gtest_filter=A.fast:A.quick"),
        (0.5, "/b/one", "--gtest_filter=B.slow"),
        (2.0, "/b/three", "--gtest_filter=D.slow"),
        (9.0, "/b/one", "--gtest_filter=A.slow")]
