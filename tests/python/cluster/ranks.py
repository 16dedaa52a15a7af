"""Small inputs of many ranks, as traces in text, and what `reduce` makes of them."""

import os
import pathlib

from crosscut.cluster import command, dataset, merging, partial


def trace_of(folder, rank, world=4, steps=3, more=""):
    """A file of one rank: two operations in each step. Returns its path."""
    lines = ["# crosscut trace", f"process r{rank} pid={100 + rank} window=0..{steps * 1000}",
             f"meta rank {rank}", f"meta world_size {world}", "thread main tid=1 main"]
    for step in range(steps):
        begin = step * 1000
        lines += [f"step step {begin} {begin + 900} number={step}",
                  f"op train {begin} {begin + 500}",
                  f"span forward {begin} {begin + 300} framework"]
    path = pathlib.Path(folder) / f"rank{rank}.txt"
    path.write_text("\n".join(lines) + "\n" + more)
    return os.fspath(path)


def written(folder, parts):
    """The partials as files in a folder, one each; their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for number, part in enumerate(parts):
        path = os.path.join(folder, f"job7.host{number}.0{partial.SUFFIX}")
        pathlib.Path(path).write_bytes(partial.to_bytes(part))
        paths.append(path)
    return paths


def reduce(output, *sources):
    """The exit code of `crosscut reduce`, and the folder it made; None where it made none."""
    code = command.main_reduce(["-o", os.fspath(output), *map(os.fspath, sources)])
    there = os.path.exists(os.path.join(output, dataset.FACTS))
    return code, dataset.open_cluster(os.fspath(output)) if there else None


def gaps_of(cluster):
    """What is missing, a sentence each."""
    return [f"{where}: {what}" if where else what for where, what in cluster.facts["gaps"]]


def host_partials(job, parts):
    """One partial for each host."""
    return [merging.merge(parts[at:at + job.per_host]) for at in range(0, len(parts), job.per_host)]


def partial_gaps(cluster):
    """The sentences about partials."""
    return [gap for gap in gaps_of(cluster) if partial.SUFFIX in gap]
