#!/usr/bin/env python3
"""Holds the budgets: file <= 600 lines, function <= 60, parameters <= 5, line <= 100 columns.

Prints what is over and exits 1; silent and 0 otherwise. An exception stands in EXCEPTIONS with
its reason. Functions are found by Universal Ctags where it is installed, in Python by ast.
"""

import ast
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS, MAX_COLUMNS = 600, 60, 5, 100
SUFFIXES = (".cc", ".h", ".c", ".py", ".ts", ".css", ".sh")

# path or "path:function": reason.
C_NAME = "a name's text, kind, layer, flags and probe are one call in C"
C_COST = "a cost is a probe and its five figures"
C_SPAWN = "the C library's own parameters"
EXCEPTIONS: dict[str, str] = {
    "plugins/preload/children.c:posix_spawn": C_SPAWN,
    "plugins/preload/children.c:posix_spawnp": C_SPAWN,
    "src/runtime/api.cc:crosscut_intern": C_NAME,
    "tests/python/pycalls/recorder_stub.c:crosscut_intern": C_NAME,
    "plugins/samples/stacks_test.cc:crosscut_intern": C_NAME,
    "tests/python/torch/recorder_stub.cc:crosscut_intern": C_NAME,
    "fuzz/python_stacks.cc:crosscut_intern": C_NAME,
    "src/runtime/api.cc:crosscut_probe_cost": C_COST,
    "src/host/push_table.cc:ProbeCost": C_COST,
    "plugins/cupti/testing/recording_host.cc:ProbeCost": C_COST,
    "src/runtime/api.cc:crosscut_collected": "a profile is its source, format, bytes and time",
    "tests/opencl/stub_host.cc:ProbeCost": C_COST,
    "tests/python/pycalls/recorder_stub.c:crosscut_probe_cost": C_COST,
    "tests/python/torch/recorder_stub.cc:crosscut_probe_cost": C_COST,
    "src/check/harness/push_host.cc:ProbeCost": C_COST,
    "tests/stress/disk.cc:__wrap_mmap": C_SPAWN,
}


def listed() -> list[str]:
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout.split("\n")
    return [f for f in out
            if f.endswith(SUFFIXES) and "page_bundle" not in f and (ROOT / f).is_file()]


def check_lines(path: str) -> list[str]:
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    found = []
    if len(lines) > MAX_FILE:
        found.append((path, f"{path}: {len(lines)} lines, budget {MAX_FILE}"))
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            found.append((path, f"{path}:{number}: {len(line)} columns, budget {MAX_COLUMNS}"))
    return found


def check_python(path: str) -> list[tuple[str, str]]:
    found = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        place = f"{path}:{node.name}"
        length = node.end_lineno - node.lineno + 1
        if length > MAX_FUNCTION:
            found.append((place, f"{place}: {length} lines, budget {MAX_FUNCTION}"))
        count = len([a for a in node.args.posonlyargs + node.args.args
                     if a.arg not in ("self", "cls")])
        if count > MAX_PARAMETERS:
            found.append((place, f"{place}: {count} parameters, budget {MAX_PARAMETERS}"))
    return found


def parameters(signature: str) -> int:
    inner = signature.strip()[1:].rsplit(")", 1)[0].strip()
    if inner in ("", "void"):
        return 0
    depth, count = 0, 1
    for character in inner:
        depth += (character in "(<[{") - (character in ")>]}")
        count += character == "," and depth == 0
    return count


def check_native(files: list[str]) -> list[tuple[str, str]]:
    ctags = shutil.which("ctags-universal") or shutil.which("ctags")
    if not ctags or not files:
        return []
    out = subprocess.run(
        [ctags, "--output-format=json", "--fields=+neS", "--kinds-c++=f", "--kinds-c=f",
         "--kinds-typescript=fm", "-f", "-", *files],
        cwd=ROOT, capture_output=True, text=True).stdout
    found = []
    for line in out.splitlines():
        tag = json.loads(line)
        place = f"{tag['path']}:{tag['name']}"
        length = int(tag.get("end", tag["line"])) - int(tag["line"]) + 1
        if length > MAX_FUNCTION:
            found.append((place, f"{place}: {length} lines, budget {MAX_FUNCTION}"))
        if parameters(tag.get("signature", "()")) > MAX_PARAMETERS:
            found.append((place, f"{place}: parameters over {MAX_PARAMETERS}"))
    return found


def main() -> int:
    files = listed()
    found = [finding for path in files for finding in check_lines(path)]
    found += [finding for path in files if path.endswith(".py") for finding in check_python(path)]
    found += check_native([f for f in files if f.endswith((".cc", ".h", ".c", ".ts"))])
    over = [text for place, text in found if place not in EXCEPTIONS]
    print("\n".join(over), end="\n" if over else "")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
