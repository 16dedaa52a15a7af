"""Actors that gather experience, one of them slow, and a learner that waits for all of them.

Arguments: a file for the program's own stamps of each call, execution and wait, in nanoseconds of
CLOCK_MONOTONIC, and the address of a cluster that exists, or "local".
"""

import asyncio
import json
import os
import sys
import time

import ray

ROUNDS = 3
QUICK, SLOW = 0.02, 0.2


def stamp():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def work(seconds):
    begin = stamp()
    time.sleep(seconds)
    return {"pid": os.getpid(), "begin": begin, "end": stamp()}


@ray.remote
class Rollout:
    def __init__(self, seconds):
        self.seconds = seconds

    def sample(self):
        return work(self.seconds)


@ray.remote
class Store:
    """An asynchronous actor: its methods take turns on one thread."""

    def __init__(self, actors):
        self.actors, self.kept = actors, 0

    async def keep(self, samples):
        begin = stamp()
        await asyncio.sleep(0.02)
        self.kept += len(samples)
        return {"pid": os.getpid(), "begin": begin, "end": stamp()}

    async def fetch(self):
        return await self.actors[0].sample.remote()

    def size(self):
        return self.kept


@ray.remote(max_concurrency=2)
class Threaded:
    def both(self):
        return work(QUICK)


@ray.remote
def preprocess(samples):
    return work(QUICK) | {"count": len(samples)}


def timed(wait):
    begin = stamp()
    result = wait()
    return {"begin": begin, "end": stamp(), "result": result}


def learn():
    actors = [Rollout.options(name=name).remote(seconds)
              for name, seconds in (("quick", QUICK), ("slow", SLOW))]
    store, threaded = Store.remote(actors), Threaded.remote()
    stamps = {"sample": [], "preprocess": [], "keep": [], "both": [], "fetch": []}
    for _ in range(ROUNDS):
        refs = [actor.sample.remote() for actor in actors]
        stamps["sample"].append(timed(lambda refs=refs: ray.get(refs)))
        samples = ray.put(stamps["sample"][-1]["result"])
        done = preprocess.remote(samples)
        ray.wait([done], timeout=60)
        stamps["preprocess"].append(timed(lambda done=done: [ray.get(done)]))
        refs = [store.keep.remote(samples), store.keep.remote(samples)]
        stamps["keep"].append(timed(lambda refs=refs: ray.get(refs)))
        refs = [threaded.both.remote(), threaded.both.remote()]
        stamps["both"].append(timed(lambda refs=refs: ray.get(refs)))
    stamps["fetch"].append(timed(lambda: [ray.get(store.fetch.remote())]))
    return stamps, ray.get(store.size.remote())


def main():
    path, address = sys.argv[1:]
    if address == "local":
        ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    else:
        import crosscut

        ray.init(address=address, log_to_driver=False, runtime_env=crosscut.ray.runtime_env())
    stamps, kept = learn()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(stamps, file)
    print("kept", kept)


if __name__ == "__main__":
    main()
