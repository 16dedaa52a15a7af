"""Programs that measure their own lines (measuring.py): python programs.py NAME. Loops, threads,
queues, imports, files, the exit."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
import time

from measuring import going, line, now, run, tell


def alternating():
    for _ in going():
        with line("one"):
            sum(i * i for i in range(3000))  # @one
        with line("two"):
            sum(i * i for i in range(9000))  # @two
        with line("three"):
            sorted(str(i) for i in range(20000))  # @three


def sleeps():
    """Calls of one name at three lines."""
    for _ in going():
        with line("short"):
            time.sleep(0.002)  # @short
        with line("long"):
            time.sleep(0.009)  # @long
        with line("works"):
            sum(range(40000))  # @works


def phases():
    for key, seconds in (("first", 0.4), ("second", 1.2), ("third", 0.15)):
        until = now() + seconds
        with line(key):
            if key == "first":
                while now() < until:  # @first
                    pass  # @first
            elif key == "second":
                while now() < until:  # @second
                    sum(range(1000))  # @second
            else:
                while now() < until:  # @third
                    sorted(range(500))  # @third


def threads():
    def one():
        for _ in going():
            with line("rests"):
                time.sleep(0.01)  # @rests
            with line("first"):
                sum(i for i in range(5000))  # @first

    def two():
        for _ in going():
            with line("second"):
                sum(i for i in range(20000))  # @second

    both = [threading.Thread(target=f) for f in (one, two)]
    for thread in both:
        thread.start()
    with line("joins"):
        for thread in both:  # @joins
            thread.join()  # @joins


def pool():
    def work(n):
        with line("work"):
            sum(i * i for i in range(n))  # @work
        with line("pause"):
            time.sleep(0.003)  # @pause

    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for _ in going():
            with line("map"):
                list(workers.map(work, [4000] * 8))  # @map


def server():
    def handle(n):
        with line("handler"):
            x = [(i * n % 97) / 97 for i in range(16000)]  # @handler
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
            with line("client"):
                x = [str(i) for i in range(4000)]  # @client
            writer.write(b"%d\n" % len(x))
            await reader.readline()
            writer.close()

    asyncio.run(main())


def coroutines():
    async def one():
        for _ in going():
            with line("counts"):
                sum(i for i in range(10000))  # @counts
            await asyncio.sleep(0)

    async def two():
        for _ in going():
            with line("sorts"):
                sorted(range(20000), key=str)  # @sorts
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(one(), two())

    asyncio.run(main())


def generators():
    def items():
        while True:
            with line("makes"):
                item = [i * 3 for i in range(6000)]  # @makes
            yield item

    def scaled(source):
        for item in source:
            with line("scales"):
                item = [i / 7 for i in item]  # @scales
            yield item

    source = scaled(items())
    for _ in going():
        item = next(source)
        with line("sorts"):
            item.sort(reverse=True)  # @sorts


def children():
    for _ in range(4):
        with line("waits"):
            subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(0.4)"])  # @waits
        with line("between"):
            sum(i * i for i in range(3_000_000))  # @between


def child(results, seconds):
    until = now() + seconds
    with line("child"):
        while now() < until:  # @child
            sum(range(500))  # @child
    with line("childrests"):
        time.sleep(0.6)  # @childrests
    results.put(seconds)
    tell()


def processes():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=child, args=(results, 1.0))
    process.start()
    with line("get"):
        results.get()  # @get
    process.join()


def queues():
    items = queue.Queue(4)

    def produce():
        for _ in going():
            with line("produce"):
                item = [i * i for i in range(5000)]  # @produce
            items.put(item)
        items.put(None)

    thread = threading.Thread(target=produce)
    thread.start()
    while True:
        with line("get"):
            item = items.get()  # @get
        if item is None:
            break
        with line("consume"):
            item.sort(key=str)  # @consume


def imports():
    with line("imports"):
        import decimal  # noqa: F401  # @imports
        import http.server  # noqa: F401  # @imports
        import logging.config  # noqa: F401  # @imports
        import sqlite3  # noqa: F401  # @imports
        import unittest.mock  # noqa: F401  # @imports

        import numpy  # @imports
    until = now() + 0.5
    with line("work"):
        while now() < until:  # @work
            numpy.sort(numpy.arange(3000))  # @work


def files():
    path = os.environ["CLOCKS"] + ".data"
    data = os.urandom(1 << 20)
    for _ in going():
        with line("writes"):
            with open(path, "wb") as file:  # @writes
                file.write(data)  # @writes
        with line("reads"):
            with open(path, "rb") as file:  # @reads
                got = file.read()  # @reads
        with line("counts"):
            got.count(b"\x07")  # @counts


def finalisation():
    def fill():
        return [[i, (i,)] for i in range(600_000)]

    def work():
        total = 0
        for i in range(3_000_000):  # @work
            total += i  # @work
        return total

    kept = fill()
    with line("work"):
        work()
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
        with line("forward"):
            loss = ((net(x) - y) ** 2).mean()  # @forward
        with line("backward"):
            loss.backward()  # @backward
        with line("step"):
            optimizer.step()  # @step
        with line("sums"):
            weights = [p.detach().sum().item() for p in net.parameters()]  # @sums
        with line("plain"):
            sum(i * w for w in weights for i in range(1500))  # @plain


if __name__ == "__main__":
    run(globals())
