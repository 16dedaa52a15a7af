"""What recording costs a step, to about 1 % on a machine whose speed wanders by 10.

    .venv/bin/python bench/blocks.py PROGRAM [--rounds N] [--steps K] ARM...

PROGRAM is mlp, transformer or loader. An ARM is `plain`, `torch.profiler`, or options of `crosscut
record` in quotes, "" the defaults. All arms are alive at once; in each round each of them runs a
block of K steps, in random order, so what slows the machine slows all of them. Printed for each
arm, over the last three quarters of the rounds: the ratio of its mean step to the first arm's, with
a 95 % bootstrap interval over rounds, and the ratio of medians; of a recorded arm also the median
of its control steps beside that of the first arm's steps. A second `plain` is the A/A band.
"""

import argparse
import contextlib
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import budget_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build" / "release" / "python"
sys.path.insert(0, str(PACKAGE))
WARM = 8  # steps of a block that count for nothing: the other arms had the caches


# ---- An arm: a process that runs a block whenever it is asked ----

def mlp(torch):
    model, _ = budget_programs.mlp_of(torch)
    return trains(torch, model, torch.optim.Adam(model.parameters()),
                  lambda: torch.randn(64, 64))


def transformer(torch):
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(128, 1))
    return trains(torch, model, torch.optim.AdamW(model.parameters()),
                  lambda: torch.randn(8, 64, 128))


def loader(torch):
    batches = iter(torch.utils.data.DataLoader(torch.randn(1 << 22, 16), batch_size=32))
    model = torch.nn.Linear(16, 1)
    return trains(torch, model, torch.optim.SGD(model.parameters(), 0.01), lambda: next(batches))


def trains(torch, model, optimizer, batch):
    wanted = torch.zeros(1)
    return lambda: budget_programs.train(model, optimizer, batch(), wanted)


PROGRAMS = {"mlp": mlp, "transformer": transformer, "loader": loader}


def run_arm(program, steps, profiled, asked, answers):
    """Answers each byte of `asked` by the lengths of a block's steps in ns, on a line."""
    torch = budget_programs.one_thread()
    step = PROGRAMS[program](torch)

    def block():
        edges = []
        profiler = torch.profiler.profile() if profiled else contextlib.nullcontext()
        with profiler:
            for _ in range(WARM + steps):
                edges.append(time.perf_counter_ns())
                step()
            edges.append(time.perf_counter_ns())
        return [b - a for a, b in zip(edges[WARM:], edges[WARM + 1:])]

    block()
    os.write(answers, b"ready\n")
    with os.fdopen(answers, "w") as out:
        while os.read(asked, 1):
            print(*block(), file=out, flush=True)


# ---- All of them ----

class Arm:
    def __init__(self, name, program, steps, folder):
        self.name, self.rounds = name, []  # per round: mean and median, ns
        self.run = folder / f"run{random.randrange(1 << 40):x}"
        self.recorded = name not in ("plain", "torch.profiler")
        asked, self._ask = os.pipe()
        answer, answers = os.pipe()
        command = [sys.executable, __file__, "--arm", program, str(steps),
                   str(int(name == "torch.profiler")), str(asked), str(answers)]
        if self.recorded:
            command = [PACKAGE / "crosscut/bin/crosscut", "record", "-o", self.run, *name.split(),
                       "--", *command]
        self._process = subprocess.Popen(command, pass_fds=(asked, answers),
                                         stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(asked)
        os.close(answers)
        self._answers = os.fdopen(answer)
        if self._answers.readline() != "ready\n":
            sys.exit(f"blocks: {name!r} does not run: {' '.join(map(str, command))}")

    def block(self):
        os.write(self._ask, b"g")
        lengths = list(map(int, self._answers.readline().split()))
        self.rounds.append((statistics.mean(lengths), statistics.median(lengths)))

    def end(self):
        os.close(self._ask)
        self._process.wait()

    def control_ns(self):
        """Median of the steps with the probes off, without the first after a change; None: none."""
        import crosscut
        steps = crosscut.read(self.run).table("steps").rows()
        lengths = [row["wall_ns"] for row in steps if row["control"] and not row["after_switch"]]
        return statistics.median(lengths) if lengths else None


def told(arm, first, rounds):
    means = [a[0] / b[0] for a, b in zip(arm.rounds[rounds // 4:], first.rounds[rounds // 4:])]
    medians = [a[1] / b[1] for a, b in zip(arm.rounds[rounds // 4:], first.rounds[rounds // 4:])]
    drawn = sorted(statistics.mean(random.choices(means, k=len(means))) for _ in range(2000))
    mean_us = statistics.mean(r[0] for r in arm.rounds) / 1e3
    line = (f"{arm.name or 'the defaults'}: {mean_us:.1f} us a step, {statistics.mean(means):.3f} "
            f"[{drawn[50]:.3f}, {drawn[1949]:.3f}], medians {statistics.median(medians):.3f}")
    control = arm.control_ns() if arm.recorded else None
    if control is not None:
        line += f", control steps {control / statistics.median(r[1] for r in first.rounds):.3f}"
    return line


def main():
    if sys.argv[1:2] == ["--arm"]:
        program, *numbers = sys.argv[2:]
        return run_arm(program, *map(int, numbers))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=160)
    parser.add_argument("--steps", type=int, default=100)
    options, names = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        arms = [Arm(name, options.program, options.steps, pathlib.Path(folder)) for name in names]
        for _ in range(options.rounds):
            for arm in random.sample(arms, len(arms)):
                arm.block()
        for arm in arms:
            arm.end()
        for arm in arms:
            print(f"{options.program} {told(arm, arms[0], options.rounds)}", flush=True)


if __name__ == "__main__":
    main()
