"""Which operator shim is loaded: the carried one, one that was built before, one that is built now;
and what is said where there is none."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from runs import PACKAGE, ROOT, table

sys.path.insert(0, str(PACKAGE))
from crosscut.adapters import torch_build  # noqa: E402

PROGRAM = "import torch\nfor _ in range(50): torch.add(torch.ones(3), 1)\n"
PARENT = """
import subprocess, sys, torch
subprocess.run([sys.executable, "-c", "import torch"], check=True)
"""
# In the place of a compiler: counts its calls, and links to what was built before.
COMPILER = """#!/bin/sh
echo "$*" >>{calls}
case "$*" in
  *-shared*) while [ "$1" != -o ]; do shift; done; cp {shim} "$2" ;;
esac
{last}
"""


@pytest.fixture(scope="module")
def shim():
    return torch_build.build()


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The package, as a wheel without shims leaves it."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE / "crosscut", folder / "crosscut", symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "crosscut" / "lib" / "pytorch").mkdir()
    return folder


@pytest.fixture
def package(copied):
    yield copied
    for file in (copied / "crosscut" / "lib" / "pytorch").iterdir():
        file.unlink()


def compiler(folder, shim, last="exit 0"):
    file = folder / "c++"
    file.write_text(COMPILER.format(calls=folder / "calls", shim=shim, last=last))
    file.chmod(0o755)
    return file


def call(package, cache, verb, *words, cxx="/nowhere/c++"):
    env = {**os.environ, "PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache),
           "CXX": str(cxx), "CROSSCUT_PLAN": "full"}
    return subprocess.run([sys.executable, "-m", "crosscut", verb, *map(str, words)], env=env,
                          capture_output=True, text=True, timeout=600)


def record(package, cache, run, program=PROGRAM, cxx="/nowhere/c++"):
    """What `record` said on stderr, and how often the run has aten::add."""
    done = call(package, cache, "record", "-o", run, "--", sys.executable, "-c", program, cxx=cxx)
    assert done.returncode == 0 and done.stdout == "", done
    return done.stderr, sum(row["count"] for row in table(run, "functions")
                            if row["name"] == "aten::add")


def carry(package, shim):
    name = torch_build.carried_name(torch_build.torch_folder())
    target = package / "crosscut" / "lib" / "pytorch" / name
    shutil.copy(shim, target)
    return target


def failing(folder):
    """A shim that loads and does not pass its test."""
    source = folder / "failing.c"
    source.write_text('const char* crosscut_pytorch_test(void) { return "it saw 3 of 100"; }\n')
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o",
                    folder / "failing.so"], check=True)
    return folder / "failing.so"


def test_the_headers_that_tell_versions_apart_are_those_that_the_sources_include():
    sources = (ROOT / "plugins" / "pytorch").glob("*.[ch]*")
    included = {header for source in sources for header in
                re.findall(r"#include <((?:ATen|c10|torch)/.*)>", source.read_text())}
    assert included and included <= set(torch_build.HEADERS)


def test_a_header_or_a_release_that_differs_is_another_pytorch(tmp_path):
    torch = torch_build.torch_folder()
    for name in torch_build.HEADERS:
        target = tmp_path / "include" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(torch / "include" / name, target)
    version = tmp_path / "version.py"
    version.write_text((torch / "version.py").read_text())
    same = torch_build.carried_name(tmp_path)
    assert same and same == torch_build.carried_name(torch)
    version.write_text("__version__ = '1.2.3'\n")
    assert "1.2-" in torch_build.carried_name(tmp_path)
    shutil.copy(torch / "version.py", version)
    with open(tmp_path / "include" / torch_build.HEADERS[0], "a") as header:
        header.write("\n")
    assert torch_build.carried_name(tmp_path) not in ("", same)
    (tmp_path / "include" / torch_build.HEADERS[0]).unlink()
    assert torch_build.carried_name(tmp_path) == ""


def test_a_carried_shim_needs_no_compiler(package, shim, tmp_path):
    carried = carry(package, shim)
    said, count = record(package, tmp_path / "cache", tmp_path / "run")
    assert count == 50 and "operators" not in said
    assert not (tmp_path / "cache" / "crosscut" / "pytorch").exists()
    assert f"by {carried} (carried)" in call(package, tmp_path / "cache", "doctor").stdout


def test_the_first_record_builds_a_shim_and_says_so(package, shim, tmp_path):
    cxx = compiler(tmp_path, shim)
    said, count = record(package, tmp_path / "cache", tmp_path / "run", cxx=cxx)
    assert count == 50 and "crosscut: builds its part for PyTorch" in said
    calls = (tmp_path / "calls").read_text()
    said, count = record(package, tmp_path / "cache", tmp_path / "again", cxx=cxx)
    assert count == 50 and "its part" not in said and (tmp_path / "calls").read_text() == calls
    assert "(built here)" in call(package, tmp_path / "cache", "doctor").stdout


def test_a_carried_shim_that_fails_its_test_gives_way_to_one_that_is_built(package, shim, tmp_path):
    carry(package, failing(tmp_path))
    said, count = record(package, tmp_path / "cache", tmp_path / "run",
                         cxx=compiler(tmp_path, shim))
    assert count == 50 and "crosscut: builds its part" in said


def test_without_shim_and_compiler_report_and_stderr_say_so_once(package, tmp_path):
    carry(package, failing(tmp_path))
    said, count = record(package, tmp_path / "cache", tmp_path / "run", PARENT)
    assert count == 0 and said.count("no operators of PyTorch are recorded") == 1
    assert "it saw 3 of 100" in said and "compiler /nowhere/c++ (from CXX) was not found" in said
    report = call(package, tmp_path / "cache", "report", tmp_path / "run").stdout
    assert "\n! Source pytorch missing in 2 processes: no operators" in f"\n{report}"
    assert [row["state"] for row in table(tmp_path / "run", "sources")
            if row["name"] == "pytorch"] == ["missing"]


def test_what_did_not_compile_is_tried_again_only_when_asked_to(package, shim, tmp_path):
    cxx = compiler(tmp_path, shim, "echo 'x.cc:1: error: no such thing' >&2; exit 1")
    for run in ("first", "second"):
        said, count = record(package, tmp_path / "cache", tmp_path / run, cxx=cxx)
        assert count == 0
        assert "recorded: the compiler failed: x.cc:1: error: no such thing; run:" in said
        assert ("builds its part" in said) == (run == "first")
    calls = (tmp_path / "calls").read_text()
    doctor = call(package, tmp_path / "cache", "doctor", "--build", cxx=cxx)
    assert doctor.returncode == 1 and "error: no such thing" in doctor.stdout
    assert len((tmp_path / "calls").read_text()) > len(calls)
    call(package, tmp_path / "cache", "doctor", "--build", cxx=compiler(tmp_path, shim))
    assert record(package, tmp_path / "cache", tmp_path / "third")[1] == 50


def test_a_part_of_ours_that_is_missing_is_named_and_no_compiler_called(package, shim, tmp_path):
    source = package / "crosscut" / "plugins" / "pytorch" / "self_test.cc"
    kept = source.rename(tmp_path / "self_test.cc")
    try:
        said, _ = record(package, tmp_path / "cache", tmp_path / "run",
                         cxx=compiler(tmp_path, shim))
    finally:
        kept.rename(source)
    assert "a part of Crosscut is missing: " in said and "self_test.cc" in said
    assert not (tmp_path / "calls").exists()


def test_the_set_up_tries_again_what_did_not_compile(tmp_path):
    cxx = compiler(tmp_path, "nothing", "echo 'x.cc:1: error: no such thing' >&2; exit 1")
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "XDG_CACHE_HOME": str(tmp_path / "cache"),
           "CXX": str(cxx)}
    calls = [""]
    for _ in range(2):
        done = subprocess.run([sys.executable, "-m", "crosscut.adapters.torch_build"], env=env,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 1 and "error: no such thing" in done.stderr
        calls.append((tmp_path / "calls").read_text())
        assert len(calls[-1]) > len(calls[-2])


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
