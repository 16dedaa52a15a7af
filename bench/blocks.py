"""What recording costs a step, to about 1 % on a machine whose speed wanders by 10.

    .venv/bin/python bench/blocks.py PROGRAM [--rounds N] [--steps K] ARM...
    .venv/bin/python bench/blocks.py --table costs|peers [--rounds N]

PROGRAM is a function of block_programs.py. An ARM is `plain`, a peer (torch.profiler, cProfile,
VizTracer, py-spy, Scalene), or options of `crosscut record` in quotes, "" the defaults. All arms
are alive at once; in each round each of them runs a block of K steps, in random order, so what
slows the machine slows all of them. Told of each arm, over the last three quarters of the rounds:

    ratio    its mean step by the first arm's, with a 95 % bootstrap interval over rounds
    cpu      the same of the processor's time of the whole process, all its threads
    control  the median of its control steps by that of the first arm's steps, where the recording
             has as many steps as the program
    said     what the recording says that it cost, with its interval: table overhead_levels, `all`

A recording is paused while other arms have their turn. A second `plain` is the A/A band. With
--json, JSON lines as harness.Line has them.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import block_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build" / "release" / "python"
PEERS = ROOT / "build" / "bench-peers"  # py-spy and Scalene, installed when first asked for
sys.path.insert(0, str(PACKAGE))
WARM = 8  # steps of a block that count for nothing: the other arms had the caches
PYTHONS = {"jax": ".venv-tensorflow", "keras": ".venv-tensorflow", "ppo": ".venv-rl"}
# On one processor, as those that recording adds: their pools hand work from thread to thread, and
# where these run makes a step of one unrecorded process 60 % longer than that of another.
ONE_PROCESSOR = ("jax", "keras")
STEPS = {"transformer": 30, "loader": 60, "greenlets": 25, "ranks": 60, "ppo": 4, "children": 20}

FEW = ["plain", "plain", "", "--plan=full"]
TABLES = {
    "costs": {
        **{name: FEW for name in ("transformer", "dqn", "loader", "greenlets", "ranks", "opencl",
                                  "keras", "jax", "ppo", "marks", "echo", "tasks", "children")},
        "mlp": ["plain", "plain", "", "--sources=operations --python=off", "--plan=control=100",
                "--plan=full", "--plan=full --shapes", "--plan=full --allocations"],
        "python_calls": ["plain", "plain", "", "--python=samples", "--python=calls --plan=full"],
    },
    "peers": {name: ["plain", "plain", "", "--plan=full", "torch.profiler", "cProfile",
                     "VizTracer", "py-spy", "Scalene"] for name in ("mlp", "dqn", "transformer")},
}


# ---- An arm: a process that runs a block whenever it is asked ----

@contextlib.contextmanager
def cprofile():
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()


@contextlib.contextmanager
def viztracer():
    from viztracer import VizTracer
    tracer = VizTracer(verbose=0)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


def inside(peer):
    """What stands around a block, as the peer's documentation has it."""
    if peer == "torch.profiler":
        import torch
        return torch.profiler.profile
    if peer == "cProfile":
        return cprofile
    if peer == "VizTracer":
        return viztracer
    return contextlib.nullcontext


def rests(recorded):
    """What to call before and after the other arms' turns. They are no time of the program's: its
    budget would grow with their number."""
    if not recorded:
        return [lambda: None] * 2
    import crosscut
    return crosscut.pause, crosscut.resume


def ending_steps(step):
    """`step` with an end that Crosscut is told."""
    import crosscut

    def ended():
        step()
        crosscut.step()
    return ended


def run_arm(program, steps, peer, place, marked):
    """Answers each line from the socket at `place` by one: what the process took of the processor
    and the lengths of a block's steps, in ns."""
    step = getattr(block_programs, program)()
    if marked:
        step = ending_steps(step)
    around = inside(peer)

    def block():
        edges = []
        with around():
            for i in range(WARM + steps):
                if i == WARM:
                    begun = time.process_time_ns()
                edges.append(time.perf_counter_ns())
                step()
            edges.append(time.perf_counter_ns())
            cpu = time.process_time_ns() - begun
        return [cpu, *(b - a for a, b in zip(edges[WARM:], edges[WARM + 1:]))]

    block()
    pause, resume = rests("CROSSCUT_RUN" in os.environ)
    pause()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        with connection.makefile("rw") as file:
            print("ready", file=file, flush=True)
            while file.readline():
                resume()
                told = block()
                pause()
                print(*told, file=file, flush=True)


# ---- All of them ----

def peers_folder():
    if not (PEERS / "scalene").is_dir():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", PEERS,
                        "--disable-pip-version-check", "py-spy", "scalene"], check=True)
    return PEERS


class Arm:
    IN_PROCESS = ("plain", "torch.profiler", "cProfile", "VizTracer")

    def __init__(self, name, program, steps, folder, marked):
        self.name, self.rounds = name, []  # per round: mean and median step, processor's time; ns
        self.steps, self._of_block = 0, WARM + steps
        self.run = folder / f"run{random.randrange(1 << 40):x}"
        place = f"{self.run}.socket"
        python = ROOT / PYTHONS.get(program, ".venv") / "bin" / "python"
        script = [__file__, "--arm", program, str(steps), name, place,
                  *["marked"] * marked]
        command, env = [python, *script], dict(os.environ, PYTHONPATH=str(PACKAGE))
        self.recorded = name not in (*self.IN_PROCESS, "py-spy", "Scalene")
        if self.recorded:
            command = [PACKAGE / "crosscut/bin/crosscut", "record", "-o", self.run, *name.split(),
                       "--", *command]
        elif name == "py-spy":
            command = [peers_folder() / "bin/py-spy", "record", "-o", self.run, "--", *command]
        elif name == "Scalene":
            env["PYTHONPATH"] += f":{peers_folder()}"
            command = [python, "-m", "scalene", "run", "-o", self.run, *script[:1], "---",
                       *script[1:]]
        trouble = tempfile.TemporaryFile("w+")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place)
            server.listen()
            server.settimeout(1)
            self._process = subprocess.Popen(command, env=env, stderr=trouble,
                                             stdout=subprocess.DEVNULL, start_new_session=True)
            self._file = None
            while self._file is None:
                with contextlib.suppress(TimeoutError):
                    self._file = server.accept()[0].makefile("rw")
                if self._file is None and self._process.poll() is not None:
                    trouble.seek(0)
                    sys.exit(f"blocks: {name!r} does not run: {' '.join(map(str, command))}\n"
                             f"{trouble.read()[-2000:]}")
        self._file.readline()

    def block(self):
        self.steps += self._of_block
        print("go", file=self._file, flush=True)
        cpu, *lengths = map(int, self._file.readline().split())
        self.rounds.append((statistics.mean(lengths), statistics.median(lengths),
                            cpu / len(lengths)))

    def end(self):
        self._file.close()
        if not self.recorded:  # what a peer makes of its data is not measured
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def tables(self):
        """Control: median of the steps with the probes off, without the first after a change; None:
        there is none. Said: by what the recording made steps longer, low and high; None: not
        known."""
        import crosscut
        run = crosscut.read(self.run)
        steps = list(run.table("steps").rows())
        lengths = [row["wall_ns"] for row in steps if row["control"] and not row["after_switch"]]
        if abs(len(steps) / self.steps - 1) > 0.05:  # what it calls a step is something else
            lengths = []
        said = [(row["inflation"], row["inflation_low"], row["inflation_high"])
                for row in run.table("overhead_levels").rows() if row["level"] == "all"]
        return statistics.median(lengths) if lengths else None, said[0] if said else None


def ratio(arm, first, which, cut):
    ratios = [a[which] / b[which] for a, b in zip(arm.rounds[cut:], first.rounds[cut:])]
    drawn = sorted(statistics.mean(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    return statistics.mean(ratios), drawn[50], drawn[1949]


def told(arm, first):
    """A line as harness.Line, its quartiles those of the interval, and what is known beside it."""
    cut = len(first.rounds) // 4
    middle, low, high = ratio(arm, first, 0, cut)
    ns = statistics.mean(r[0] for r in arm.rounds[cut:])
    line = {"name": arm.name or "the defaults", "ns": ns, "ratio": middle, "ratio_q25": low,
            "ratio_q75": high, "rounds": len(first.rounds) - cut, "cpu": ratio(arm, first, 2, cut),
            "added_ns": ns - statistics.mean(r[0] for r in first.rounds[cut:])}
    if arm.recorded:
        control, said = arm.tables()
        if control is not None:
            line["control"] = control / statistics.median(r[1] for r in first.rounds[cut:])
        line["said"] = said
    return line


def text(line):
    def spread(three):
        return "{:.3f} [{:.3f}, {:.3f}]".format(*three)
    words = (f"{line['group']}, {line['name']}: {line['ns'] / 1e3:.1f} us a step, "
             f"{spread([line[key] for key in ('ratio', 'ratio_q25', 'ratio_q75')])}, "
             f"cpu {spread(line['cpu'])}")
    words += f", control {line['control']:.3f}" if "control" in line else ""
    return words + (f", said {spread(line['said'])}" if line.get("said") else "")


@contextlib.contextmanager
def ran(program, names, rounds, steps, marked=False):
    """The program's arms, all of which ran; their recordings are gone at the end. `marked`: each
    step ends with crosscut.step()."""
    processors = os.sched_getaffinity(0)
    if program in ONE_PROCESSOR:
        os.sched_setaffinity(0, {max(processors)})
    with tempfile.TemporaryDirectory() as folder:
        arms = [Arm(name, program, steps, pathlib.Path(folder), marked) for name in names]
        for _ in range(rounds):
            for arm in random.sample(arms, len(arms)):
                arm.block()
        for arm in arms:
            arm.end()
        os.sched_setaffinity(0, processors)
        yield arms


def measure(program, names, rounds, steps):
    """The lines of a program's arms, the first of which the others are held against."""
    with ran(program, names, rounds, steps) as arms:
        return [{"group": f"blocks: {program}", **told(arm, arms[0])} for arm in arms]


def main():
    if sys.argv[1:2] == ["--arm"]:
        program, steps, peer, place, *marked = sys.argv[2:]
        return run_arm(program, int(steps), peer, place, bool(marked))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--table", choices=TABLES)
    parser.add_argument("--rounds", type=int, default=160)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--json", action="store_true")
    options, names = parser.parse_known_args()
    table = TABLES[options.table] if options.table else {options.program: names}
    for program, arms in table.items():
        steps = options.steps or STEPS.get(program, 100)
        for line in measure(program, arms, options.rounds, steps):
            print(json.dumps(line) if options.json else text(line), flush=True)


if __name__ == "__main__":
    main()
