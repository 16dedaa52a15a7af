#!/usr/bin/env python3
"""CUPTI's plugin on a real device; README.md says what is checked.

Exit status 1: a check failed.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "endtoend"))

from runs import PACKAGE, record, table  # noqa: E402

PLUGIN = PACKAGE / "crosscut" / "plugins" / "cupti" / "libcrosscut_cupti.so"
failures = []


def check(what, holds, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f': {found}'}")
    if not holds:
        failures.append(what)


def note(what):
    print(f"     {what}")


def recorded(run, script, *arguments, options=""):
    result = record(run, [sys.executable, str(HERE / script), *arguments],
                    f"--plugin={PLUGIN}{options}")
    check(f"{script} ends well under record", result.returncode == 0, result.stderr[-500:])
    source = next((row for row in table(run, "sources") if row["name"] == "cupti"), {})
    note(f"source: {source.get('state')}, {source.get('version')}: {source.get('message')}")
    return result, source


def counts(run, prefix):
    return sum(row["count"] for row in table(run, "functions")
               if row["layer"] == "device" and row["name"].startswith(prefix))


def check_cuda_program(folder):
    run = folder / "cuda"
    result, source = recorded(run, "cuda_program.py")
    if result.returncode != 0:
        return
    given = json.loads(result.stdout)
    check("the source is on", source.get("state") == "on", source)
    check("kernels are all there", counts(run, "spin(") == given["kernels"], counts(run, "spin("))
    check("copies are all there", counts(run, "Memcpy HtoD") == given["copies"])
    check("memory sets are all there", counts(run, "Memset") == given["sets"])
    check("nothing was dropped", not table(run, "drops"), table(run, "drops"))
    rows = {row["launch_operations"]: row["ns"] for row in table(run, "device_by_launch")}
    check("device time belongs to operations", set(rows) == {"kernels", "copies", "graphs"}, rows)
    busy = sum(row["ns"] for row in table(run, "overlap") if row["device"] == 1)
    check("device time by launch is busy time", sum(rows.values()) == busy, (rows, busy))
    for row in table(run, "clocks"):
        note(f"clock {row['clock']}: {row['anchors']} anchors, error {row['error_ns']} ns")


def check_visible_devices(folder):
    result = record(folder / "hidden", [sys.executable, str(HERE / "cuda_program.py"), ""],
                    f"--plugin={PLUGIN}")
    check("CUDA_VISIBLE_DEVICES set by the program counts",
          result.returncode != 0 and "CUDA error 100" in result.stderr, result.stdout)


def check_torch(folder):
    oracle = folder / "kineto.json"
    subprocess.run([sys.executable, str(HERE / "torch_program.py"), "kineto", str(oracle)],
                   check=True)
    expected = json.loads(oracle.read_text())
    run = folder / "torch"
    recorded(run, "torch_program.py", "plain")
    ours = {row["name"]: row for row in table(run, "functions") if row["layer"] == "device"}
    # The program trains twice: Kineto saw the second time only.
    wanted = {name: 2 * len(ns) for name, ns in expected.items()}
    found = {name: row["count"] for name, row in ours.items()}
    check("names and counts equal torch.profiler's", found == wanted,
          {name: (found.get(name), wanted.get(name)) for name in found.keys() | wanted.keys()
           if found.get(name) != wanted.get(name)})
    for name in wanted.keys() & found.keys():
        theirs = statistics.median(expected[name])
        off = abs(ours[name]["p50_ns"] - theirs)
        check(f"median of {name[:60]}", off <= max(0.05 * theirs, 1000),
              f"{ours[name]['p50_ns']} and {theirs} ns")


def print_costs(folder, rounds):
    program = str(HERE / "torch_program.py")
    variants = {
        "no profiler": lambda at: subprocess.run([sys.executable, program, "launches"],
                                                 capture_output=True, text=True),
        "crosscut": lambda at: record(at, [sys.executable, program, "launches"],
                                      "--sources=none", f"--plugin={PLUGIN}"),
        "crosscut, records only": lambda at: record(at, [sys.executable, program, "launches"],
                                                    "--sources=none",
                                                    f"--plugin={PLUGIN},calls=off"),
        "torch.profiler": lambda at: subprocess.run([sys.executable, program, "launches-kineto"],
                                                    capture_output=True, text=True),
    }
    ns = {name: [] for name in variants}
    for i in range(rounds):
        for number, (name, run) in enumerate(variants.items()):
            result = run(folder / f"cost-{i}-{number}")
            if result.returncode == 0:
                ns[name].append(float(result.stdout.splitlines()[-1]))
    for name, values in ns.items():
        check(f"cost is measured: {name}", len(values) == rounds)
        if values:
            note(f"{name}: median {statistics.median(values):.0f} ns per launch, "
                 f"{min(values):.0f} to {max(values):.0f}, {len(values)} runs")


def check_conflicts(folder):
    first = folder / "first.py"
    first.write_text("""
import os, time
import torch
profile = torch.profiler.profile()
profile.start()
torch.zeros(1, device="cuda").add_(1)
import crosscut
crosscut.start(os.environ["RUN"])
time.sleep(1)
crosscut.stop()
profile.stop()
print("done")
""")
    run = folder / "conflict"
    env = dict(os.environ, PYTHONPATH=str(PACKAGE), CROSSCUT_PLUGINS=str(PLUGIN), RUN=str(run))
    result = subprocess.run([sys.executable, first], env=env, capture_output=True, text=True)
    check("a torch.profiler that is first goes on", result.stdout.endswith("done\n"),
          result.stderr[-500:])
    states = {row["name"]: row["state"] for row in table(run, "sources")}
    check("and is a conflict", states.get("cupti") == "conflict", states)
    result = record(folder / "later", [sys.executable, str(HERE / "torch_program.py"), "kineto",
                                       str(folder / "later.json")], f"--plugin={PLUGIN}")
    check("a torch.profiler that comes later does no harm", result.returncode == 0,
          result.stderr[-500:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        print("skipped: no NVIDIA driver on this machine (libcuda.so.1)")
        return 0
    if not PLUGIN.exists():
        print(f"skipped: {PLUGIN} is not built (it needs CUPTI's headers)")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        check_cuda_program(folder)
        check_visible_devices(folder)
        try:
            import torch
            has_torch = torch.cuda.is_available()
        except ImportError:
            has_torch = False
        if has_torch:
            check_torch(folder)
            print_costs(folder, given.rounds)
            check_conflicts(folder)
        else:
            print("skipped: the rest, for this Python has no PyTorch with CUDA")
    print(f"{len(failures)} checks failed" if failures else "all checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
