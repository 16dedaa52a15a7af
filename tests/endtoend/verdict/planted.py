"""Programs with one planted fault each, and their twins without it: does the verdict name it?

    python tests/endtoend/verdict/planted.py --runs=20 [CASE...]

runs each case and its twin so often, prints a row for each, and exits with 1 if a verdict was
wrong. Right: with the fault, the first verdict has its cause, and where a line is to blame, that
line. Without it, no verdict blames that line, nor has that cause as the first.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from runs import PACKAGE, ROOT, record, table  # noqa: E402

PROGRAMS = pathlib.Path(__file__).parent / "programs"
TENSORFLOW = ROOT / ".venv-tensorflow" / "bin" / "python"
RL = ROOT / ".venv-rl" / "bin" / "python"


class Case:
    """`causes`: those that are right. `line`: whether samples must name the line marked HERE.
    `python`: the interpreter that has what the program imports. `flags`: of `record`."""

    def __init__(self, program, *arguments, causes, line=True, python=sys.executable, env=None,
                 flags=()):
        self.program = PROGRAMS / program
        self.arguments, self.causes, self.python = arguments, causes, pathlib.Path(python)
        self.line, self.env, self.flags = line, env or {}, flags

    def lines(self):
        """The places marked HERE in the program: "/train.py:31"."""
        text = self.program.read_text().splitlines()
        return [f"/{self.program.name}:{number}" for number, line in enumerate(text, 1)
                if line.rstrip().endswith("HERE") and self._concerns(text, number)]

    def _concerns(self, text, number):
        """Whether the mark lies in the function that the first argument names, if one does, or in
        what that has others do, `def NAME_part(...)`."""
        around = [line for line in text[:number] if line.startswith(("def ", "class "))]
        named = [a for a in self.arguments if f"def {a}():" in text]
        return not named or (around and around[-1].startswith((f"def {named[0]}():",
                                                               f"def {named[0]}_part(")))

    def run(self, folder, planted):
        """Records it; the rows of its verdict."""
        shutil.rmtree(folder, ignore_errors=True)
        env = {"PLANTED": str(int(planted)), "TF_CPP_MIN_LOG_LEVEL": "3",
               "SB3_LOGDIR": str(folder) + "-logs", **self.env}
        command = [self.python, self.program, *self.arguments]
        if self.program.suffix == ".cc":
            command = [compiled(self.program, folder.parent)]
        result = record(folder, command, "--plan=full", *self.flags, env=env)
        assert result.returncode == 0, result.stderr
        return table(folder, "verdict")

    def wrong(self, rows, planted):
        """What is wrong with a verdict; "" if nothing is."""
        first = rows[0]
        here = any(("/" + first["blame"]).split(" ")[0].endswith(line) for line in self.lines())
        told = f"{first['cause']} {float(first['share']):.0%}, {first['blame']}"
        if not planted:
            return told if first["cause"] in self.causes and (here or not self.line) else ""
        if first["cause"] not in self.causes:
            return f"{told}: not {' or '.join(self.causes)}"
        return f"{told}: not {self.lines()}" if self.line and not here else ""


def compiled(source, folder):
    """The program that the C++ source makes."""
    program = folder / source.stem
    subprocess.run(["c++", "-std=c++20", "-O1", "-I", ROOT / "include", source, "-o", program,
                    "-L", PACKAGE / "crosscut" / "lib", "-l:libcrosscut.so.1",
                    f"-Wl,-rpath,{PACKAGE / 'crosscut' / 'lib'}"], check=True)
    return program


CASES = {
    "input": Case("input.py", causes=("input",)),
    "input-workers": Case("input.py", causes=("input",), env={"WORKERS": "1"}),
    "python": Case("train.py", "python", causes=("python",)),
    "native": Case("train.py", "native", causes=("native",)),
    "unwrapped": Case("train.py", "unwrapped", causes=("native",), flags=("--python=samples",)),
    "sleep": Case("train.py", "sleep", causes=("waiting",)),
    "gc": Case("train.py", "collect", causes=("gc",), line=False),
    "disk": Case("train.py", "disk", causes=("disk",)),
    "framework": Case("train.py", "framework", causes=("framework",)),
    "lock": Case("train.py", "lock", causes=("lock",)),
    "gil": Case("train.py", "gil", causes=("lock",), line=False),
    "threads": Case("train.py", "threads", causes=("native",)),
    "workers": Case("train.py", "workers", causes=("other-process",)),
    "process": Case("process.py", causes=("other-process",)),
    "opencl-device": Case("opencl.py", "device", causes=("device",)),
    # PyOpenCL launches by way of Python code of its own; and where PoCL's thread has no processor,
    # most is waited for behind the launches.
    "opencl-launches": Case("opencl.py", "launches",
                            causes=("launches", "device", "python", "synchronisation")),
    "opencl-copies": Case("opencl.py", "copies", causes=("copies",)),
    "jax": Case("jax_loop.py", causes=("compilation",), python=TENSORFLOW),
    "keras": Case("keras_fit.py", causes=("input",), python=TENSORFLOW),
    "agent": Case("agent.py", causes=("simulator",), python=RL),
    # The rank that sleeps waits, the other waits for it: the one that waits longer speaks first.
    "ranks": Case("ranks.py", "29511", causes=("waiting", "other-rank")),
    "engine": Case("engine.cc", causes=("simulator",), line=False),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the runs in this folder")
    options = parser.parse_args()
    failed = tried = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.cases or CASES:
            for planted in (True, False):
                errors, rows = [], []
                for run in range(options.runs):
                    case = CASES[name]
                    folder = (options.keep or pathlib.Path(scratch)) / f"{name}-{int(planted)}"
                    rows = case.run(folder, planted)
                    error = case.wrong(rows, planted)
                    errors += [error] if error else []
                tried, failed = tried + options.runs, failed + len(errors)
                kind = "planted" if planted else "twin"
                first = f"{rows[0]['cause']} {float(rows[0]['share']):.0%} {rows[0]['blame']}"
                print(f"{name:16} {kind:8} {options.runs - len(errors)} of {options.runs}  "
                      f"{'; '.join(errors) or first}", flush=True)
    print(f"{tried - failed} of {tried} right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
