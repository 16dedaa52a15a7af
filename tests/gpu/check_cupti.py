#!/usr/bin/env python3
"""CUPTI's plugin on a real device; README.md says what is checked.

Exit status 1: a check failed.
"""

import argparse
import collections
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "endtoend"))

from runs import PACKAGE, crosscut, record, table  # noqa: E402

PLUGIN = PACKAGE / "crosscut" / "plugins" / "cupti" / "libcrosscut_cupti.so"
LIMIT_S = 90
# The same kernels in every run, and memory for others.
JAX = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_FLAGS": "--xla_gpu_autotune_level=0"}
TORCH = str(HERE / "torch_program.py")
failures = []


def check(what, holds, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f': {found}'}", flush=True)
    if not holds:
        failures.append(what)


def note(what):
    print(f"     {what}", flush=True)


def python(script, *arguments):
    return [sys.executable, str(HERE / script), *map(str, arguments)]


def source(run):
    # Children that use no device may be told first.
    row = max((row for row in table(run, "sources") if row["name"] == "cupti"),
              key=lambda row: row["state"] == "on", default={})
    note(f"source: {row.get('state')}, {row.get('version')}: {row.get('message')}")
    return row


def recorded(run, command, *flags, status=0, **options):
    """Records without any flag about CUDA; its result, and whether it ended as it should."""
    result = record(run, command, *flags, timeout=LIMIT_S, **options)
    name = pathlib.Path(command[1] if command[0] == sys.executable else command[0]).name
    check(f"{name} {' '.join(command[1:])[-20:]} ends as it does alone",
          result.returncode == status, f"{result.returncode}: {result.stderr[-800:]}")
    check("the source is on", source(run).get("state") == "on")
    for row in table(run, "drops"):
        note(f"drop: {row}")
    for row in table(run, "gaps"):
        note(f"gap: {row}")
    return result


def device_events(run, since_ns=0):
    """ns of the spans on devices by name, of those that began after a time of CLOCK_MONOTONIC."""
    found = collections.defaultdict(list)
    for row in table(run, "device_events"):
        if row["begin_ns"] >= since_ns:
            found[row["name"]].append(row["end_ns"] - row["begin_ns"])
    return found


def check_launches(run, without=()):
    """Every event has the call that launched it, but those in `without`, and none begins before."""
    rows = table(run, "device_events")
    lonely = collections.Counter(row["name"] for row in rows if row["launch"] == "")
    check("every event has its launch", lonely == dict(without), lonely)
    early = [row["launch_begin_ns"] - row["begin_ns"] for row in rows
             if row["launch"] != "" and row["begin_ns"] < row["launch_begin_ns"]]
    error = max((row["error_ns"] for row in table(run, "clocks")), default=0)
    check("none begins before its launch by more than the clock's error",
          not early or max(early) <= error, f"{len(early)} of {len(rows)}, {max(early, default=0)}")


def check_counts(found, wanted):
    counts = {name: len(ns) for name, ns in found.items()}
    check("names and counts are those of the oracle", counts == wanted,
          {name: (counts.get(name), wanted.get(name)) for name in counts.keys() | wanted.keys()
           if counts.get(name) != wanted.get(name)})


def check_durations(found, expected):
    for name in sorted(expected.keys() & found.keys()):
        ours, theirs = statistics.median(found[name]), statistics.median(expected[name])
        if name.startswith("Memcpy"):  # the bus's time, and another in each process
            note(f"median of {name}: {ours:.0f} ns, the oracle: {theirs:.0f} ns")
            continue
        check(f"median of {name[:70]}: {ours:.0f} ns",
              abs(ours - theirs) <= max(0.05 * theirs, 1000), f"the oracle: {theirs:.0f} ns")


def check_driver_api(folder):
    run = folder / "driver"
    given = json.loads(recorded(run, python("cuda_program.py")).stdout)
    found = device_events(run)
    check_counts({name.split("(")[0].strip(): ns for name, ns in found.items()},
                 {"spin": given["kernels"], "Memcpy HtoD": given["copies"],
                  "Memset": given["sets"]})
    check_launches(run)
    rows = {row["launch_operations"]: row["ns"] for row in table(run, "device_by_launch")}
    check("device time belongs to operations", set(rows) == {"kernels", "copies", "graphs"}, rows)
    busy = sum(row["ns"] for row in table(run, "overlap") if row["device"] == 1)
    check("device time by launch is busy time", sum(rows.values()) == busy, (rows, busy))
    result = record(folder / "hidden", python("cuda_program.py", ""), timeout=LIMIT_S)
    check("CUDA_VISIBLE_DEVICES set by the program counts",
          result.returncode != 0 and "CUDA error 100" in result.stderr, result.stdout)


def check_metrics(folder):
    """A launch of cuda_program.py is one block of one warp."""
    names = ("sm__ctas_launched.sum", "sm__warps_launched.sum")
    for options, what in (("", "(kernel)"), (",metrics_per=window", "(window)")):
        run = folder / f"metrics{what}"
        result = record(run, python("cuda_program.py"), "--control-steps=0",
                        f"--plugin={PLUGIN.name},metrics={'+'.join(names)}{options}",
                        timeout=LIMIT_S)
        check(f"the program ends as it does alone {what}", result.returncode == 0,
              result.stderr[-800:])
        message = source(run).get("message", "")
        for row in table(run, "kernel_metrics"):
            note(f"metric: {row}")
        if "hardware metrics are missing" in message:
            check("a gap says why there are no metrics",
                  any("hardware metrics are missing" in row["message"]
                      for row in table(run, "gaps")))
            continue
        found = {name: len(ns) for name, ns in device_events(run).items()}
        given = json.loads(result.stdout)
        check(f"every kernel, copy and set is there once {what}", sum(found.values()) ==
              given["kernels"] + given["copies"] + given["sets"], (found, given))
        rows = {row["metric"]: row for row in table(run, "kernel_metrics")}
        check(f"every metric has a row {what}", set(rows) == set(names), rows)
        for name, row in rows.items():
            if options == "":
                check(f"{name} of each kernel is 1", float(row["min"]) == float(row["max"]) == 1,
                      row)
            else:  # from the first launch on, graphs included
                check(f"{name} of the window is the number of kernels",
                      float(row["mean"]) == given["kernels"], (row, given))


def compiled(folder, name):
    binary = folder / name
    major, minor = device_capability()
    subprocess.run(["nvcc", "-std=c++17", "-O2", f"-arch=sm_{major}{minor}", "-o", binary,
                    HERE / f"{name}.cu"], check=True)
    return binary


def device_capability():
    cuda, major, minor = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
    cuda.cuInit(0)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    return major.value, minor.value


def check_runtime_api(folder):
    program = compiled(folder, "streams_program")
    run = folder / "streams"
    given = json.loads(recorded(run, [program]).stdout)
    check_counts(device_events(run), given)
    # CUPTI 13.0 gives no correlation id in the loop of a graph that is nothing else.
    check_launches(run, {"spin(long long)": 6, "again(unsigned long long, int*)": 6})
    for what, status in (("reset", 0), ("fault", 3), ("leave", 5)):
        run = folder / what
        recorded(run, [program, what], status=status)
        note(f"{sum(map(len, device_events(run).values()))} events of devices")
        told = any("was recording" in row["message"] for row in table(run, "gaps"))
        check("what a sudden end took along is told", told == (what == "leave"), told)


def check_clock(folder):
    run = folder / "clock"
    given = json.loads(recorded(run, [compiled(folder, "clock_program")]).stdout)
    note(f"%globaltimer advances by {given['resolution_ns']} ns; known to +- {given['error_ns']} "
         f"ns; it drifts by {given['drift_ppm']} ppm in {given['seconds']} s")
    rows = [row for row in table(run, "device_events") if row["name"].startswith("stamped")]
    check("every stamped kernel is there", len(rows) == len(given["kernels"]), len(rows))
    rows.sort(key=lambda row: row["begin_ns"])
    before = [begin - row["begin_ns"] for row, (begin, _) in zip(rows, given["kernels"])]
    behind = [row["end_ns"] - end for row, (_, end) in zip(rows, given["kernels"])]
    for what, values in (("begin before its first stamp", before), ("end after its last", behind)):
        note(f"kernels {what} by: least {min(values)}, quartiles "
             f"{statistics.quantiles(values, n=4)}, most {max(values)} ns")
        for third in range(3):
            part = values[third * 1000:(third + 1) * 1000]
            note(f"  third {third}: median {statistics.median(part)} ns")
    errors = [(a - b) / 2 for a, b in zip(before, behind)]
    error = max(row["error_ns"] for row in table(run, "clocks"))
    known = max(given["error_ns"]) + given["resolution_ns"]
    note(f"clock error (half the difference of the two): median {statistics.median(errors)} ns, "
         f"{min(errors)} to {max(errors)}; recorded error {error} ns, known to {known} ns")
    (folder / "clock.json").write_text(json.dumps({"before": before, "behind": behind, **given}))


def check_torch(folder, what):
    oracle = folder / f"kineto-{what}.json"
    subprocess.run(python("torch_program.py", "kineto", what, oracle), check=True, timeout=LIMIT_S)
    expected = json.loads(oracle.read_text())
    run = folder / f"torch-{what}"
    recorded(run, python("torch_program.py", "plain", what), "--control-steps=0")
    found = device_events(run)
    # The program does it twice: Kineto saw the second time only.
    check_counts(found, {name: 2 * len(ns) for name, ns in expected.items()})
    check_durations(found, expected)
    check_launches(run)


def check_defaults(folder):
    """As people run it: no flag, no variable."""
    for what in ("train", "loader"):
        run = folder / f"default-{what}"
        recorded(run, python("torch_program.py", "plain", what), env={"CROSSCUT_PLAN": ""})
        (folder / f"default-{what}.txt").write_text(crosscut("report", run))


def check_jax(folder):
    oracle = folder / "jax-profile"
    subprocess.run(python("jax_program.py", "profiler", oracle), check=True, timeout=LIMIT_S,
                   env={**os.environ, **JAX})
    profile = next(oracle.rglob("*.xplane.pb"))
    expected = device_events(profile)
    run = folder / "jax"
    result = recorded(run, python("jax_program.py", "plain"), "--control-steps=0", env=JAX)
    # JAX's profile has other names for copies.
    found, expected = ({name: ns for name, ns in events.items() if not name.startswith("Mem")}
                       for events in (device_events(run, int(result.stdout)), expected))
    check_counts(found, {name: len(ns) for name, ns in expected.items()})
    check_durations(found, expected)
    check_launches(run)
    shutil.copy(profile, folder / "jax.xplane.pb")


def print_costs(folder, rounds):
    def alone(mode):
        return lambda at: subprocess.run([sys.executable, TORCH, mode, "costs"],
                                         capture_output=True, text=True, timeout=LIMIT_S)

    def under(*flags, **options):
        return lambda at: record(at, [sys.executable, TORCH, "plain", "costs"], *flags,
                                 timeout=LIMIT_S, **options)

    variants = {
        "no profiler": alone("plain"),
        "no profiler, again": alone("plain"),
        "crosscut, no flag": under(env={"CROSSCUT_PLAN": ""}),
        "crosscut, every step whole": under(),
        "crosscut, only cupti": under("--sources=none", f"--plugin={PLUGIN}"),
        "crosscut, records only": under("--sources=none", f"--plugin={PLUGIN},calls=off"),
        "torch.profiler": alone("kineto"),
    }
    found = {name: [] for name in variants}
    for i in range(rounds):
        for number, (name, run) in enumerate(variants.items()):
            result = run(folder / f"cost-{i}-{number}")
            if result.returncode == 0:
                found[name].append(json.loads(result.stdout.splitlines()[-1]))
                note(f"round {i}, {name}: {found[name][-1]}")
    for name, values in found.items():
        check(f"cost is measured: {name}", len(values) == rounds)
        for what in ("launch", "step") if values else ():
            ns = [value[what] for value in values]
            note(f"{name}: median {statistics.median(ns):.0f} ns per {what}, "
                 f"{min(ns):.0f} to {max(ns):.0f}, {len(ns)} runs")


def check_processes(folder):
    """Two processes on one device: each has its own work."""
    program = folder / "two.py"
    program.write_text("""
import subprocess, sys
others = [subprocess.Popen([sys.executable, sys.argv[1], "plain", "train"]) for _ in range(2)]
sys.exit(max(other.wait() for other in others))
""")
    run = folder / "two"
    recorded(run, [sys.executable, str(program), TORCH], "--control-steps=0")
    processes = collections.Counter(row["process"] for row in table(run, "device_events"))
    check("both processes have the same work", len(set(processes.values())) == 1
          and len(processes) == 2, processes)


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
    result = subprocess.run([sys.executable, first], env=env, capture_output=True, text=True,
                            timeout=LIMIT_S)
    check("a torch.profiler that is first goes on", result.stdout.endswith("done\n"),
          result.stderr[-500:])
    check("and is a conflict", source(run).get("state") == "conflict")
    later = folder / "later.json"
    result = record(folder / "later", python("torch_program.py", "kineto", "train", later),
                    timeout=LIMIT_S)
    check("a torch.profiler that comes later does no harm", result.returncode == 0,
          result.stderr[-500:])
    alone = folder / "alone.json"
    subprocess.run(python("torch_program.py", "kineto", "train", alone), check=True,
                   timeout=LIMIT_S)
    check("and has the kernels that it has alone",
          later.exists() and sorted(json.loads(later.read_text())) ==
          sorted(json.loads(alone.read_text())))
    check("and CUPTI's source says so", "had CUPTI" in source(folder / "later")["message"])


def checks(rounds):
    """What there is to check on this machine: name, function of the folder."""
    yield "driver", check_driver_api
    yield "metrics", check_metrics
    if shutil.which("nvcc"):
        yield "runtime", check_runtime_api
        yield "clock", check_clock
    else:
        print("skipped: programs in CUDA C++, for there is no nvcc")
    if importlib.util.find_spec("torch") is not None:
        for what in ("train", "graphs"):
            yield f"torch-{what}", lambda folder, what=what: check_torch(folder, what)
        if importlib.util.find_spec("triton") is not None:
            yield "torch-triton", lambda folder: check_torch(folder, "triton")
        yield "defaults", check_defaults
        yield "processes", check_processes
        yield "conflicts", check_conflicts
    else:
        print("skipped: PyTorch, which this Python does not have")
    if importlib.util.find_spec("jax") is not None:
        yield "jax", check_jax
    if importlib.util.find_spec("torch") is not None:
        yield "costs", lambda folder: print_costs(folder, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="names of checks, with commas between")
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
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, run in checks(given.rounds):
            if given.only and name not in given.only.split(","):
                continue
            print(f"-- {name} (after {time.monotonic() - began:.0f} s)", flush=True)
            try:
                run(folder)
            except Exception:  # one check's end is not the end of all
                check(f"{name} runs to its end", False, traceback.format_exc())
    print(f"{len(failures)} checks failed: {failures}" if failures else "all checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
