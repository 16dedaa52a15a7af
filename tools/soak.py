"""make soak [STAGE=name]: what takes too long for every change.

Run a stage when its subject changes, and all of them before a release. Each leaves its result, its
date and the commit in docs/soak.md.

Exit status 1: a stage failed.
"""

import datetime
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "soak.md"
LOGS = ROOT / "build" / "soak"
PYTEST = ".venv/bin/python -m pytest -q -rs"
CHECKER = "build/release/python/crosscut/bin/crosscut-check-plugin"
ZOO = f"python3 tests/zoo/run.py {CHECKER} build/release/tests/zoo/plugins"


class Stage(NamedTuple):
    """`command` runs in bash from the root. One that skips its test has failed."""

    what: str
    command: str


STAGES = {
    "kills": Stage(
        "10,000 programs killed at random, 2,500 of them flight recorders",
        "CROSSCUT_TEST_KILLS=10000 build/release/tests/endtoend/faults/faults_test --gtest_brief=1 "
        "--gtest_filter='*KilledAtRandom*'"),
    "stress": Stage(
        "the recording half under everything at once, an hour of each build and of Python",
        " && ".join([f"cmake --preset {preset} && cmake --build build/{preset} --target stress && "
                    f"python3 tests/stress/run.py --build {build} --minutes 60 --load 2"
                    for build, preset in (("plain", "release"), ("preempt", "preempt"),
                                          ("tsan", "tsan"), ("asan", "asan-ubsan"))] +
                    [".venv/bin/python tests/stress/run.py --build python --minutes 60"])),
    "levels": Stage(
        "50,000 random programs under changes of level, of each CPython version",
        f"CROSSCUT_PROGRAMS=50000 CROSSCUT_PROGRAMS_SEED=1000000 {PYTEST} tests/python/levels"),
    "samples": Stage(
        "samples at 1,000 Hz: imports, and tests of three packages, 100 times of each CPython",
        f"CROSSCUT_TEST_SUITE_RUNS=100 {PYTEST} tests/python/samples -k highest_rate"),
    "demand": Stage(
        "windows on demand, 150 cycles of start and stop",
        f"CROSSCUT_TEST_DEMAND=150 {PYTEST} tests/endtoend/test_on_demand.py -k again_and_again"),
    "import": Stage(
        "a trace of 5 GB (takes 6 GB of disk)",
        "CROSSCUT_TEST_LARGE=5 "
        f"{PYTEST} tests/endtoend/formats/test_import_large.py -k read_whole"),
    "readers": Stage(
        "280 hostile inputs to every verb and export: memory and time",
        "CROSSCUT_TEST_HOSTILE=30000 CROSSCUT_TEST_HOSTILE_INPUTS=280 "
        f"{PYTEST} tests/endtoend/formats/test_reader_budget.py"),
    "machine": Stage(
        "hostile traces beside a brute force, verbs under trouble, XSpaces there and back: half an "
        "hour of each test",
        f"export CROSSCUT_MACHINE_SECONDS=1800; {PYTEST} tests/endtoend/machine && "
        "build/release/src/verbs/verbs_xspace_again_test --gtest_brief=1"),
    "cycles": Stage(
        "10,000 sessions of a plugin",
        "CROSSCUT_TEST_CYCLES=10000 build/release/src/host/host_test --gtest_brief=1 "
        "--gtest_filter='*ManySessions*'"),
    "zoo": Stage(
        "the plugin checker: each good plugin 100 times, then the overhead rules",
        f"CROSSCUT_ZOO_RUNS=100 {ZOO} xspace push big_and_slow tensorflow_names example v1_plugin "
        f"&& CROSSCUT_ZOO_LONG=1 {ZOO} slow_hooks hooks_while_idle"),
    # ALE's C++ library is under the GPL: only here is the agent built with it.
    "emulator": Stage(
        "the C++ agent plays Pong on the emulator",
        "examples/dqn/get_ale.sh && cmake --preset release && "
        f"cmake --build build/release --target dqn && {PYTEST} tests/endtoend/test_dqn.py"),
    "ray": Stage(
        "RLlib's PPO, TRL's GRPO and Ray Train",
        f"CROSSCUT_TEST_RAY=1 {PYTEST} tests/endtoend/on_ray"),
    "mutants": Stage(
        "100 mutants of each folder, seen by its unit tests and the golden cases",
        "tools/mutate --count 100 --least 0.9 all"),
    "fuzz": Stage("every fuzzer for half an hour", "tools/fuzz.sh 1800"),
    "lint": Stage("clang-tidy over all sources", "tools/lint.sh --all"),
    "bench": Stage("every benchmark builds", "tools/setup.sh tests bench"),
}


def commit() -> str:
    """The commit that was tested; with a + where the tree had changes of its own."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                          text=True, check=True).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no", "--",
                              f":!{PAGE.relative_to(ROOT)}"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return head + ("+" if changed else "")


def run(name: str, stage: Stage) -> bool:
    """Runs a stage, its output on the terminal and in a file, and notes how it ended."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "build/release/python"))
    env["PATH"] = f"{ROOT}/build/release/python/crosscut/bin:{env['PATH']}"
    LOGS.mkdir(parents=True, exist_ok=True)
    print(f"\n== {name}: {stage.what}", flush=True)
    begin, said = time.monotonic(), []
    with (LOGS / f"{name}.log").open("w") as log, subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", stage.command], cwd=ROOT, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            log.write(line)
            said.append(line)
    seconds = round(time.monotonic() - begin)
    good = process.returncode == 0 and not re.search(r"\bSKIPPED\b", "".join(said))
    note(name, f"{'passed' if good else 'FAILED'} | {seconds:,} | "
               f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d} | {commit()}")
    print(f"== {name}: {'passed' if good else 'FAILED'}, {seconds} s", flush=True)
    return good


def note(name: str, result: str) -> None:
    """Writes the page: the row of one stage anew, the others as they stand there."""
    rows = {}
    if PAGE.exists():
        rows = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", PAGE.read_text(), re.M))
    rows[name] = result
    table = "\n".join(f"| `{key}` | {stage.what} | {rows.get(key, 'not run | | |')} |"
                      for key, stage in STAGES.items())
    PAGE.write_text(f"""# What takes hours

`make soak` runs all of this, `make soak STAGE=kills` one stage: when its subject changes, and
before a release. The command writes this page; a commit with a + had changes beside it.

| stage | what | result | seconds | date | commit |
| --- | --- | --- | --- | --- | --- |
{table}
""")


def main() -> None:
    names = sys.argv[1:] or list(STAGES)
    for name in names:
        if name not in STAGES:
            sys.exit(f"soak: no stage {name}; there are {', '.join(STAGES)}")
    results = [run(name, STAGES[name]) for name in names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
