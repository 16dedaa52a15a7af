#!/usr/bin/env python3
"""Checks the checker: each plugin of zoo.txt must be flagged by its own rule and no other.

run.py CHECKER FOLDER [NAME...]      CROSSCUT_ZOO_RUNS=100: so many runs of each good plugin
                                     CROSSCUT_ZOO_LONG=1: everything at its full length
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LONG = os.environ.get("CROSSCUT_ZOO_LONG", "") == "1"
RUNS = int(os.environ.get("CROSSCUT_ZOO_RUNS", "2"))
# Short forms: what is wrong with a plugin of the zoo shows in few sessions.
SHORT = [] if LONG else ["--cycles=400", "--events=100000", "--deadline=1.5", "--budget=2",
                         "--fuzz-seconds=1"]
BAD_LEVEL, GOOD_LEVEL = ["--level=8", "--skip=C12"], ["--level=5"]


def zoo() -> list[tuple[str, str, list[str]]]:
    animals = []
    for line in (HERE / "zoo.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            animals.append((words[0], words[1], words[2:]))
    return animals


def check(checker: str, folder: pathlib.Path, name: str,
          flags: list[str]) -> tuple[int, set[str]]:
    """The exit status and the rules of the findings; those of warnings end in '!'."""
    command = [checker, str(folder / f"{name}.so"), "--json", "--jobs=2", *flags]
    work = folder / "libzoo_device.so"
    if name not in ("example", "v1_plugin", "tensorflow_names"):
        command += [f"--work={work}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return done.returncode, {done.stderr.strip() or "no JSON"}
    tests = json.loads(done.stdout)["tests"]
    return done.returncode, {f["rule"] + ("" if f["severity"] == "FAIL" else "!")
                             for test in tests for f in test["findings"]}


def judge(checker: str, folder: pathlib.Path, animal: tuple[str, str, list[str]], run: int) -> str:
    """What is wrong with the verdict, or ''."""
    name, rule, flags = animal
    own = [flag for flag in flags if flag.startswith("--")]
    level = GOOD_LEVEL if rule == "good" else BAD_LEVEL
    if any(flag.startswith("--only") for flag in own):
        level = []
    for _ in range(3):
        code, found = check(checker, folder, name, [*level, *SHORT, *own, f"--seed={run}"])
        late = {f for f in found if f.endswith(".time!")} - {rule + "!"}
        if not late:  # else the machine was too busy for a test to end
            break
    if rule == "good":
        return f"{name}: a false alarm, {sorted(found)}" if found or code != 0 else ""
    failed = code == (0 if found == {rule + "!"} else 1)
    if {f.rstrip("!") for f in found} == {rule} and failed:
        return ""
    return f"{name}: wanted {rule}, found {sorted(found)}, exit status {code}"


def main() -> int:
    checker, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    names = set(sys.argv[3:])
    animals = [a for a in zoo() if (not names or a[0] in names) and (LONG or "long" not in a[2])]
    jobs = [(a, run) for a in animals for run in range(RUNS if a[1] == "good" else 1)]
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for verdict in pool.map(lambda job: judge(checker, folder, *job), jobs):
            if verdict:
                print(verdict, flush=True)
                wrong.append(verdict)
    for left in pathlib.Path("/dev/shm").glob("zoo-*"):
        left.unlink(missing_ok=True)
    bad = sum(a[1] != "good" for a in animals)
    print(f"{bad} bad plugins, {len(animals) - bad} good ones in {len(jobs) - bad} runs: "
          f"{len(wrong)} wrong verdicts")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
