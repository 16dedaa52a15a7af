"""`reduce --on=ray`: runs are mapped where they lie, one task for each node of a Ray cluster.

A source that this machine sees is shared out among the nodes. One that it does not see is asked of
every node: a path of local disks, which each node has its own runs in. A task maps its runs by
processes of its node and sends one partial for each job and host. Ray starts a task again three
times; what a node cannot do after that, or a node that is gone, is a gap of that name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import crosscut
from crosscut.cluster import partial, sources, workers
from crosscut.cluster.partial import Gap, Partial

RETRIES = 3
# Of a cluster that is started here: its parts take long on a busy machine, and nothing is told to
# the network.
_SETTINGS = {"RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "300",
             "RAY_USAGE_STATS_ENABLED": "0"}


def map_here(paths: Sequence[str], job: str, at_once: int,
             must_be_there: bool) -> tuple[list[bytes], list[tuple[str, str]]]:
    """What a task does: the partials of these paths, as bytes, and its gaps. Paths that are not
    there are none where others may have them."""
    there = [path for path in paths if must_be_there or os.path.exists(path)]
    gaps: list[tuple[str, str]] = []
    inputs: list[str] = []
    for path in there:
        try:
            inputs += sources.inputs_of([path])
        except (OSError, ValueError) as error:
            if must_be_there:
                gaps.append((path, str(error)))
    with tempfile.TemporaryDirectory(prefix="crosscut-map-") as folder:
        parts, missing = workers.by_host(workers.map_all(inputs, folder, job, at_once))
    gaps += [(gap.where, gap.what) for gap in missing]
    return [partial.to_bytes(part) for part in parts], gaps


def map_all(paths: Sequence[str], job: str = "",
            at_once: int = 0) -> tuple[list[Partial], list[Gap]]:
    """The partials of these paths, mapped by the nodes of the Ray cluster that this process is
    connected to, else that $RAY_ADDRESS names, else of one that is started here; and what is
    missing. ModuleNotFoundError without Ray, ConnectionError where there is no such cluster."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray

    started = not ray.is_initialized()
    if started:
        package = os.path.dirname(os.path.dirname(os.path.abspath(crosscut.__file__)))
        here = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
        ray.init(address=os.environ.get("RAY_ADDRESS") or "local", log_to_driver=False,
                 runtime_env={"env_vars": {"PYTHONPATH": package}}, **here)
    try:
        return _on_nodes(ray, paths, job, at_once)
    finally:
        if started:
            ray.shutdown()


def _on_nodes(ray: Any, paths: Sequence[str], job: str,
              at_once: int) -> tuple[list[Partial], list[Gap]]:
    nodes = sorted(((node["NodeManagerHostname"], node["NodeID"]) for node in ray.nodes()
                    if node["Alive"]))
    seen = [path for path in paths if os.path.exists(path)]
    elsewhere = [path for path in paths if not os.path.exists(path)]
    shared = sources.inputs_of(seen) if seen else []
    tasks = []
    for number, (host, node) in enumerate(nodes):
        mine = shared[number::len(nodes)]
        for given, must in ((mine, True), (elsewhere, False)):
            if given:
                tasks.append((host, given, must, _task(ray, node, not must).remote(
                    given, job, at_once, must)))
    parts, gaps = [], []
    found: set[str] = set()
    for host, given, must, task in tasks:
        try:
            contents, missing = ray.get(task)
        except ray.exceptions.RayError as error:
            what = str(error).strip().split("\n")[-1]
            gaps.append(Gap(host, f"it could not map {', '.join(given)}: {what}"))
            continue
        parts += [partial.from_bytes(content, host) for content in contents]
        gaps += [Gap(where, what) for where, what in missing]
        found |= set(given) if contents and not must else set()
    gaps += [Gap(path, "no node has it") for path in elsewhere if path not in found]
    return parts, gaps


def _task(ray: Any, node: str, bound: bool) -> Any:
    """map_here() on a node; on another one if it dies, unless it is `bound` to it by its disk."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    where = NodeAffinitySchedulingStrategy(node_id=node, soft=not bound)
    return ray.remote(map_here).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy=where)
