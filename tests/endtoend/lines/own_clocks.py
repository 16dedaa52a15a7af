"""Lines by the table `lines` beside the programs' own clocks.

    python tests/endtoend/lines/own_clocks.py [--runs=N] [--seconds=S] [PROGRAM...]

runs each of the programs so often, for about so long each, prints each line's time by both, and how
many are within three points of the wall time or 50 ms, and how many clocks lie inside the bounds.
"""

import argparse
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from runs import record, table  # noqa: E402

FOLDER = pathlib.Path(__file__).parent
FILES = ["programs.py", "callbacks.py", "workers.py"]
NAMES = {name: file for file in FILES
         for name in re.findall(r"^def (\w+)\(\):", (FOLDER / file).read_text(), re.M)}


def marked(file):
    """The numbers of the marked lines by key."""
    marks = {}
    for number, text in enumerate((FOLDER / file).read_text().splitlines(), 1):
        for key in re.findall(r"# @(\w+)$", text):
            marks.setdefault(key, []).append(number)
    return marks


class Line:
    """Times in seconds."""

    def __init__(self, clock, rows):
        self.clock = clock
        self.told, self.low, self.high = (sum(row[column] for row in rows) / 1e9
                                          for column in ("ns", "low_ns", "high_ns"))

    @property
    def error(self):
        return abs(self.told - self.clock)


def measure(name, folder, seconds=2.5):
    """Records it, without control steps, in which nobody looks. Its wall time in seconds, and its
    lines by key."""
    clocks, file = folder / "clocks", NAMES[name]
    result = record(folder / "run", [sys.executable, FOLDER / file, name],
                    "--control-steps=0",
                    env={"CLOCKS": str(clocks), "SECONDS": str(seconds)})
    assert result.returncode == 0, result.stderr
    marks, own, rows = marked(file), {}, table(folder / "run", "lines")
    for text in clocks.read_text().splitlines():
        key, took = text.split()
        own[key] = own.get(key, 0) + float(took)
    per_key = {key: [row for row in rows if re.search(
        rf"(^|/){file}:({'|'.join(map(str, marks[key]))}) ", row["line"])] for key in own}
    wall = max(row["wall_ns"] for row in table(folder / "run", "processes")) / 1e9
    return wall, {key: Line(own[key], per_key[key]) for key in own}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("programs", nargs="*", default=NAMES)
    options = parser.parse_args()
    near = inside = lines = 0
    for _ in range(options.runs):
        for name in options.programs or NAMES:
            with tempfile.TemporaryDirectory() as folder:
                wall, of_key = measure(name, pathlib.Path(folder), options.seconds)
            for key, line in of_key.items():
                lines += 1
                is_near = line.error <= max(0.03 * wall, 0.05)
                is_inside = line.low <= line.clock <= line.high
                near += is_near
                inside += is_inside
                print(f"{name:14} {key:10} {line.clock:7.3f} s by its clock, {line.told:7.3f} "
                      f"({line.low:.3f} to {line.high:.3f}) of {wall:.3f} s"
                      f"{'' if is_near else ' FAR'}{'' if is_inside else ' outside'}", flush=True)
    print(f"{lines} lines: {near} within 3 points or 50 ms, {inside} inside their bounds")


if __name__ == "__main__":
    main()
