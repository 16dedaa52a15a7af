"""Sets of processes from a run's files: how fast, and in how much memory.

Usage: many_processes.py CROSSCUT MAKE_RUN MILLIONS ROUNDS [LIMIT_MIB]. Makes a run of so many
million spans in 8 processes of 2 threads each that rest between their steps, and prints the table
`concurrency` of it ROUNDS times: reading included, by CPU time, so the speed is that of one core.
With LIMIT_MIB columns may take so much memory (CROSSCUT_READ_MEMORY); the rest stands in files.
Memory is what cannot be taken back from the process (RssAnon), looked at every 20 ms.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import harness

PROCESSES, THREADS = 8, 2


def anonymous_mib(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines()
                 if line.startswith("RssAnon:")), 0.0)


def measure(command, env):
    """CPU seconds, seconds, and the most anonymous memory in MiB of one run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, env=env, stdout=out)
        most = 0.0
        while child.poll() is None:
            most = max(most, anonymous_mib(child.pid))
            time.sleep(0.02)
        out.seek(0)
        rows = out.read().count(b"\n") - 1
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode != 0 or rows < 100:
        sys.exit(f"many_processes: {command} ended with {child.returncode} and {rows} rows")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds, most)


def main():
    crosscut, make_run, millions, rounds = sys.argv[1:3] + [int(a) for a in sys.argv[3:5]]
    limit = sys.argv[5] if len(sys.argv) > 5 else None
    env = dict(os.environ)
    if limit:
        env["CROSSCUT_READ_MEMORY"] = limit
    # Not in a memory file system: the run's size would count as memory.
    folder = os.environ.get("TMPDIR") or "/var/tmp"
    with tempfile.TemporaryDirectory(dir=folder) as work:
        subprocess.run([make_run, f"{work}/run", str(millions * 10**6), "repeating", str(THREADS),
                        str(PROCESSES)], check=True)
        measured = [measure([crosscut, "table", f"{work}/run", "concurrency"], env)
                    for _ in range(rounds)]
    name = f"{millions} M spans" + (f", {limit} MiB for columns" if limit else "")
    speed = [millions / cpu for cpu, _, _ in measured]
    for what, values, unit in (
            ("sets of 8 processes, from file", speed, "M intervals/s"),
            ("wall time", [seconds for _, seconds, _ in measured], "s"),
            ("memory", [most for _, _, most in measured], "MiB")):
        q25, median, q75 = harness.quartiles(values)
        print(json.dumps({"group": f"processes: {name}", "name": what, "value": median,
                          "value_q25": q25, "value_q75": q75, "unit": unit}))


if __name__ == "__main__":
    main()
