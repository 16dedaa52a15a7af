"""Scripts that others wrote, beside a clock on each of their statements.

    python tests/endtoend/real/real_scripts.py --sources=DIR [--work=DIR] [--runs=N] [SCRIPT...]

DIR has a folder OWNER+NAME for each repository that scripts.py names, at the commit that stands
there; what scripts.py has from a documentation is in `quick`. Each script runs with its clock
alone, recorded with defaults, and recorded with its clock. Printed are the steps that Crosscut
found beside the rounds of the program's own loop, the first lines of the report beside the longest
lines by the clock, and whether the line to blame has as much of the loop by both.
"""

import argparse
import collections
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import statement_clock  # noqa: E402
from runs import CROSSCUT, PACKAGE, crosscut, table  # noqa: E402
from scripts import SCRIPTS  # noqa: E402

HERE = pathlib.Path(__file__).parent


def prepare(script, sources, folder):
    """The script as it is run in folder/plain, with its clock in folder/clocked."""
    shutil.rmtree(folder, ignore_errors=True)
    origin = sources / script.repository.replace("/", "+") if script.repository else HERE
    found = False
    for name in script.files:
        plain, clocked = folder / "plain" / name, (folder / "clocked" / name).with_suffix(".pyc")
        for path in (plain, clocked):
            path.parent.mkdir(parents=True, exist_ok=True)
        text = (origin / name).read_text()
        for file, old, new in script.changes:
            if file == name:
                assert old in text, f"{name} has no {old!r}"
                text = text.replace(old, new)
        plain.write_text(text)
        loop = script.loop if name == script.loop_file else None
        found |= statement_clock.clock_file(plain, clocked, loop, script.counted)
    for module, source in library_sources(script).items():
        target = folder / "libraries" / f"{module}.pyc"
        target.parent.mkdir(exist_ok=True)
        loop = script.loop if module == script.loop_file else None
        found |= statement_clock.clock_file(source, target, loop, script.counted)
    assert found, f"no loop {script.loop!r}"
    for name in script.data:
        target = folder / "plain" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(origin / name, target)
    if script.prepare:
        script.prepare(folder / "plain")


@functools.cache
def origins(python, *modules):
    """Where that interpreter finds them."""
    find = "import importlib.util, sys, json; print(json.dumps({m: " \
           "importlib.util.find_spec(m).origin for m in sys.argv[1:]}))"
    result = subprocess.run([python, "-c", find, *modules], capture_output=True, text=True,
                            check=True)
    return json.loads(result.stdout.splitlines()[-1])


def library_sources(script):
    """The files of the libraries' modules that have clocks."""
    return origins(script.python, *script.libraries) if script.libraries else {}


def run(script, folder, clocked, recorded):
    """Runs it. What its clocks say: of each process that has one."""
    name = f"{'clocked' if clocked else 'plain'}-{'recorded' if recorded else 'alone'}"
    clocks = folder / f"clocks-{name}"
    shutil.rmtree(clocks, ignore_errors=True)
    clocks.mkdir()
    main = folder / ("clocked" if clocked else "plain") / script.main
    command = [script.python, main.with_suffix(".pyc") if clocked else main, *script.arguments]
    path = [str(HERE / "site-packages"), str(folder / ("clocked" if clocked else "plain"))]
    # One thread: two that wait for each other take very long where the machine is busy.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **script.env}
    env.pop("CROSSCUT_PLAN", None)
    if clocked:
        env["LINE_CLOCK"] = str(clocks)
        env["LINE_CLOCK_LIBRARIES"] = json.dumps({
            module: str(folder / "libraries" / f"{module}.pyc") for module in script.libraries})
    if recorded:
        path.append(str(PACKAGE))
        shutil.rmtree(folder / name, ignore_errors=True)
        command = [CROSSCUT, "record", "-o", folder / name, "--", *command]
    env["PYTHONPATH"] = os.pathsep.join(path)
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900,
                            cwd=(folder / "plain" / script.main).parent)
    (folder / f"{name}.out").write_text(result.stdout + result.stderr)
    if result.returncode != 0:
        sys.exit(f"{script.name}, {name}: exit status {result.returncode}\n"
                 + result.stderr[-3000:])
    return [json.loads(path.read_text()) for path in sorted(clocks.glob("*.json"))]


@dataclasses.dataclass
class Place:
    """A statement, by its clock: parts of the loop."""
    line: str
    own: float
    below: float

    @property
    def all(self):
        return self.own + self.below


def places(clocks):
    """Of all processes: the longest first, and the loop's seconds and rounds."""
    own, below = collections.Counter(), collections.Counter()
    for clock in clocks:
        own.update(clock["inside"]["own"])
        below.update(clock["inside"]["below"])
    loop = sum(clock["loop_s"] for clock in clocks)
    out = [Place(line, seconds / loop, below[line] / loop) for line, seconds in own.items()]
    return sorted(out, key=lambda p: -p.own), loop, sum(clock["rounds"] for clock in clocks)


def statement_of(folder, script, blame):
    """"train.py:41" of a line to blame that is a later line of that statement; "": none."""
    match = re.search(r"([^/ ]+\.py):(\d+)", blame)
    if not match:
        return ""
    file, number = match[1], int(match[2])
    for name in script.files:
        if pathlib.Path(name).name == file:
            ends = statement_clock.statements(folder / "plain" / name)
            first = [line for line, end in ends.items() if line <= number <= end]
            return f"{file}:{max(first)}" if first else f"{file}:{number}"
    return ""


def show(script, folder, name, clocks):
    by_clock, loop_s, rounds = places(clocks)
    counts = {k: sum(c["counts"].get(k, 0) for c in clocks) for k in script.counted}
    rows = table(folder / name, "verdict")
    steps = {}
    for step in table(folder / name, "steps"):
        steps[step["kind"]] = steps.get(step["kind"], 0) + 1
    print(f"\n== {script.name}, {name}: {rounds} rounds in {loop_s:.2f} s, counted {counts}; "
          f"steps found: {steps}")
    print(first_screen(folder / name))
    for row in rows[:3]:
        at = statement_of(folder, script, row["blame"])
        mine = [p for p in by_clock if p.line == at]
        told = re.search(r"; ([\d.]+) % of", row["evidence"])
        clock = f"{mine[0].own:.1%} of the loop, {mine[0].all:.1%} with what it calls" if mine \
            else "no such statement"
        print(f"  {row['blame']}: told {told[1] if told else '?'} %, gain {row['gain_share']}; "
              f"by the clock {clock}")
    for place in by_clock[:8]:
        print(f"    {place.own:6.1%} {place.all:6.1%}  {place.line:22} "
              f"{text_of(folder, script, place.line)}")


def text_of(folder, script, line):
    file, _, number = line.partition(":")
    files = [folder / "plain" / name for name in script.files]
    for path in [*files, *map(pathlib.Path, library_sources(script).values())]:
        lines = path.read_text().splitlines()
        if path.name == file and number and int(number) <= len(lines):
            return lines[int(number) - 1].strip()[:60]
    return ""


def first_screen(run_folder):
    return "\n".join(crosscut("report", run_folder).splitlines()[:14])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir(), "real-scripts"))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--one", action="store_true", help="one run: recorded with its clock")
    parser.add_argument("--again", action="store_true", help="show what was recorded before")
    parser.add_argument("scripts", nargs="*")
    options = parser.parse_args()
    for script in SCRIPTS:
        if options.scripts and script.name not in options.scripts:
            continue
        folder = options.work.resolve() / script.name
        for _ in range(options.runs):
            if not options.again:
                prepare(script, options.sources.resolve(), folder)
                both = run(script, folder, True, True)
                if not options.one:
                    run(script, folder, False, True)
                    alone = run(script, folder, True, False)
            else:
                alone, both = ([json.loads(path.read_text()) for path in
                                sorted((folder / f"clocks-clocked-{name}").glob("*.json"))]
                               for name in ("alone", "recorded"))
            show(script, folder, "clocked-recorded", both)
            if not options.one:
                show(script, folder, "plain-recorded", alone)


if __name__ == "__main__":
    main()
