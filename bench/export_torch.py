"""What it takes to stop after a million operators of training steps, and to export them as Chrome
JSON; how memory grew meanwhile, and how many bytes an operator takes.

Usage: export_torch.py crosscut|torch.profiler plain|shapes FOLDER CROSSCUT
One recorder in one process, since the peak of memory is the process's. Prints a JSON line per
value.
"""

import json
import os
import pathlib
import sys
import time

import torch

import crosscut
import harness
import torch_ops

STEPS = 3200  # of 319 operators


def mib(field):
    """"VmRSS" or "VmHWM" of this process."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def trained():
    """MiB by which the process grew in the last three quarters of its steps."""
    step = torch_ops.mlp_step()
    for _ in range(STEPS // 4):
        step()
    quarter = mib("VmRSS")
    for _ in range(STEPS - STEPS // 4):
        step()
    return mib("VmRSS") - quarter


def with_crosscut(shapes, folder, tool):
    """-> growth, seconds, MiB of the process and of the export, bytes per operator, operators"""
    run, out = folder / "run", folder / "trace.json"
    if not crosscut.start(run, plan="full", control_percent=0, python="off", shapes=shapes):
        sys.exit(crosscut.error())
    grown = trained()
    stop = seconds_of(crosscut.stop)
    peak = mib("VmHWM")
    crosscut.flush()
    seconds, export_mib, _, _ = harness.measured([tool, "export", run, "--to=chrome", "-o", out])
    kept = sum(file.stat().st_size for file in run.iterdir())
    return grown, stop, seconds, peak, export_mib, kept, out.read_bytes().count(b'"cpu_op"')


def with_torch_profiler(shapes, folder, _):
    out = folder / "trace.json"
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                     record_shapes=shapes)
    profile.start()
    grown = trained()
    stop = seconds_of(profile.stop)
    seconds = seconds_of(lambda: profile.export_chrome_trace(str(out)))
    peak = mib("VmHWM")
    return grown, stop, seconds, peak, 0, os.path.getsize(out), out.read_bytes().count(b'"cpu_op"')


RECORDERS = {"crosscut": with_crosscut, "torch.profiler": with_torch_profiler}


def main():
    recorder, what, folder, tool = sys.argv[1:]
    trained()
    before = mib("VmHWM")
    grown, stop, export, peak, export_mib, kept, operators = RECORDERS[recorder](
        what == "shapes", pathlib.Path(folder), tool)
    group = "export" if what == "plain" else f"export, with {what}"
    for name, value, unit in (
            ("stop and export", stop + export, "s"),
            ("stop", stop * 1e3, "ms"),
            ("memory of the program", peak - before, "MiB"),
            ("memory of the export", export_mib, "MiB"),
            ("growth while recording", grown, "MiB"),
            ("kept of an operator", kept / operators, "B"),
            ("operators", operators / 1e6, "M")):
        if recorder == "torch.profiler" and name == "memory of the export":
            continue  # the program's own
        print(json.dumps({"group": group, "name": f"{recorder}, {name}", "value": value,
                          "unit": unit}), flush=True)


if __name__ == "__main__":
    main()
