#!/usr/bin/env python3
"""`crosscut reduce` of a job that never ran: processor seconds, memory, and whether it is right.

    bench/cluster.py [--ranks 16384] [--per-host 8] [--steps 200] [--collectives 11] [--out DIR]

Makes the partial of each host (tests/python/cluster/synthetic.py), reduces them in a process of its
own, and checks that the late rank and its waiting are told to the nanosecond.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/python/cluster"), str(ROOT / "build/release/python")]


def make(folder, job):
    """The partials, one for each host; their bytes."""
    import synthetic
    from crosscut.cluster import merging, partial

    size = 0
    for host in range(job.ranks // job.per_host):
        first = host * job.per_host
        part = merging.merge([synthetic.partial_of(job, rank)
                              for rank in range(first, first + job.per_host)])
        content = partial.to_bytes(part)
        (folder / f"job7.host{host:05d}.0.ccp").write_bytes(content)
        size += len(content)
    return size


def reduce(folder, cluster):
    """Processor seconds, wall seconds and MiB of memory of `crosscut reduce`."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "crosscut", "reduce", folder, "-o", cluster], check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "build/release/python")})
    wall = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"reduce ended with {done.returncode}")
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024


def check(cluster, job):
    """The late rank made all others wait in each step, exactly that long."""
    import duckdb
    import synthetic

    [(rank, made)] = duckdb.sql("SELECT rank, made_wait_ns FROM "
                                f"'{cluster}/stragglers/*.parquet' LIMIT 1").fetchall()
    expected = sum(int(synthetic.waits_of(job, rank).sum()) for rank in range(job.ranks))
    [(calls,)] = duckdb.sql(
        f"SELECT count(*) FROM '{cluster}/collective_calls/*.parquet'").fetchall()
    return {"straggler": rank, "told_ns": made, "true_ns": expected, "calls": calls,
            "right": (rank, made) == (job.late, expected)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--per-host", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--collectives", type=int, default=11)
    parser.add_argument("--out", help="where to keep the partials and the cluster folder")
    options = parser.parse_args()
    import synthetic

    job = synthetic.Job(options.ranks, options.per_host, options.steps, options.collectives,
                        late=options.ranks // 2 + 1, jitter_ns=20_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.out or temporary)
        parts, cluster = folder / "parts", folder / "cluster"
        parts.mkdir(parents=True, exist_ok=True)
        size = make(parts, job) if not any(parts.iterdir()) else sum(
            file.stat().st_size for file in parts.iterdir())
        cpu, wall, memory = reduce(parts, cluster)
        print(json.dumps({
            "ranks": job.ranks, "hosts": len(list(parts.iterdir())), "partials_mib": size >> 20,
            "cpu_s": round(cpu, 1), "wall_s": round(wall, 1), "memory_mib": round(memory),
            "cluster_mib": sum(f.stat().st_size for f in cluster.rglob("*.parquet")) >> 20,
            **check(cluster, job)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
