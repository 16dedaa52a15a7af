"""What a program pays for being ready to be recorded: training steps of processes that are armed
and dormant beside the same steps of processes without Crosscut.

One process imports PyTorch and forks sets of three: two as they are, one that calls
crosscut.arm(). So all three have the same memory layout. They take turns, in quadruples A B B A:
plain against dormant, and plain against the other plain one (A/A). The time is CPU time of the
whole process, that of Crosscut's own sleeping threads included; wall time stands beside it. The
ratio's bounds are at 95 %, by a bootstrap over sets and, in each, over its quadruples.

Arguments: sets, quadruples of each set. Prints one JSON line per figure.
"""

import json
import os
import random
import statistics
import sys
import tempfile
import time

import torch

import crosscut

WARM_UP = 30
RESAMPLES = 2000


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    x, y = torch.randn(64, 64), torch.randn(64, 8)
    return model, lambda: torch.nn.functional.mse_loss(model(x), y), 60


def transformer():
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    x = torch.randn(8, 32, 64)
    return model, lambda: model(x).square().mean(), 8


class Child:
    """A forked process that trains when it is told to and answers with how long it took."""

    def __init__(self, program, run):
        told, self.tell = os.pipe()
        self.answers, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.tell)
            if run is not None and not crosscut.arm(run):
                os._exit(1)
            serve(program, told, answer)
            os._exit(0)
        os.close(told)
        os.close(answer)

    def measure(self):
        """Nanoseconds of CPU and of wall time per step."""
        os.write(self.tell, b"x")
        return [float(word) for word in os.read(self.answers, 100).split()]

    def end(self):
        os.write(self.tell, b"q")  # its end of the pipe is open in its siblings, too
        os.close(self.tell)
        os.close(self.answers)
        return os.waitpid(self.pid, 0)[1]


def serve(program, told, answer):
    torch.manual_seed(1)
    model, loss, steps = program()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)

    def step():
        crosscut.step()
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    while os.read(told, 1) == b"x":
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(steps):
            step()
        cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
        os.write(answer, f"{cpu / steps} {wall / steps}".encode())


def quadruple(plain, other):
    """Ratios other/plain of CPU and wall time, and the plain ones' CPU time."""
    a1, b1, b2, a2 = plain.measure(), other.measure(), other.measure(), plain.measure()
    return [(b1[i] + b2[i]) / (a1[i] + a2[i]) for i in (0, 1)], (a1[0] + a2[0]) / 2


def bounds(sets, generator):
    """Of the median over all quadruples of all sets: 95 %."""
    medians = []
    for _ in range(RESAMPLES):
        values = []
        for chosen in generator.choices(sets, k=len(sets)):
            values += generator.choices(chosen, k=len(chosen))
        medians.append(statistics.median(values))
    medians.sort()
    return medians[round(0.025 * RESAMPLES)], medians[round(0.975 * RESAMPLES) - 1]


def line(name, field, sets, ns, generator):
    low, high = bounds(sets, generator)
    values = [value for one in sets for value in one]
    return {"group": f"dormant: {name}", "name": field, "ns": ns,
            "ratio": statistics.median(values), "ratio_q25": low, "ratio_q75": high,
            "upper": high, "pairs": len(values), "added_ns": ns * (statistics.median(values) - 1)}


def compare(name, program, sets, quadruples, work):
    found = {"dormant": [[], []], "unarmed again (A/A)": [[], []]}
    plain_ns = []
    for number in range(sets):
        plain, again = Child(program, None), Child(program, None)
        armed = Child(program, f"{work}/run-{name}-{number}")
        for ratios in found.values():
            ratios[0].append([])
            ratios[1].append([])
        for _ in range(quadruples):
            for kind, child in (("dormant", armed), ("unarmed again (A/A)", again)):
                (cpu, wall), ns = quadruple(plain, child)
                found[kind][0][-1].append(cpu)
                found[kind][1][-1].append(wall)
                plain_ns.append(ns)
        if any([child.end() for child in (plain, again, armed)]):
            sys.exit("a process did not end as it should")
    generator = random.Random(12345)
    ns = statistics.median(plain_ns)
    for kind, (cpu, wall) in found.items():
        print(json.dumps(line(name, kind, cpu, ns, generator)), flush=True)
        print(json.dumps(line(name, f"{kind}, wall", wall, ns, generator)), flush=True)


def dormant_step():
    """Nanoseconds that crosscut.step() takes in a dormant process, and in one without."""
    def measure():
        begin = time.process_time_ns()
        for _ in range(200_000):
            crosscut.step()
        return (time.process_time_ns() - begin) / 200_000

    return statistics.median(measure() for _ in range(9))


def main():
    sets, quadruples = (int(word) for word in sys.argv[1:3])
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        for name, program in (("MLP", mlp), ("transformer", transformer)):
            compare(name, program, sets, quadruples, work)
        before = dormant_step()
        crosscut.arm(f"{work}/run")
        for name, value in (("crosscut.step(), unarmed", before),
                            ("crosscut.step(), dormant", dormant_step())):
            print(json.dumps({"group": "dormant", "name": name, "value": value, "unit": "ns"}))


if __name__ == "__main__":
    main()
