"""RL-Scope's survey on this machine: frameworks, algorithms and simulators, recorded.

Usage: survey.py CROSSCUT OUT [--repeats=N] [--only=WORD,...] [--torch=PYTHON] [--tensorflow=PYTHON]
(PYTHON: with the packages of tools/requirements-survey.txt beside those of .venv-rl and
.venv-tensorflow.) Records each program N times into OUT/NAME.I and prints a Markdown table for each
question, means over the runs with 95 % intervals, from corrected times: what the program spends in
backpropagation, inference and simulation, and how often it enters the framework. Start-up is in no
operation and does not count, nor does compiling in times of operations.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys
from collections import Counter

from crosscut.plots.repeats import half_width

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What programs mark, and what adapters find where they mark nothing, by the paper's words.
OPERATIONS = {"backpropagation": "backpropagation", "update": "backpropagation",
              "forward": "backpropagation", "backprop": "backpropagation",
              "optimizer": "backpropagation", "inference": "inference",
              "simulation": "simulation", "simulate": "simulation"}
WORLD = "Walker2d-v5"
FRAMEWORKS = {f"{algorithm} {framework}":
              f"off_policy.py {algorithm} {framework} {WORLD} 800"
              for algorithm in ("td3", "ddpg")
              for framework in ("torch", "tf-eager", "tf-autograph", "tf-graph")}
ALGORITHMS = {f"{name} {WORLD}": f"sb3.py {name} {WORLD} {steps}"
              for name, steps in (("ddpg", 800), ("td3", 800), ("sac", 500), ("a2c", 3000),
                                  ("ppo", 3072))}
SIMULATORS = {f"ppo {name}": f"sb3.py ppo {name} 3072"
              for name in ("ALE/Pong-v5", "bullet/CartPole", "CartPole-v1", "Hopper-v5",
                           "HalfCheetah-v5", "Ant-v5")}
SIMULATORS = {f"ppo {WORLD}": ALGORITHMS[f"ppo {WORLD}"], **SIMULATORS}
QUESTIONS = {"Frameworks": FRAMEWORKS, "Algorithms": ALGORITHMS, "Simulators": SIMULATORS}
FLAGS = ("--plan=full", "--wrap=ale_py:simulator", "--wrap=mujoco:simulator",
         "--wrap=pybullet:simulator")


def record(crosscut, run, command):
    done = subprocess.run([crosscut, "record", "-o", run, *FLAGS, "--", *command],
                          capture_output=True, text=True, cwd=run.parent)  # MuJoCo has a log
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")


def table(crosscut, run, name):
    done = subprocess.run([crosscut, "table", run, name, "--format=csv"], capture_output=True,
                          text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def figures(crosscut, run):
    """Of one run: milliseconds by the paper's operation and by layer, and entries into the
    framework by operation for each update."""
    by_operation, by_layer, entries = Counter(), Counter(), Counter()
    for row in table(crosscut, run, "overlap"):
        operation = OPERATIONS.get(row["operation"])
        if operation is None or "control" in row["layers"]:
            continue
        ms = int(row["corrected_ns"]) / 1e6
        by_operation[operation] += ms
        layer = next((name for name in ("simulator", "framework", "native", "python")
                      if name in row["layers"].split("+")), "other")
        by_layer[layer] += ms
    for row in table(crosscut, run, "layer_entries"):
        operation = OPERATIONS.get(row["operation"])
        if operation and row["layer"] == "framework":
            entries[operation] += int(row["entries"])
    # Those of control steps are not seen. A step of off_policy.py has one inference and one update;
    # its updates begin in a step of the recording and end in the next, so they cannot be counted.
    counts = {row["operation"]: int(row["count"]) for row in table(crosscut, run, "operations")}
    updates = counts["optimizer"] if "optimizer" in counts else counts["inference"]
    layers = sum(by_layer.values())
    for row in table(crosscut, run, "operation_parts"):  # once, however long the program trains
        if row["part"] == "compile" and row["operation"] in OPERATIONS:
            by_operation[OPERATIONS[row["operation"]]] -= int(row["corrected_ns"]) / 1e6
    whole = sum(by_operation.values())
    out = {"ms an update": whole / updates}
    out.update({f"{name} %": 100 * by_operation[name] / whole
                for name in ("backpropagation", "inference", "simulation")})
    out.update({f"{name} %": 100 * by_layer[name] / layers
                for name in ("python", "framework", "native", "simulator")})
    out["entries an update"] = entries["backpropagation"] / updates
    return out


def print_table(title, rows):
    columns = list(next(iter(rows.values()))[0])
    print(f"\n| {title} | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name, runs in rows.items():
        cells = []
        for column in columns:
            values = [run[column] for run in runs]
            half = f" ± {half_width(values):.3g}" if len(values) > 1 else ""
            cells.append(f"{sum(values) / len(values):.3g}{half}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("crosscut")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--torch", default=ROOT / ".venv-rl" / "bin" / "python")
    parser.add_argument("--tensorflow", default=ROOT / ".venv-tensorflow" / "bin" / "python")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    options.out = options.out.resolve()
    options.crosscut = pathlib.Path(options.crosscut).resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    for title, programs in QUESTIONS.items():
        rows = {}
        for name, command in programs.items():
            if words and not any(word in f"{title} {name}" for word in words):
                continue
            script, *arguments = command.split()
            python = options.tensorflow if "tf-" in name else options.torch
            for i in range(options.repeats):
                run = options.out / f"{name.replace(' ', '-').replace('/', '-')}.{i}"
                if not run.exists():
                    record(options.crosscut, run,
                           [python, ROOT / "bench" / "rl" / script, *arguments])
                rows.setdefault(name, []).append(figures(options.crosscut, run))
        if rows:
            print_table(title, rows)


if __name__ == "__main__":
    main()
