"""Runs the stress program seed after seed, and checks each.

    tests/stress/run.py [SEEDS...] [--minutes N] [--build plain|preempt|tsan|asan|python]
                         [--load N] [--cast WORDS] [--unrecorded]

SEEDS: numbers and ranges like 1-30; without any, from 1 on (or from the time of day, with
--minutes). A line for each seed; the folder of a seed that fails stays. Exit status 1: one failed.
A thread that does not go on for 30 s stands still: its process's stacks are printed.

--build python: the Python half, with the package of build/release; python_half.py, which needs a
Python that can read runs. --unrecorded: the same programs by themselves, which CPython is to stand.
"""

import argparse
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from watching import followed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TREES = {"plain": "release", "preempt": "preempt", "tsan": "tsan", "asan": "asan-ubsan",
         "python": "release"}
ENDINGS = {"return": 4, "exit amid": 5, "_exit amid": 6, "kill": -9, "thread exits": 7,
           "main leaves": 0}
SANITIZED = re.compile(r"WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error:")


def run(binary: pathlib.Path, seed: int, folder: pathlib.Path) -> tuple[list[str], str, str]:
    """What is wrong with a seed, its cast, and the checker's last line."""
    cast = subprocess.run([binary, "cast", str(seed)], capture_output=True, text=True,
                          check=True).stdout.strip()
    env = dict(os.environ, TSAN_OPTIONS="die_after_fork=0 atexit_sleep_ms=0 exitcode=66",
               ASAN_OPTIONS="detect_leaks=0")
    with (folder / "output").open("wb") as output:
        program = subprocess.Popen([binary, "run", str(seed), folder], stdout=output, env=env,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            said = followed(program, folder)
        finally:
            try:
                os.killpg(program.pid, signal.SIGKILL)  # also children that it left
            except ProcessLookupError:
                pass
    status = program.wait()
    expected = ENDINGS[cast.rsplit(", ", 1)[1]]
    if not said and status != expected:
        said.append(f"exit status {status}, not {expected}")
    printed = (folder / "output").read_text(errors="replace")
    frames = re.findall(r"stress\(\+(0x\w+)\)", printed)
    if frames:
        lines = subprocess.run(["addr2line", "-Cfsp", "-e", binary, *frames], capture_output=True,
                               text=True, check=False).stdout.splitlines()
        said += [f"crashed in {line}" for line in lines[:14]]
    if SANITIZED.search(printed):
        said += sorted({line for line in printed.splitlines()
                        if line.startswith("SUMMARY") or "runtime error:" in line})
    check = subprocess.run([binary, "check", folder], capture_output=True, text=True, check=False)
    lines = check.stdout.splitlines()
    closing = lines.pop() if lines and lines[-1].startswith("=") else "the checker failed"
    if check.returncode not in (0, 1):
        said.append(f"the checker ended with {check.returncode}: {check.stderr[-500:]}")
    return said + lines, cast, closing


def make_locale(folder: pathlib.Path) -> None:
    """One whose numbers have a comma, for seeds that want it."""
    if shutil.which("localedef") is not None:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
                       capture_output=True, check=False)
        os.environ["LOCPATH"] = str(folder)


def runner(arguments: argparse.Namespace):
    """What runs a seed in its folder."""
    if arguments.build == "python":
        import python_half

        return functools.partial(python_half.run, plain=arguments.unrecorded)
    return functools.partial(run, ROOT / "build" / TREES[arguments.build] / "tests/stress/stress")


def seeds_of(words: list[str], minutes: float | None) -> range | list[int]:
    if not words:
        first = 1 if minutes is None else int(time.time()) % 1_000_000_000
        return range(first, first + 10**9)
    found = []
    for word in words:
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="*")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--build", choices=TREES, default="plain")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--unrecorded", action="store_true", help="of the Python half")
    parser.add_argument("--cast", help="words that change what seeds have: stress.cc, Changed()")
    arguments = parser.parse_args()
    if arguments.cast is not None:
        os.environ["STRESS_CAST"] = arguments.cast
    run_seed = runner(arguments)
    end = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(arguments.load)]
    failed, count = [], 0
    locale = pathlib.Path(tempfile.mkdtemp(prefix="stress-locale-"))
    make_locale(locale)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left running
    try:
        for seed in seeds_of(arguments.seeds, arguments.minutes):
            if end is not None and time.monotonic() > end:
                break
            folder = pathlib.Path(tempfile.mkdtemp(prefix=f"stress-{arguments.build}-{seed}-"))
            begin = time.monotonic()
            said, cast, closing = run_seed(seed, folder)
            count += 1
            print(f"seed {seed}: {'FAILED' if said else 'good'}, "
                  f"{time.monotonic() - begin:.1f} s {closing} | {cast}", flush=True)
            for line in said:
                print(f"    {line}", flush=True)
            if said:
                failed.append(seed)
                print(f"    kept in {folder}", flush=True)
            else:
                shutil.rmtree(folder)
    finally:
        for process in busy:
            process.kill()
        shutil.rmtree(locale)
    print(f"{count} seeds, {len(failed)} failed {failed if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
