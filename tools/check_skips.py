#!/usr/bin/env python3
"""Prints the tests that were skipped, each with its reason, and exits 1 where one is not in
tests/allowed_skips.txt.

    python3 tools/check_skips.py build/release/Testing/Temporary/LastTest.log    of ctest
"""

import pathlib
import re
import sys

LIST = pathlib.Path(__file__).resolve().parent.parent / "tests" / "allowed_skips.txt"
# What googletest prints: where, the reason in the next lines, then the test's name.
SKIPPED = re.compile(r"^\S+:\d+: Skipped\n(.*?)\n*^\[  SKIPPED \] (\S+)", re.M | re.S)


def reasons(text):
    return [re.compile(line) for line in text.splitlines() if line and not line.startswith("#")]


def unknown(skips, allowed=None):
    """Of pairs (test, reason) those that CI does not allow."""
    allowed = reasons(LIST.read_text(encoding="utf-8")) if allowed is None else allowed
    return [(test, reason) for test, reason in skips
            if not any(pattern.fullmatch(reason.strip()) for pattern in allowed)]


def main():
    log = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    skips = [(test, reason) for reason, test in SKIPPED.findall(log)]
    for test, reason in skips:
        print(f"skipped: {test}: {reason.strip()}")
    wrong = unknown(skips)
    for test, _ in wrong:
        print(f"{test}: this reason is not in {LIST.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
