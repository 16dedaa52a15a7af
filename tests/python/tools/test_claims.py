"""tools/check_claims.py: each kind of stale or unlisted figure fails it, and true ones do not."""

import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
import check_claims as claims  # noqa: E402

PAGE = """# Title

Recording costs little.

<!-- claim: cost -->
A step takes 8.6 % longer (95 %: 6.6 to 11.2), 30 µs
of its 0.34 ms.

- At most 50 ms pass.
<!-- claim: table -->
| arm | ratio |
| --- | --- |
| ours | 1.086 |
"""
COMMIT = "abcdef1"
COST = "| cost | p.md | 8.6; 95; 6.6; 11.2; 30; 0.34 |"
LIST = f"""{COST} `bench/blocks.py mlp` | {COMMIT} | 2026-01-02 |
| table | p.md | 1.086 | `bench/blocks.py mlp` | {COMMIT} | 2026-01-02 |

| p.md | 50 ms |
"""


class Git:
    """What git answers of COMMIT."""
    def __init__(self, age=10, ancestor=True, released="", shallow="false"):
        self.age, self.ancestor, self.released = age, ancestor, released
        self.shallow = shallow

    def __call__(self, *words):
        if words[0] == "rev-parse":
            return self.shallow
        if COMMIT not in " ".join(words):
            return None
        return {"cat-file": "commit", "merge-base": "" if self.ancestor else None,
                "show": "2026-01-01", "rev-list": str(self.age), "tag": self.released}[words[0]]


def wrong(page=PAGE, rows=LIST, git=None):
    return claims.compared(rows, {"p.md": page}, git or Git())


def test_a_list_that_has_all_is_right():
    assert wrong() == []
    assert wrong(rows=LIST.replace("2026-01-02", "2025-12-25")) == [], "landed a week later"


@pytest.mark.parametrize("figure", ["3 %", "3%", "0.5 times", "12 ns", "7 µs", "2 to 4 ms", "40 s",
                                    "3 per cent", "9 of 10", "(1.2 to 1.4)", "5 MiB", "6 minutes",
                                    "+1.4 %", "2 microseconds", "| 0.97 |"])
def test_a_figure_that_nobody_listed_is_found(figure):
    said = wrong(PAGE + f"\nSomething about {figure} is new.\n")
    assert len(said) == 1 and said[0].startswith("p.md: no claim and no rule")


@pytest.mark.parametrize("words", ["Python 3.11", "step 96", "`--fail-above=7%`", "1.5 sessions",
                                   "in 2 steps", "[x](y-3%)"])
def test_what_is_no_figure_needs_no_row(words):
    assert wrong(PAGE + f"\nSomething about {words} is new.\n") == []


def test_each_number_of_a_claim_that_changes_is_found():
    lines = PAGE.split("\n")
    begin, end = lines.index("<!-- claim: cost -->"), len(lines)
    page = "\n".join(lines[:begin + 1])
    rest = "\n".join(lines[begin + 1:end])
    numbers = list(claims.NUMBERS.finditer(rest))
    assert numbers
    for number in numbers:
        if rest[:number.start()].endswith("most "):  # a rule, which the next test has
            continue
        other = number.group() + "1"
        changed = page + "\n" + rest[:number.start()] + other + rest[number.end():]
        assert wrong(changed), number.group()


def test_a_rule_that_changes_or_goes_is_found():
    assert len(wrong(PAGE.replace("50 ms", "60 ms"))) == 2
    assert wrong(PAGE.replace("- At most 50 ms pass.\n", "")) == [
        "docs/claims.md: p.md has no more: 50 ms"]


@pytest.mark.parametrize("git, words", [
    (Git(age=201), "201 commits ago"), (Git(ancestor=False), "not behind HEAD"),
    (Git(released="v1.0"), "before the last release")])
def test_a_claim_that_is_too_old_is_found(git, words):
    assert len([line for line in wrong(git=git) if words in line]) == 2
    assert wrong(git=Git(age=200)) == []


@pytest.mark.parametrize("shallow", ["true", None])
def test_a_copy_without_history_is_asked_for_no_commit(shallow):
    assert wrong(git=Git(age=900, shallow=shallow)) == []


@pytest.mark.parametrize("old, new", [
    (COMMIT, "abcdef2"), ("2026-01-02", "2025-12-24"), ("2026-01-02", "soon"),
    ("`bench/blocks.py mlp`", "by hand"), ("bench/blocks.py", "bench/gone.py"),
    ("| p.md | 1.086", "| q.md | 1.086"), ("| table |", "| other |")])
def test_a_row_that_says_nothing_true_is_found(old, new):
    assert wrong(rows=LIST.replace(old, new))


def test_taking_numbers_over_drops_who_measured_what_changed():
    page = PAGE.replace("1.086", "1.05").replace("50 ms", "60 ms")
    rows = claims.written(LIST, {"p.md": page})
    assert f"{COST} `bench/blocks.py mlp` | abcdef1" in rows
    assert "| table | p.md | 1.05 | `bench/blocks.py mlp` |  |  |" in rows
    assert len(wrong(page, rows)) == 1  # no commit


def test_a_table_of_many_numbers_is_known_by_its_sum():
    draw = random.Random(4)
    numbers = [f"{draw.uniform(0, 9):.3f}" for _ in range(40)]
    page = "<!-- claim: big -->\n" + "\n".join(f"| a | {x} |" for x in numbers) + "\n"
    rows = f"| big | p.md | {claims.shown(numbers)} | `x` | {COMMIT} | 2026-01-02 |\n"
    assert wrong(page, rows) == []
    for place in range(40):
        other = numbers[:place] + ["9.999"] + numbers[place + 1:]
        assert wrong(page.replace(numbers[place], "9.999", 1), rows), other
