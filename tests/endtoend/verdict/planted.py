"""Programs with one planted fault each, and their twins without it: does the verdict name it?

    python tests/endtoend/verdict/planted.py --runs=20 [CASE...]

runs each case and its twin so often, prints a row for each, and exits with 1 if a verdict was
wrong. Right: with the fault, the first verdict has its cause, and where a line is to blame, that
line. Without it, the first verdict is the twin's own truth: a cause that it has, and a line of its
own, where its program has lines marked OWN; elsewhere it does not blame the planted line for the
planted cause, unless the twin's own clock says the same. Programs with a clock of their own tell
how long the planted code took: the gain of the line is right within 5 points of that, and its
interval if it holds that. With --remove they run without Crosscut, too, with the fault and without
it.
"""

import argparse
import json
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


# Of a small model that is trained by hand: PyTorch's operators, or the Python of its optimizer,
# which imports in the first step take long where the machine is busy.
TRAINING = ("framework", "python")


class Case:
    """`causes`: those that are right. `line`: whether samples must name the line marked HERE.
    `twin`: the causes that are right without the fault; "none" only where it is named. `python`:
    the interpreter that has what the program imports. `flags`: of `record`."""

    def __init__(self, program, *arguments, causes, line=True, twin=TRAINING,
                 python=sys.executable, env=None, flags=()):
        self.program = PROGRAMS / program
        self.arguments, self.causes, self.python = arguments, causes, pathlib.Path(python)
        self.line, self.twin, self.env, self.flags = line, twin, env or {}, flags
        self.part = None   # what has the marks, where it is not the function of the first argument
        self.clock = None  # of the last run: the planted code's part of the loop, if it tells
        self.loop_s = None

    def lines(self, mark="HERE"):
        """The places with that mark in the program: "/train.py:31"."""
        text = self.program.read_text().splitlines()
        return [f"/{self.program.name}:{number}" for number, line in enumerate(text, 1)
                if line.rstrip().endswith(mark)
                and (mark == "OWN" or self._concerns(text, number))]

    def _concerns(self, text, number):
        """Whether the mark lies in the function that the first argument names, if one does, or in
        what that has others do, `def NAME_part(...)`."""
        words = ("def", "class", "async def")
        around = [line for line in text[:number] if line.startswith(words)]
        named = [a for a in self.arguments if f"def {a}():" in text]
        heads = [f"def {named[0]}():", f"def {named[0]}_part("] if named else []
        heads += [f"{word} {self.part}{end}" for word in words for end in "(:" if self.part]
        return not named or (around and around[-1].startswith(tuple(heads)))

    def run(self, folder, planted):
        """Records it; the rows of its verdict."""
        shutil.rmtree(folder, ignore_errors=True)
        result = record(folder, self.command(folder), *self.plan(), *self.flags,
                        env=self.environment(folder, planted))
        assert result.returncode == 0, result.stderr
        self.read_clock(result.stdout)
        return table(folder, "verdict")

    def plan(self):
        """Programs with a clock are recorded as anyone does."""
        return () if self.has_clock else ("--plan=full",)

    @property
    def has_clock(self):
        return self.program.suffix == ".py" and "Clock()" in self.program.read_text()

    def read_clock(self, output):
        told = [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith("CLOCK ")]
        if told:
            clock = json.loads(told[-1])
            self.loop_s = clock["loop_s"]
            self.clock = clock["planted_s"] / clock["loop_s"]

    def environment(self, folder, planted):
        return {"PLANTED": str(int(planted)), "TF_CPP_MIN_LOG_LEVEL": "3",
               "SB3_LOGDIR": str(folder) + "-logs", **self.env}

    def command(self, folder):
        command = [self.python, self.program, *self.arguments]
        if self.program.suffix == ".cc":
            command = [compiled(self.program, folder.parent)]
        return command

    def removal(self, folder):
        """By how much the loop is shorter without the fault, when nothing records it."""
        loops = []
        for planted in (True, False):
            env = {**os.environ, "PYTHONPATH": str(PACKAGE), **self.environment(folder, planted)}
            result = subprocess.run(self.command(folder), env=env, capture_output=True, text=True,
                                    timeout=1200, check=True)
            self.read_clock(result.stdout)
            loops.append(self.loop_s)
        return 1 - loops[1] / loops[0]

    def gain(self, rows):
        """How far the first row's gain lies from the clock, and whether its interval holds that."""
        low, gain, high = (float(rows[0][f"gain_{x}share"] or "nan") for x in ("low_", "", "high_"))
        return gain - self.clock, low <= self.clock <= high

    def clock_says(self, first):
        """Whether the twin's own clock says of the planted cause what the row says: a worker that
        hands over small rows is waited for, too."""
        known = self.clock is not None and first["cause"] in self.causes
        return known and abs(float(first["share"]) - self.clock) <= 0.05

    def wrong(self, rows, planted):
        """What is wrong with a verdict; "" if nothing is."""
        first = rows[0]
        own = self.lines("OWN") if not planted else []
        here = any(("/" + first["blame"]).split(" ")[0].endswith(line)
                   for line in own or self.lines())
        told = f"{first['cause']} {float(first['share']):.0%}, {first['blame']}"
        if not planted:
            no_line = first["cause"] == "none"
            line = no_line or here if own else not (here and first["cause"] in self.causes)
            right = first["cause"] in self.twin and line
            return "" if right or self.clock_says(first) else told
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


# Python works, and each step waits for a small kernel of a device that has no processor of its own.
BESIDE_A_DEVICE = ("python", "synchronisation")
CASES = {
    "input": Case("input.py", causes=("input",)),
    # Without the fault the worker's pipe still takes longer than the model.
    "input-workers": Case("input.py", causes=("input",), twin=("input", *TRAINING),
                          env={"WORKERS": "1"}),
    "python": Case("train.py", "python", causes=("python",)),
    "native": Case("train.py", "native", causes=("native",)),
    "unwrapped": Case("train.py", "unwrapped", causes=("native",)),
    # Native code that keeps the GIL is told from Python by its own samples alone.
    "keeps": Case("train.py", "keeps", causes=("native",), flags=("--python=samples",)),
    "sleep": Case("train.py", "sleep", causes=("waiting",)),
    "gc": Case("train.py", "collect", causes=("gc",), line=False),
    "disk": Case("train.py", "disk", causes=("disk",)),
    "framework": Case("train.py", "framework", causes=("framework",)),
    "lock": Case("train.py", "lock", causes=("lock",)),
    "gil": Case("train.py", "gil", causes=("lock",), line=False),
    # Native code of another thread's that keeps the GIL: it sleeps, or computes.
    "gil-called": Case("train.py", "called", causes=("lock",)),
    "gil-matched": Case("train.py", "matched", causes=("lock",)),
    "threads": Case("train.py", "threads", causes=("native",)),
    "workers": Case("train.py", "workers", causes=("other-process",)),
    # The twin asks another process, too, and waits where that has no processor.
    "process": Case("process.py", causes=("other-process",),
                    twin=("native", "other-process", *TRAINING)),
    "opencl-device": Case("opencl.py", "device", causes=("device",), twin=BESIDE_A_DEVICE),
    # PyOpenCL launches by way of Python code of its own; and where PoCL's thread has no processor,
    # most is waited for behind the launches.
    "opencl-launches": Case("opencl.py", "launches",
                            causes=("launches", "device", "python", "synchronisation"),
                            twin=BESIDE_A_DEVICE),
    "opencl-copies": Case("opencl.py", "copies", causes=("copies",), twin=BESIDE_A_DEVICE),
    "jax": Case("jax_loop.py", causes=("compilation",), twin=("none",),
                python=TENSORFLOW),
    "keras": Case("keras_fit.py", causes=("input",), twin=("compilation", *TRAINING),
                  python=TENSORFLOW),
    "agent": Case("agent.py", causes=("simulator",), python=RL),
    # The rank that sleeps waits, the other waits for it: the one that waits longer speaks first.
    "ranks": Case("ranks.py", "29511", causes=("waiting", "other-rank"),
                  twin=("communication", *TRAINING)),
    "engine": Case("engine.cc", causes=("simulator",), line=False, twin=("native",)),
}


def clocked(program, twin, faults, python=sys.executable):
    """A case for each fault of a program with a clock: "name: causes", and "@" what has the marks,
    where that is not the function of its name."""
    for fault in faults.split("\n"):
        if fault.strip():
            name, causes = fault.strip().split(": ")
            causes, _, part = causes.partition(" @")
            case = Case(program, name, causes=tuple(causes.split()), twin=twin,
                        python=python)
            case.part = part
            CASES[name.replace("_", "-")] = case


# The loop's own work, a small product of matrices and a loop in Python.
clocked("faults.py", ("native", "python"), """
    python_loop: python
    python_three_lines: python
    comprehension: python
    generator: python
    deep_copy: python
    sort_by_key: python
    recursion: python
    methods: python @Shape
    words: python native
    to_json: python native
    to_pickle: native python gc
    sort: native
    svd: native
    compress: native
    digest: native
    fresh_memory: native
    database: native python
    write_file: disk
    read_file: disk
    synchronise_file: disk
    dump_file: python
    save_arrays: disk native python
    sleep: waiting
    tenth_sleep: waiting
    tenth_save: native disk python
    poll_with_timer: waiting other-process
    lock: lock @hold
    thread_queue: waiting lock @produce
    thread_result: native @thread_part
    thread_sleep: waiting @sleep_part
    thread_join: python @python_part
    threads_joined: waiting @joined_part
    thread_event: waiting lock @event_part
    native_select: waiting
    gil_called: lock
    child: other-process
    child_output: other-process
    python_child: other-process
    process_pool: other-process @pool_part
    future_pool: other-process @pool_part
    process_pipe: other-process @serve
    one_slow: other-process
    http_request: waiting @Handler
    socket_request: other-process @Answer
    asyncio_timer: waiting
    asyncio_thread: native @thread_part
    asyncio_work: python @tasks_part
    collect: gc
    retry: waiting
    log_lines: disk native python
""")
clocked("training_faults.py", TRAINING, """
    save_checkpoint: disk native python framework
    tenth_checkpoint: disk native python framework
    load_checkpoint: disk native python framework
    copy_model: framework python
    metrics: python
    one_by_one: framework python
    operator_svd: framework
    evaluate: framework
    to_numpy: native
    buffer: disk native python framework
    custom_backward: python @Slow
""")
# So small a model waits for its rows without the fault, too.
clocked("training_faults.py", ("input", *TRAINING), """
    slow_rows: input @Rows
    slow_rows_worker: input @Rows
    collate: input @slow_collate
""")
clocked("jax_faults.py", ("python", "native", "framework", "compilation"), """
    jax_python: python
    jax_sleep: waiting
    jax_augment: native
    jax_callback: python @jax_callback_part
    jax_save: disk native python
""", TENSORFLOW)
clocked("keras_faults.py", ("python", "native", "framework", "compilation"), """
    keras_python: python
    keras_sleep: waiting
""", TENSORFLOW)
clocked("agent_faults.py", (*TRAINING, "simulator"), """
    slow_reward: python @observe
    replay: python
    slow_world: simulator waiting @World
    one_of_four: simulator other-process @World
""", RL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--remove", action="store_true",
                        help="run them without Crosscut, too, with the fault and without it")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the runs in this folder")
    options = parser.parse_args()
    failed = tried = near = held = told = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.cases or CASES:
            for planted in (True, False):
                errors, rows, gains = [], [], []
                for run in range(options.runs):
                    case = CASES[name]
                    folder = (options.keep or pathlib.Path(scratch)) / f"{name}-{int(planted)}"
                    rows = case.run(folder, planted)
                    error = case.wrong(rows, planted)
                    errors += [error] if error else []
                    if planted and case.clock is not None and not error:
                        gains.append(case.gain(rows))
                tried, failed = tried + options.runs, failed + len(errors)
                near += sum(abs(off) <= 0.05 for off, _ in gains)
                held += sum(inside for _, inside in gains)
                told += len(gains)
                kind = "planted" if planted else "twin"
                first = f"{rows[0]['cause']} {float(rows[0]['share']):.0%} {rows[0]['blame']}"
                if gains:
                    first += f"  clock {case.clock:.1%}, gain " + ", ".join(
                        f"{100 * off:+.1f}{'' if inside else ' outside'}" for off, inside in gains)
                if planted and options.remove and case.has_clock:
                    first += f", removed {case.removal(folder):.1%}"
                print(f"{name:16} {kind:8} {options.runs - len(errors)} of {options.runs}  "
                      f"{'; '.join(errors) or first}", flush=True)
    print(f"{tried - failed} of {tried} right")
    if told:
        print(f"of {told} gains {near} within 5 points of the clock, {held} intervals hold it")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
