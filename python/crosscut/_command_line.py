"""What a Python runs, as its command line says (sys.orig_argv)."""

from __future__ import annotations

import os

_CODE_SHOWN = 40  # characters of a program's first line, in its name


def script_of(argv: list[str]) -> str:
    """What a Python runs, from its command line: a script, a module or "" (-c, stdin)."""
    words = iter(argv[1:])
    for word in words:
        if not word.startswith("-") or word == "-":
            return "" if word == "-" else word
        if word == "--check-hash-based-pycs":
            next(words, "")
        if word.startswith("--"):
            continue
        for place, letter in enumerate(word[1:], 2):
            rest = word[place:]
            if letter == "c":
                return ""
            if letter == "m":
                return rest or next(words, "")
            if letter in "WX":
                if not rest:
                    next(words, "")
                break
    return ""


def code_of(argv: list[str]) -> str:
    """The first line that a Python runs without a script, cut short: "-c CODE" or "-" (stdin)."""
    code = _code(argv)
    if code is None:
        return "-"
    line = next(filter(None, map(str.strip, code.splitlines())), "")
    return "-c " + (line if len(line) <= _CODE_SHOWN else line[:_CODE_SHOWN - 3] + "...")


def program_of(argv: list[str]) -> str:
    """The path of the script that a Python runs, or a name of its program that no other one of the
    run has: with a checksum where its code is cut short, and its process where it came by stdin.
    "": a process of multiprocessing's, which runs what the one runs that started it."""
    if "--multiprocessing-fork" in argv:
        return ""
    script = script_of(argv)
    if script:
        return os.path.abspath(script) if os.path.isfile(script) else script
    code, name = _code(argv), f"python {code_of(argv)}"
    if code is not None and name != f"python -c {code.strip()}":
        checksum = 0  # zlib has better ones, and takes a moment to import
        for byte in code.encode(errors="surrogateescape"):
            checksum = (31 * checksum + byte) & 0xFFFFFFFF
        return f"{name} [{checksum:08x}]"
    parent, pid = os.environ.get("CROSSCUT_PARENT", ""), os.getpid()
    is_child = parent and not parent.startswith(f"p{pid}-")
    return f"{name} (pid {pid})" if code is None and is_child else name


def _code(argv: list[str]) -> str | None:
    """What `-c` gives a Python to run; None: it runs what it reads."""
    for word, code in zip(argv[1:], argv[2:]):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return code
    return None
