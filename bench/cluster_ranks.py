#!/usr/bin/env python3
"""Many ranks of Kineto's traces: `crosscut map` and `reduce` beside HolisticTraceAnalysis.

    bench/cluster_ranks.py TRACE [--ranks 64] [--late 33] [--late-us 400]

Makes a job of that many ranks from a real trace with NCCL kernels: each rank has its number, one
process group of all of them, and every rank but one is in each collective for so much longer, since
that one comes late. Both tools read the files in processes of their own: processor seconds, memory,
and which rank each of them names.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "build/release/python"
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
print("STRAGGLERS", analysis.get_potential_stragglers(num_candidates=1))
"""


def make_ranks(trace, folder, options):
    """The files of all ranks, in `folder`."""
    text = gzip.open(trace, "rt", encoding="utf-8").read()
    whole = json.loads(text)
    everyone = list(range(options.ranks))
    for rank in everyone:
        info = whole["distributedInfo"]
        info.update(rank=rank, world_size=options.ranks)
        for group in info.get("pg_config", []):
            group.update(pg_size=options.ranks, ranks=everyone)
        late = 0 if rank == options.late else options.late_us
        events = []
        for event in whole["traceEvents"]:
            event = dict(event)
            arguments = event.get("args")
            if arguments and "Process Group Name" in arguments:
                event["args"] = {**arguments, "Group size": options.ranks,
                                 "Process Group Ranks": json.dumps(everyone[:30])}
            if event.get("cat") == "kernel" and "nccl" in event["name"].lower():
                event["ts"] -= late
                event["dur"] += late
            events.append(event)
        copy = {**whole, "traceEvents": events}
        with gzip.open(folder / f"rank{rank}.json.gz", "wt", compresslevel=1) as file:
            json.dump(copy, file)


def run(words, **more):
    """Processor seconds of a command with all that it starts, the largest of its processes in MiB,
    and its output."""
    code = ("import json, resource, subprocess, sys\n"
            "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024,\n"
            "                  done.returncode, done.stdout, done.stderr]))")
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True,
                          text=True, check=True, **more)
    seconds, memory, status, output, errors = json.loads(done.stdout)
    if status not in (0, 3):
        sys.exit(errors or output)
    return seconds, memory, output + errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--late", type=int, default=33)
    parser.add_argument("--late-us", type=int, default=400)
    options = parser.parse_args()
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "traces"
        folder.mkdir()
        make_ranks(options.trace, folder, options)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{options.ranks} ranks, {size >> 20} MiB")
        cluster = pathlib.Path(name) / "cluster"
        seconds, memory, _ = run([sys.executable, "-m", "crosscut", "reduce", folder, "-o",
                                  cluster], env=env)
        table = run([sys.executable, "-m", "crosscut", "table", cluster, "stragglers",
                     "--format=json"], env=env)[2]
        ours = json.loads(re.search(r"\[.*\]", table, re.S)[0])[0]["rank"]
        print(f"crosscut: {seconds:.1f} s of processor, {memory:.0f} MiB, rank {ours}")
        theirs, their_memory, output = run([sys.executable, "-c", HTA, folder])
        found = re.search(r"STRAGGLERS (.*)", output)
        print(f"HTA:      {theirs:.1f} s of processor, {their_memory:.0f} MiB, "
              f"rank {found[1] if found else '?'}")
        print(f"{theirs / seconds:.0f} x the processor time, {their_memory / memory:.1f} x the "
              "memory of the largest process")
        if ours != options.late:
            sys.exit(f"the late rank is {options.late}")


if __name__ == "__main__":
    main()
