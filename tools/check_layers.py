#!/usr/bin/env python3
"""Checks who may include whom: the floor plan of the design, as a table.

Prints every include that crosses a wall, every permission that nobody uses, every circle of
includes, every header that lacks the one for its integers and whoever takes the GIL by another way
than the one that there is, and exits 1; silent and 0 otherwise.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The rooms of the analyses, each with those below it: they come together in ANALYSES.
ANALYSIS_ROOMS = {
    "accounting": set(),
    "memory": set(),
    "devices": {"accounting"},
    "collectives": {"devices"},
    "operators": {"devices", "memory"},
    "steps": {"accounting"},
    "timeline": {"accounting", "steps"},
    "time": {"accounting", "devices", "operators", "steps"},
    "processes": {"accounting", "devices", "time"},
    "verdict": {"accounting", "collectives", "devices", "steps"},
}
ANALYSES = "src/analyze/{findings,gaps,tables}"

# folder: the folders of this project it may include, beside itself. A folder stands for all rooms
# in it, but for its own rooms it is the files that lie in none.
ALLOWED = {
    "include/crosscut": set(),
    "src/base": set(),
    "src/format": {"src/base"},
    "src/xspace": {"src/base"},
    "src/collect": {"include/crosscut", "src/base", "src/format"},
    "src/host": {"include/crosscut", "src/base", "src/collect"},
    "src/runtime": {"include/crosscut", "src/base", "src/format", "src/collect", "src/host"},
    "src/trace": {"src/base"},
    "src/import": {"src/base", "src/trace"},
    "src/import/chrome": {"src/base", "src/trace", "src/import"},
    "src/import/xspace": {"src/base", "src/trace", "src/xspace", "src/import"},
    "src/import/native": {"src/base", "src/format", "src/trace", "src/import", "src/import/chrome",
                          "src/import/xspace"},
    "src/export": {"src/base", "src/xspace", "src/trace"},
    "src/analyze": {"src/trace"},
    **{f"src/analyze/{room}": {"src/trace", "src/analyze", *(f"src/analyze/{b}" for b in below)}
       for room, below in ANALYSIS_ROOMS.items()},
    ANALYSES: {"src/base", "src/trace", "src/analyze",
               *(f"src/analyze/{room}" for room in ANALYSIS_ROOMS
                 if room not in {"operators", "steps", "timeline"})},
    "src/report": {"src/base", "src/trace", "src/analyze"},
    "src/compare": {"src/base", "src/trace", "src/analyze", "src/report"},
    "src/verbs/recording": {"src/base", "src/format"},
    "src/verbs": {"src/base", "src/format", "src/trace", "src/import", "src/export", "src/analyze",
                  "src/report", "src/compare", "src/verbs/recording"},
    "src/check/harness": {"include/crosscut", "src/base", "src/xspace"},
    "src/check": {"src/base", "src/check/harness"},
    "src/cli": {"src/base", "src/verbs"},
    "python/ext/read": {"src/base", "src/verbs", "src/analyze"},
    "python/ext/record": {"include/crosscut"},
    "plugins": {"include/crosscut"},
    "examples": {"include/crosscut"},
}
# Only these may see both halves.
UNCHECKED = ("tests/", "fuzz/", "bench/")
# Folders whose folders are rooms, each with a row.
ROOMY = {"analyze", "check", "import", "verbs"}
FORBIDDEN_FOLDERS = {"common", "util", "utils", "helpers", "core", "misc", "internal"}
# The recording half links libc, libstdc++ and zstd; these headers would bring more.
RECORDING = ("src/base", "src/format", "src/collect", "src/host", "src/runtime")
# Who takes events as words, and gives them meaning.
WORDS = {"src/format/run_reader.h", "src/format/process_reader.h"}
MEANING = ("src/format", "src/import/native")
FOREIGN = re.compile(r"#include\s*<(fmt/|simdjson|protozero|google/protobuf|absl/|CLI/|nlohmann)")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]((?:src|crosscut|python|plugins)/[^">]+)[">]', re.M)


def room_of(path: str) -> str | None:
    """The row of ALLOWED for a file's path, or None where nothing is checked."""
    if path.startswith(UNCHECKED):
        return None
    if path.startswith("python/ext/"):
        return "python/ext/read" if "/read" in path else "python/ext/record"
    if re.match(r"src/analyze/(findings|gaps|tables)(_test)?\.", path):
        return ANALYSES
    for room in sorted(ALLOWED, key=len, reverse=True):
        if path.startswith(room + "/"):
            return room
    return None


def folder_of(room: str) -> str:
    """The row of ALLOWED that stands for a room to those outside its folder."""
    return "/".join(room.split("/")[:2]) if room.startswith("src/") else room


def permission(room: str, target: str) -> str | None:
    """Which entry of ALLOWED[room] lets it include files of `target`; None: it may not."""
    names = (target,) if folder_of(room) == folder_of(target) else (target, folder_of(target))
    return next((name for name in names if name in ALLOWED[room]), None)


def target_room(include: str) -> str | None:
    if include.startswith("crosscut/"):
        return "include/crosscut"
    return room_of(include)


def is_test(path: str) -> bool:
    return path.endswith(("_test.cc", "_test.h")) or "/testing/" in path


def unit_of(path: str) -> str:
    """A header and its source are one: src/trace/trace."""
    return path.rpartition(".")[0]


def circles(includes: dict[str, set[str]]) -> list[str]:
    """The units that include each other, one line for each circle that a walk meets."""
    found, done, path = [], set(), []

    def walk(unit: str) -> None:
        if unit in path:
            found.append(" -> ".join([*path[path.index(unit):], unit]) + ": a circle of includes")
        elif unit not in done:
            path.append(unit)
            for target in sorted(includes.get(unit, ())):
                walk(target)
            done.add(path.pop())

    for unit in sorted(includes):
        walk(unit)
    return found


def findings(files: list[str]) -> list[str]:
    found, used, includes = [], set(), {}
    for folder in sorted({str(pathlib.PurePath(path).parent) for path in files}):
        roomy = re.fullmatch(r"src/(\w+)/\w+", folder)
        if roomy and roomy[1] in ROOMY and folder not in ALLOWED:
            if not folder.endswith("/testing"):
                found.append(f"{folder}: a room without a row in ALLOWED (tools/check_layers.py)")
    for path in files:
        parts = set(pathlib.PurePath(path).parts[:-1])
        if parts & FORBIDDEN_FOLDERS:
            found.append(f"{path}: a folder must say what it holds")
        room = room_of(path)
        if room is None or not path.endswith((".h", ".cc", ".c", ".cpp")):
            continue
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for include in INCLUDE.findall(text):
            target = target_room(include)
            if target is None or is_test(path):
                continue
            if include in WORDS and room not in MEANING:
                found.append(f"{path}: includes {include}: only import/native interprets words")
            if path.startswith("src/") and include.startswith("src/"):
                if unit_of(path) != unit_of(include):
                    includes.setdefault(unit_of(path), set()).add(unit_of(include))
            if target == room:
                continue
            by = permission(room, target)
            used.add((room, by))
            if by is None:
                found.append(f"{path}: {room} may not include {include}")
        if path.startswith(RECORDING) and not is_test(path) and FOREIGN.search(text):
            found.append(f"{path}: a library that must not be in the user's process")
    for room, permitted in ALLOWED.items():
        found.extend(f"tools/check_layers.py: {room} may include {name}, but never does"
                     for name in sorted(permitted) if (room, name) not in used)
    return found + circles(includes)


# The way into Python, which asks whether Python runs: nobody else takes the GIL.
DOOR = "include/crosscut/in_python.h"
BESIDE_THE_DOOR = {"plugins/tensorflow/recorder.cc"}  # is linked to no Python


def past_the_door(files: list[str]) -> list[str]:
    """Sources that enter Python by themselves."""
    return [f"{path}: takes the GIL by itself; use {DOOR}" for path in files
            if path.endswith((".h", ".cc", ".c")) and not path.startswith(UNCHECKED)
            and path not in {DOOR, *BESIDE_THE_DOOR}
            and re.search(r"\bPyGILState_Ensure\b", (ROOT / path).read_text(errors="replace"))]


INTEGERS = re.compile(r"\bu?int(8|16|32|64|ptr)_t\b")
THEIR_HEADERS = re.compile(r"#include <(cstdint|stdint\.h)>")


def without_integers(files: list[str]) -> list[str]:
    """Headers that get these types by another header: which one has them differs between versions
    of a compiler's library."""
    found = []
    for path in files:
        if not path.endswith(".h"):
            continue
        text = (ROOT / path).read_text()
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        if INTEGERS.search(code) and not THEIR_HEADERS.search(text):
            found.append(f"{path}: it uses integers of <cstdint> and does not include that")
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    files = [f for f in listed if f and (ROOT / f).is_file()]
    found = findings(files) + without_integers(files) + past_the_door(files)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
