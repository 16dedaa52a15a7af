"""`reduce --on=ray`: runs are mapped where they lie, by the nodes of a Ray cluster.

Each node is asked first which runs it sees at the given paths, and by their logs those that several
nodes see, on a shared disk, are told from those on a disk of its own. A run is mapped by one node
that sees it: a task for each node maps its share by processes of the node and sends a partial for
each. Ray starts a task again three times; what a node cannot do after that, or a node that is gone,
is left to other nodes that see it, and is a gap where there is none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import crosscut
from crosscut.cluster import partial, sources, store, workers
from crosscut.cluster.partial import Gap, Partial
from crosscut.cluster.sources import Input, Log

RETRIES = 3
# Of a cluster that is started here: its parts take long on a busy machine, and nothing is told to
# the network.
_SETTINGS = {"RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "300",
             "RAY_USAGE_STATS_ENABLED": "0"}
_MOST_NAMED = 3  # paths in a gap

Looked = tuple[dict[str, list[tuple[str, frozenset[Log]]]], dict[str, str]]


def look_here(paths: Sequence[str]) -> Looked:
    """What a node's first task does: by path, the inputs that it means there, and what is wrong
    with it. Paths that are not there are in neither."""
    there: dict[str, list[tuple[str, frozenset[Log]]]] = {}
    wrong: dict[str, str] = {}
    for path in paths:
        if not os.path.exists(path):
            continue
        try:
            there[path] = [(one, sources.logs_of(one)) for one in sources.inputs_of([path])]
        except (OSError, ValueError) as error:
            wrong[path] = str(error)
    return there, wrong


def map_here(paths: Sequence[str], job: str,
             at_once: int) -> tuple[list[bytes], list[tuple[str, str]]]:
    """What a node's second task does: the partials of these inputs, as bytes, and its gaps."""
    with tempfile.TemporaryDirectory(prefix="crosscut-map-") as folder:
        done = list(workers.map_all(paths, folder, job, at_once))
        return ([store.read(one.file) for one in done if one.file is not None],
                [(one.gap.where, one.gap.what) for one in done if one.gap is not None])


@contextmanager
def connected() -> Iterator[Nodes]:
    """The nodes of the Ray cluster that this process is connected to, else that $RAY_ADDRESS names,
    else of one that is started here. ModuleNotFoundError without Ray, ConnectionError where there
    is no such cluster."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as missing:
        missing.msg = "--on=ray needs ray: pip install 'crosscut[ray]'"
        raise

    started = not ray.is_initialized()
    if started:
        package = os.path.dirname(os.path.dirname(os.path.abspath(crosscut.__file__)))
        here = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
        ray.init(address=os.environ.get("RAY_ADDRESS") or "local", log_to_driver=False,
                 runtime_env={"env_vars": {"PYTHONPATH": package}}, **here)
    try:
        yield Nodes(ray)
    finally:
        if started:
            ray.shutdown()


class Nodes:
    """The nodes that are alive. One that does not answer is not asked again."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        alive = [node for node in ray.nodes() if node["Alive"]]
        self._hosts = {node["NodeID"]: str(node["NodeManagerHostname"]) for node in alive}
        self._order = sorted(self._hosts, key=lambda node: (self._hosts[node], node))
        self._gone: dict[str, str] = {}  # and why

    def find(self, paths: Sequence[str]) -> tuple[list[Input], list[Gap]]:
        """What these paths mean on the nodes, each input once; and what is missing."""
        found: dict[tuple[str, frozenset[Log]], list[str]] = {}
        seen: set[str] = set()
        wrong: dict[str, str] = {}
        tasks = [(node, self._task(node, look_here).remote(list(paths))) for node in self._order]
        for node, task in tasks:
            there, of_node = self._answer(node, task) or ({}, {})
            wrong |= of_node
            for path, inputs in there.items():
                seen.add(path)
                for key in inputs:
                    found.setdefault(key, []).append(node)
        gaps = [Gap(self._hosts[node], f"it could not be asked: {why}")
                for node, why in self._gone.items()]
        gaps += [Gap(path, wrong.get(path, "no node has it")) for path in paths if path not in seen]
        return [Input(path, logs, tuple(nodes)) for (path, logs), nodes in found.items()], gaps

    def map(self, inputs: Sequence[Input], job: str = "",
            at_once: int = 0) -> tuple[list[Partial], list[Gap]]:
        """The partials of inputs that `find` found, and what is missing."""
        parts: list[Partial] = []
        gaps: list[Gap] = []
        left = list(inputs)
        while left:
            shares, orphans = self._shares(left)
            gaps += self._gaps_of(orphans)
            tasks = [(node, share, self._task(node, map_here).remote(
                [one.path for one in share], job, at_once)) for node, share in shares.items()]
            left = []
            for node, share, task in tasks:
                answer = self._answer(node, task)
                if answer is None:
                    left += share
                    continue
                parts += [partial.from_bytes(content, self._hosts[node]) for content in answer[0]]
                gaps += [Gap(where, what) for where, what in answer[1]]
        return parts, gaps

    def _task(self, node: str, function: Any) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        where = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        return self._ray.remote(function).options(num_cpus=1, max_retries=RETRIES,
                                                  scheduling_strategy=where)

    def _answer(self, node: str, task: Any) -> Any:
        """None where the node has none, which is gone then."""
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            self._gone[node] = str(error).strip().split("\n")[-1]
            return None

    def _shares(self, inputs: Sequence[Input]) -> tuple[dict[str, list[Input]], list[Input]]:
        """Each input for a node that sees it, those with the least to do first; and what no node
        sees any more."""
        shares: dict[str, list[Input]] = {}
        orphans = []
        for one in inputs:
            nodes = [node for node in one.nodes if node not in self._gone]
            if nodes:
                least = min(nodes, key=lambda node: (len(shares.get(node, ())), node))
                shares.setdefault(least, []).append(one)
            else:
                orphans.append(one)
        return shares, orphans

    def _gaps_of(self, orphans: Sequence[Input]) -> list[Gap]:
        by_node: dict[str, list[str]] = {}
        for one in orphans:
            by_node.setdefault(one.nodes[-1], []).append(one.path)
        gaps = []
        for node, paths in by_node.items():
            more = len(paths) - _MOST_NAMED
            named = ", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            gaps.append(Gap(self._hosts[node], f"it could not map {named}: {self._gone[node]}"))
        return gaps
