"""Programs that measure their own lines: python programs.py NAME. What they give to `end(KEY,
since)` is the time of the lines that are marked `# @KEY` in the same function. At the end each
process appends it to the file CLOCKS, as "KEY seconds"."""

import asyncio
import atexit
import concurrent.futures
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
import time

now = time.perf_counter
clocks, lock = {}, threading.Lock()
SECONDS = 2.5


def end(key, since):
    took = now() - since
    with lock:
        clocks[key] = clocks.get(key, 0) + took


def tell():
    with open(os.environ["CLOCKS"], "a") as file:
        file.writelines(f"{key} {seconds}\n" for key, seconds in clocks.items())


def going():
    until = now() + SECONDS
    while now() < until:
        yield


def alternating():
    for _ in going():
        a = now()
        sum(i * i for i in range(3000))  # @one
        end("one", a)
        a = now()
        sum(i * i for i in range(9000))  # @two
        end("two", a)
        a = now()
        sorted(str(i) for i in range(20000))  # @three
        end("three", a)


def sleeps():
    """Calls of one name at three lines."""
    for _ in going():
        a = now()
        time.sleep(0.002)  # @short
        end("short", a)
        a = now()
        time.sleep(0.009)  # @long
        end("long", a)
        a = now()
        sum(range(40000))  # @works
        end("works", a)


def phases():
    for key, seconds in (("first", 0.4), ("second", 1.2), ("third", 0.15)):
        until = now() + seconds
        a = now()
        if key == "first":
            while now() < until:  # @first
                pass  # @first
        elif key == "second":
            while now() < until:  # @second
                sum(range(1000))  # @second
        else:
            while now() < until:  # @third
                sorted(range(500))  # @third
        end(key, a)


def threads():
    def one():
        for _ in going():
            a = now()
            time.sleep(0.01)  # @rests
            end("rests", a)
            a = now()
            sum(i for i in range(5000))  # @first
            end("first", a)

    def two():
        for _ in going():
            a = now()
            sum(i for i in range(20000))  # @second
            end("second", a)

    both = [threading.Thread(target=f) for f in (one, two)]
    for thread in both:
        thread.start()
    a = now()
    for thread in both:  # @joins
        thread.join()  # @joins
    end("joins", a)


def pool():
    def work(n):
        a = now()
        sum(i * i for i in range(n))  # @work
        end("work", a)
        a = now()
        time.sleep(0.003)  # @pause
        end("pause", a)

    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for _ in going():
            a = now()
            list(workers.map(work, [4000] * 8))  # @map
            end("map", a)


def server():
    def handle(n):
        a = now()
        x = [(i * n % 97) / 97 for i in range(16000)]  # @handler
        end("handler", a)
        return sum(x)

    async def serve(reader, writer):
        n = int(await reader.readline())
        writer.write(b"%f\n" % await asyncio.to_thread(handle, n))
        await writer.drain()
        writer.close()

    async def main():
        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        for _ in going():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            a = now()
            x = [str(i) for i in range(4000)]  # @client
            end("client", a)
            writer.write(b"%d\n" % len(x))
            await reader.readline()
            writer.close()

    asyncio.run(main())


def coroutines():
    async def one():
        for _ in going():
            a = now()
            sum(i for i in range(10000))  # @counts
            end("counts", a)
            await asyncio.sleep(0)

    async def two():
        for _ in going():
            a = now()
            sorted(range(20000), key=str)  # @sorts
            end("sorts", a)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(one(), two())

    asyncio.run(main())


def generators():
    def items():
        while True:
            a = now()
            item = [i * 3 for i in range(6000)]  # @makes
            end("makes", a)
            yield item

    def scaled(source):
        for item in source:
            a = now()
            item = [i / 7 for i in item]  # @scales
            end("scales", a)
            yield item

    source = scaled(items())
    for _ in going():
        item = next(source)
        a = now()
        item.sort(reverse=True)  # @sorts
        end("sorts", a)


def children():
    for _ in range(4):
        a = now()
        subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(0.4)"])  # @waits
        end("waits", a)
        a = now()
        sum(i * i for i in range(3_000_000))  # @between
        end("between", a)


def child(results, seconds):
    until = now() + seconds
    a = now()
    while now() < until:  # @child
        sum(range(500))  # @child
    end("child", a)
    a = now()
    time.sleep(0.6)  # @childrests
    end("childrests", a)
    results.put(seconds)
    tell()


def processes():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=child, args=(results, 1.0))
    process.start()
    a = now()
    results.get()  # @get
    end("get", a)
    process.join()


def queues():
    items = queue.Queue(4)

    def produce():
        for _ in going():
            a = now()
            item = [i * i for i in range(5000)]  # @produce
            end("produce", a)
            items.put(item)
        items.put(None)

    thread = threading.Thread(target=produce)
    thread.start()
    while True:
        a = now()
        item = items.get()  # @get
        end("get", a)
        if item is None:
            break
        a = now()
        item.sort(key=str)  # @consume
        end("consume", a)


def imports():
    a = now()
    import decimal  # noqa: F401  # @imports
    import http.server  # noqa: F401  # @imports
    import logging.config  # noqa: F401  # @imports
    import sqlite3  # noqa: F401  # @imports
    import unittest.mock  # noqa: F401  # @imports

    import numpy  # @imports
    end("imports", a)
    until = now() + 0.5
    a = now()
    while now() < until:  # @work
        numpy.sort(numpy.arange(3000))  # @work
    end("work", a)


def files():
    path = os.environ["CLOCKS"] + ".data"
    data = os.urandom(1 << 20)
    for _ in going():
        a = now()
        with open(path, "wb") as file:  # @writes
            file.write(data)  # @writes
        end("writes", a)
        a = now()
        with open(path, "rb") as file:  # @reads
            got = file.read()  # @reads
        end("reads", a)
        a = now()
        got.count(b"\x07")  # @counts
        end("counts", a)


def finalisation():
    def fill():
        return [[i, (i,)] for i in range(600_000)]

    def work():
        total = 0
        for i in range(3_000_000):  # @work
            total += i  # @work
        return total

    kept = fill()
    a = now()
    work()
    end("work", a)
    sys.modules["kept"] = kept
    kept.append(kept)


def network():
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    optimizer = torch.optim.Adam(net.parameters())
    x, y = torch.randn(32, 64), torch.randn(32, 8)
    for _ in going():
        optimizer.zero_grad()
        a = now()
        loss = ((net(x) - y) ** 2).mean()  # @forward
        end("forward", a)
        a = now()
        loss.backward()  # @backward
        end("backward", a)
        a = now()
        optimizer.step()  # @step
        end("step", a)
        a = now()
        weights = [p.detach().sum().item() for p in net.parameters()]  # @sums
        end("sums", a)
        a = now()
        sum(i * w for w in weights for i in range(1500))  # @plain
        end("plain", a)


if __name__ == "__main__":
    atexit.register(tell)
    globals()[sys.argv[1]]()
