"""Lines by the table `lines` beside the programs' own clocks.

    python tests/endtoend/lines/own_clocks.py [--runs=N] [PROGRAM...]

runs each of programs.py so often, prints each line's time by both, and how many are within three
points of the wall time or 50 ms, and how many clocks lie inside the bounds.
"""

import argparse
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from runs import record, table  # noqa: E402

PROGRAM = pathlib.Path(__file__).parent / "programs.py"
LINES = PROGRAM.read_text().splitlines()
NAMES = [name for name in re.findall(r"^def (\w+)\(\):", PROGRAM.read_text(), re.M)
         if name not in ("tell", "going")]


def marked(name):
    """The numbers of the marked lines by key: of function `name`, or of what its child runs."""
    marks, function = {}, ""
    for number, line in enumerate(LINES, 1):
        function = line.split("(")[0][4:] if line.startswith("def ") else function
        for key in re.findall(r"# @(\w+)$", line):
            if function in (name, "child"):
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


def measure(name, folder):
    """Records it. Its wall time in seconds, and its lines by key."""
    clocks = folder / "clocks"
    result = record(folder / "run", [sys.executable, PROGRAM, name], env={"CLOCKS": str(clocks)})
    assert result.returncode == 0, result.stderr
    marks, own, rows = marked(name), {}, table(folder / "run", "lines")
    for text in clocks.read_text().splitlines():
        key, seconds = text.split()
        own[key] = own.get(key, 0) + float(seconds)
    per_key = {key: [row for row in rows
                    if re.search(rf"programs\.py:({'|'.join(map(str, marks[key]))}) ", row["line"])]
              for key in own}
    wall = max(row["wall_ns"] for row in table(folder / "run", "processes")) / 1e9
    return wall, {key: Line(own[key], per_key[key]) for key in own}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("programs", nargs="*", default=NAMES)
    options = parser.parse_args()
    near = inside = lines = 0
    for _ in range(options.runs):
        for name in options.programs or NAMES:
            with tempfile.TemporaryDirectory() as folder:
                wall, of_key = measure(name, pathlib.Path(folder))
            for key, line in of_key.items():
                lines += 1
                near += line.error <= max(0.03 * wall, 0.05)
                inside += line.low <= line.clock <= line.high
                print(f"{name:13} {key:12} {line.clock:7.3f} s by its clock, {line.told:7.3f} "
                      f"({line.low:.3f} to {line.high:.3f}) of {wall:.3f} s", flush=True)
    print(f"{lines} lines: {near} within 3 points or 50 ms, {inside} inside their bounds")


if __name__ == "__main__":
    main()
