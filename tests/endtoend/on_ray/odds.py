"""What programs do beside the plain call: failures, generators, several results, names, a cancelled
task. Prints what must be the same with and without Crosscut."""

import asyncio
import inspect
import re
import sys
import time

import ray
from ray import get, wait

ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)


@ray.remote
class Sync:
    def fails(self):
        raise KeyError("sync")

    def sleeps(self):
        time.sleep(60)

    def streams(self, count):
        for i in range(count):
            time.sleep(0.01)
            yield i


@ray.remote
class Async:
    def __init__(self, other):
        self.other = other

    async def fails(self):
        await asyncio.sleep(0)
        raise KeyError("async")

    async def asks(self):
        try:
            await self.other.fails.remote()
        except KeyError as error:
            return str(error.cause)

    async def streams(self, count):
        for i in range(count):
            await asyncio.sleep(0)
            yield i

    def plain(self):
        return "plain"


@ray.remote
class Unmakeable:
    def __init__(self):
        raise ValueError("no")

    def get(self):
        return 1


@ray.remote
def fails():
    raise RuntimeError("task")


@ray.remote(num_returns=3)
def three():
    return 1, 2, 3


@ray.remote(num_returns=0)
def nothing():
    return None


@ray.remote
def nested(depth):
    return ray.get(nested.remote(depth - 1)) + 1 if depth else 0


@ray.remote
def counted(i):
    return i


@ray.remote
def waits():
    ready, rest = wait([ray.put(1), ray.put(2)], num_returns=2)
    return get(ready), rest


def told(error):
    """Its text, without what differs from run to run."""
    text = re.sub(r"\x1b\[\d+m", "", str(error))
    return re.sub(r"line \d+|pid=\d+|ip=[\d.]+|actor_id=\w+|0x\w+|repr=<[^>]*>|ID: \w+", "", text)


def attempt(call):
    try:
        print("returned", call())
    except Exception as error:
        print(type(error).__name__, told(error))


sync, stuck = Sync.remote(), Sync.options(name="stuck").remote()
other = Async.remote(sync)
for ref in (sync.fails.remote(), other.fails.remote(), fails.remote(), other.asks.remote()):
    attempt(lambda ref=ref: told(ray.get(ref)))
attempt(lambda: ray.get(Unmakeable.remote().get.remote()) and None)
print([ray.get(ref) for ref in sync.streams.options(num_returns="streaming").remote(3)])
print([ray.get(ref) for ref in other.streams.options(num_returns="streaming").remote(3)])
print(ray.get(three.remote()), nothing.remote(), ray.get(other.plain.remote()))
print(ray.get(nested.remote(2)), ray.get(waits.remote()))
print(sum(ray.get([counted.options(name=f"number {i}").remote(i) for i in range(40)])))
attempt(lambda: ray.get(stuck.sleeps.remote(), timeout=0.2))
waiting = counted.options(resources={"none of these": 1}).remote(1)
ray.cancel(waiting)
attempt(lambda: ray.get(waiting) and None)
print(ray.wait([ray.put(1), ray.put(2)], num_returns=2)[1])
attempt(lambda: ray.wait(1))
attempt(lambda: ray.get(1))
attempt(lambda: ray.wait([1], num_returns=1))
print(ray.wait(ray_waitables=[ray.put(1)])[1])
print(ray.wait.__name__, inspect.signature(ray.wait), inspect.signature(ray.put))


async def main():
    return await asyncio.gather(counted.remote(1), counted.remote(2), asyncio.wrap_future(
        counted.remote(3).future()))


print(asyncio.run(main()))
if len(sys.argv) > 1:  # a second cluster
    ray.shutdown()
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    print(ray.get(counted.remote(5)))
