"""Maps inputs by a Ray cluster of two nodes of this machine. On each node the first task is killed
while it works, so Ray starts it again.

Arguments: a folder for a file of each kill, a file for the merged partial, the inputs.
"""

import os
import pathlib
import sys

import ray
from crosscut.cluster import merging, on_ray, partial
from ray.cluster_utils import Cluster


def killed_once(kills):
    def map_here(paths, job, at_once, must_be_there):
        from crosscut.cluster import on_ray as real

        kill = os.path.join(kills, ray.get_runtime_context().get_node_id())
        if not os.path.exists(kill):
            open(kill, "w").close()
            os.kill(os.getpid(), 9)
        return real.map_here(paths, job, at_once, must_be_there)

    return map_here


if __name__ == "__main__":
    kills, out, *paths = sys.argv[1:]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    on_ray.map_here = killed_once(kills)
    parts, gaps = on_ray.map_all(paths)
    pathlib.Path(out).write_bytes(partial.to_bytes(merging.merge(parts)))
    print(len(ray.nodes()), "nodes,", len(parts), "partials, gaps:", gaps)
