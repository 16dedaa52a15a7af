"""Every row of the fault matrix, F1 to F44, stands in docs/faults.md with a test that there is, or
with the word *open*.

Exit status 1: a row is missing, or names no test, or one that there is not.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = range(1, 45)
ROW = re.compile(r"\| F(\d+) \|(.*)\|$")
QUOTED = re.compile(r"`([^`]+)`")
GTEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
AS = re.compile(r"as (in )?F\d+")  # the same tests as another row
NAMED = re.compile(r"(\w+)(?:\.(\w+)(…?))?$")  # a suite, or one of its tests; … cuts its name


def tests() -> set[tuple[str, str]]:
    """(suite, name) of each test in C++."""
    found = set()
    for folder in ("src", "tests", "plugins"):
        for path in (ROOT / folder).rglob("*_test.cc"):
            found.update(GTEST.findall(path.read_text()))
    return found


def is_there(name: str, known: set[tuple[str, str]], files: set[str]) -> bool | None:
    """None: no name of a test."""
    if name.endswith((".py", "_test.cc")):
        return name in files
    if name.startswith("fuzz/"):
        return (ROOT / f"{name}.cc").exists()
    parts = NAMED.match(name)
    if parts is None or not name[0].isupper():
        return None
    suite, test, cut = parts.groups()
    return any(suite == s and (test is None or test == t or cut and t.startswith(test))
               for s, t in known)


def wrong(text: str) -> list[str]:
    """What is wrong with the table, in words."""
    known = tests()
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    files |= {path.name for path in (ROOT / "tests").rglob("*_test.cc")}
    rows = dict(match.groups() for match in map(ROW.match, text.splitlines()) if match)
    said = [f"F{row} is missing" for row in ROWS if str(row) not in rows]
    for row, words in rows.items():
        answers = {name: is_there(name, known, files) for name in QUOTED.findall(words)}
        said += [f"F{row}: there is no test {name}" for name, there in answers.items()
                 if there is False]
        if not any(answers.values()) and "*open*: " not in words and not AS.search(words):
            said.append(f"F{row} names no test and is not *open*")
    return said


if __name__ == "__main__":
    page = ROOT / "docs" / "faults.md"
    found = wrong(page.read_text())
    for words in found:
        print(f"docs/faults.md: {words}")
    sys.exit(bool(found))
