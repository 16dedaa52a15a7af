"""Maps inputs by a Ray cluster of two nodes of this machine. "task": on each node the first task is
killed while it works, so Ray starts it again. "node": the second node is killed while it works.

Arguments: "task" or "node", a folder for a file of each kill, a file for the merged partial, the
inputs.
"""

import os
import pathlib
import sys
import threading
import time

import ray
from crosscut.cluster import merging, on_ray, partial
from ray.cluster_utils import Cluster


def killed_once(kills):
    def map_here(paths, job, at_once):
        from crosscut.cluster import on_ray as real

        kill = os.path.join(kills, ray.get_runtime_context().get_node_id())
        if not os.path.exists(kill):
            open(kill, "w").close()
            os.kill(os.getpid(), 9)
        return real.map_here(paths, job, at_once)

    return map_here


def with_its_node(node, kills):
    """The task of that node tells that it began, and waits to be killed with the node."""
    def map_here(paths, job, at_once):
        import time

        from crosscut.cluster import on_ray as real

        if ray.get_runtime_context().get_node_id() == node:
            open(os.path.join(kills, node), "w").close()
            time.sleep(600)
        return real.map_here(paths, job, at_once)

    return map_here


def remove_when_it_works(cluster, node, kills):
    while not os.path.exists(os.path.join(kills, node.node_id)):
        time.sleep(0.1)
    cluster.remove_node(node, allow_graceful=False)


if __name__ == "__main__":
    victim, kills, out, *paths = sys.argv[1:]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    if victim == "task":
        on_ray.map_here = killed_once(kills)
    else:
        on_ray.map_here = with_its_node(node.node_id, kills)
        threading.Thread(target=remove_when_it_works, args=(cluster, node, kills),
                         daemon=True).start()
    with on_ray.connected() as nodes:
        inputs, missing = nodes.find(paths)
        parts, gaps = nodes.map(inputs)
    pathlib.Path(out).write_bytes(partial.to_bytes(merging.merge(parts)))
    print(len(ray.nodes()), "nodes,", len(parts), "partials, gaps:", missing + gaps)
