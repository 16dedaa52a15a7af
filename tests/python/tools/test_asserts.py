"""Asserts over what may be empty are found, those over what is shown to hold something are not."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import check_asserts  # noqa: E402


def lines(*body):
    text = "KINDS = (1, 2)\n\n\ndef test(rows, other):\n" + "".join(f"    {b}\n" for b in body)
    return [line - 4 for line, _ in check_asserts.problems(text)]


@pytest.mark.parametrize("body", [
    ["assert all(row > 0 for row in rows)"],
    ["assert all(rows), rows"],
    ["assert all(row > 0 for row in table(rows))", "assert other"],
    ["assert rows", "assert all(row > 0 for row in rows if row != 2)"],
    ["assert all(row > 0 for row in rows)", "assert all(row > 1 for row in rows)"],
    ["for row in rows:", "    assert row", "    assert row in rows"],
    ["for row in sorted(rows.items()):", "    assert row"],
    ["for a, b in zip(KINDS, rows):", "    assert a == b"],
])
def test_what_may_be_empty_is_found(body):
    assert lines(*body)


@pytest.mark.parametrize("body", [
    ["assert rows and all(row > 0 for row in rows)"],
    ["assert all(row > 0 for row in rows)", "assert len(rows) == 3"],
    ["assert all(kind in rows for kind in KINDS)"],
    ["assert all(x < y for x in (1, 2) for y in range(3, 5))"],
    ["for row in rows:", "    assert row", "assert other == rows"],
    ["for row in rows:  # may be empty: nothing is written then", "    assert row"],
    ["names = ['a']", "for name in sorted(names):", "    assert name in rows"],
    ["assert not any(rows)"],
])
def test_what_is_shown_to_hold_something_is_not(body):
    assert lines(*body) == []


def test_the_tests_of_this_tree_have_none(capsys):
    assert check_asserts.main() == 0, capsys.readouterr().out
