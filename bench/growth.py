"""Whether what a verb takes grows faster than its input: processor seconds of every table, view,
export and import, and of diff, for n, 2n and 4n of one thing at a time (growth_inputs.py).

Usage: growth.py [-n 2000] [KIND...]     needs build/release
Prints what takes more than 2.6 times as long at the last doubling and 2.2 times at the first, and
60 ms at least, or two minutes; exit status 1 where there is any. A square takes 4 times as long.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import growth_waits  # noqa: F401  (adds its kinds)
from growth_inputs import KINDS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build" / "release" / "python"
COMMAND = PACKAGE / "crosscut" / "bin" / "crosscut"
LONGEST = 120
# Both sides of a diff have names of their own.
OTHER = (("fn", "other"), ("work", "krow"), ("aten::", "aten::z"), ("kernel", "karnel"))
TABLES = """
import json, sys, time
from crosscut import _read
def timed(name, call):
    begin = time.process_time()
    result = call()
    out[name] = time.process_time() - begin
    return result
out = {}
run = timed("read", lambda: _read.open(sys.argv[1]))
for name in _read.tables():
    timed("table " + name, lambda: run.table(name))
for view in ("text", "markdown", "json"):
    timed("report " + view, lambda: run.report(view, 100))
json.dump(out, sys.stdout)
"""


def seconds_of(*command: object) -> tuple[float, bytes]:
    """Processor seconds of a command, and what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                              env=dict(os.environ, PYTHONPATH=str(PACKAGE)),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return LONGEST, b""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def measure(kind: str, n: int, folder: pathlib.Path) -> dict[str, float]:
    """Seconds by what was done."""
    text = "\n".join(KINDS[kind](n)) + "\n"
    path, other = folder / "input.txt", folder / "other.txt"
    path.write_text(text)
    for word, instead in OTHER:
        text = text.replace(word, instead)
    other.write_text(text)
    taken, tables = seconds_of(sys.executable, "-c", TABLES, path)
    seconds = json.loads(tables) if tables else {"tables": taken}
    work = {
        "html": ("report", path, "--format=html", "-o", folder / "x.html"),
        "info": ("info", path),
        "diff": ("diff", path, other),
        "import": ("import", path, "-o", folder / "run"),
        **{f"export {to}": ("export", path, f"--to={to}", "-o", folder / f"x.{to}")
           for to in ("chrome", "xspace", "perfetto", "speedscope", "collapsed", "pprof-spans")},
        "read chrome": ("table", folder / "x.chrome", "overlap"),
        "read xspace": ("table", folder / "x.xspace", "overlap"),
        "export chrome again": ("export", folder / "x.chrome", "--to=chrome", "-o",
                                folder / "y.chrome"),
    }
    for what, words in work.items():
        seconds[what], _ = seconds_of(COMMAND, *words)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    arguments = parser.parse_args()
    grows = 0
    for kind in arguments.kinds or KINDS:
        sizes = []
        for times in (1, 2, 4):
            with tempfile.TemporaryDirectory() as folder:
                sizes.append(measure(kind, times * arguments.n, pathlib.Path(folder)))
        for what in sizes[0]:
            once, twice, four = (size.get(what, LONGEST) for size in sizes)
            fast = four > 2.6 * twice and twice > 2.2 * once and four > 0.06
            if not fast and four < LONGEST:
                continue
            grows += 1
            print(f"{kind}: {what} takes {once:.3f}, {twice:.3f} and {four:.3f} s", flush=True)
    return 1 if grows else 0


if __name__ == "__main__":
    sys.exit(main())
