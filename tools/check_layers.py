#!/usr/bin/env python3
"""Checks who may include whom: the floor plan of the design, as a table.

Prints every include that crosses a wall and exits 1; silent and 0 otherwise.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder: the folders of this project it may include, beside itself.
ALLOWED = {
    "include/crosscut": set(),
    "src/base": set(),
    "src/format": {"src/base"},
    "src/xspace": {"src/base"},
    "src/collect": {"include/crosscut", "src/base", "src/format"},
    "src/host": {"include/crosscut", "src/base", "src/collect"},
    "src/runtime": {"include/crosscut", "src/base", "src/format", "src/collect", "src/host"},
    "src/trace": {"src/base"},
    "src/import": {"src/base", "src/format", "src/xspace", "src/trace"},
    "src/export": {"src/base", "src/xspace", "src/trace"},
    "src/analyze": {"src/base", "src/trace"},
    "src/report": {"src/base", "src/trace", "src/analyze"},
    "src/verbs": {"src/base", "src/format", "src/xspace", "src/trace", "src/import",
                  "src/export", "src/analyze", "src/report"},
    "src/check": {"include/crosscut", "src/base", "src/xspace", "src/host"},
    "src/cli": {"src/base", "src/verbs"},
    "python/ext/read": {"src/base", "src/verbs", "src/analyze", "src/trace"},
    "python/ext/record": {"include/crosscut"},
    "plugins": {"include/crosscut"},
    "examples": {"include/crosscut"},
}
# Only these may see both halves.
UNCHECKED = ("tests/", "fuzz/", "bench/")
FORBIDDEN_FOLDERS = {"common", "util", "utils", "helpers", "core", "misc", "internal"}
# The recording half links libc, libstdc++ and zstd; these headers would bring more.
RECORDING = ("src/base", "src/format", "src/collect", "src/host", "src/runtime")
FOREIGN = re.compile(r"#include\s*<(fmt/|simdjson|protozero|google/protobuf|absl/|CLI/|nlohmann)")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]((?:src|crosscut|python|plugins)/[^">]+)[">]', re.M)


def room_of(path: str) -> str | None:
    """The row of ALLOWED for a file's path, or None where nothing is checked."""
    if path.startswith(UNCHECKED):
        return None
    if path.startswith("python/ext/"):
        return "python/ext/read" if "/read" in path else "python/ext/record"
    for room in sorted(ALLOWED, key=len, reverse=True):
        if path.startswith(room + "/"):
            return room
    return None


def target_room(include: str) -> str | None:
    if include.startswith("crosscut/"):
        return "include/crosscut"
    return room_of(include)


def is_test(path: str) -> bool:
    return path.endswith(("_test.cc", "_test.h")) or "/testing/" in path


def findings(files: list[str]) -> list[str]:
    found = []
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
            if target is None or target == room or is_test(path):
                continue
            if room == "plugins" and target == "plugins":
                continue
            if target not in ALLOWED[room]:
                found.append(f"{path}: {room} may not include {include}")
        if path.startswith(RECORDING) and not is_test(path) and FOREIGN.search(text):
            found.append(f"{path}: a library that must not be in the user's process")
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    found = findings([f for f in listed if f and (ROOT / f).is_file()])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
