"""Programs whose lines other code calls, as programs.py: generators, tasks, C functions, handlers,
PyTorch."""

import asyncio
import contextlib
import functools
import gc
import json
import logging
import os
import random
import re
import signal
import sqlite3
import time
import traceback

from measuring import child_begins, going, line, run


def nested():
    def walk(depth):
        with line("enters"):
            item = [i * 3 for i in range(3000)]  # @enters
        yield item
        for below in [walk(depth - 1), walk(depth - 1)] if depth > 0 else []:
            yield from below
        with line("leaves"):
            sorted(item, key=str)  # @leaves

    for _ in going():
        for item in walk(3):
            with line("uses"):
                item.sort(key=lambda i: -i)  # @uses


def asynchronous():
    async def numbers(n):
        for _ in going():
            with line("makes"):
                item = [i * n % 97 for i in range(5000)]  # @makes
            yield item
            await asyncio.sleep(0)

    async def use(n):
        async for item in numbers(n):
            with line("uses"):
                item.sort(key=str)  # @uses

    async def block():
        for _ in going():
            await asyncio.sleep(0.002)
            with line("blocks"):
                time.sleep(0.001)  # @blocks

    async def main():
        await asyncio.gather(use(3), use(5), block())

    asyncio.run(main())


def recursion():
    def sort(items):
        if len(items) < 600:
            with line("smallest"):
                return sorted(items, key=str)  # @smallest
        half = len(items) // 2
        first, second = sort(items[:half]), sort(items[half:])
        with line("merges"):
            return sorted(first + second, key=lambda i: str(i))  # @merges

    items = random.Random(1).sample(range(100000), 4800)
    for _ in going():
        sort(items)


def decorated():
    @contextlib.contextmanager
    def around():
        with line("enters"):
            kept = [str(i) for i in range(3000)]  # @enters
        try:
            yield kept
        finally:
            with line("leaves"):
                sorted(kept, key=int)  # @leaves

    def checked(function):
        @functools.wraps(function)
        def call(n):
            with line("checks"):
                checks = sum(i % 3 for i in range(n))  # @checks
            return function(checks)
        return call

    @checked
    def body(n):
        with line("body"):
            return sum(i * i for i in range(n + 3000))  # @body

    for _ in going():
        with around():
            body(4000)


def exceptions():
    def fails(n):
        with line("tries"):
            total = sum(i % 7 for i in range(n))  # @tries
        raise ValueError(total)

    for _ in going():
        try:
            fails(4000)
        except ValueError as error:
            with line("handles"):
                for _ in range(5):  # @handles
                    "".join(traceback.format_exception(error))  # @handles
        finally:
            with line("goes_on"):
                sorted(range(3000), key=str)  # @goes_on


def comprehensions():
    text = json.dumps({str(i): [i, str(i)] for i in range(1500)})
    for _ in going():
        with line("lists"):
            numbers = [i * 7 % 1009 for i in range(9000)]  # @lists
        with line("parses"):
            data = json.loads(text)  # @parses
        with line("finds"):
            found = re.findall(r"\d+", text)  # @finds
        with line("sorts"):
            found.sort(key=lambda s: (len(s), s))  # @sorts
        with line("dicts"):
            {n: str(n) for n in numbers}  # @dicts
        with line("writes"):
            json.dumps(data)  # @writes


def called_by_c():
    def add(total, n):
        with line("adds"):
            return total + sum(i * i for i in range(n))  # @adds

    def key(n):
        with line("keys"):
            return sorted(str(i) for i in range(n))  # @keys

    def replace(match):
        with line("replaces"):
            return str(sum(int(c) for c in match[0] * 3000))  # @replaces

    def hook(data):
        with line("hooks"):
            return sorted(range(4000), key=lambda i: i ^ 21)  # @hooks

    class Item:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            with line("compares"):
                return sum(range(20000)) * self.n < sum(range(20000)) * other.n  # @compares

    for _ in going():
        functools.reduce(add, [4000] * 8, 0)
        max(range(1000, 1010), key=key)
        re.sub(r"\d", replace, "5 6 7 8")
        json.loads('[{"a": 1}, {"a": 2}]', object_hook=hook)
        sorted([Item(3), Item(1), Item(2)])
        with line("lambdas"):
            list(map(lambda n: sum(range(n)), [20000] * 9))  # @lambdas


def executed():
    text = """
def first(n):
    with line("first"):
        return sum(i * i for i in range(n))  # @first


def second(n):
    with line("second"):
        return sorted(str(i) for i in range(n))  # @second
"""
    before = executed.__code__.co_firstlineno
    for _ in going():
        space = {"line": line}
        with line("compiles"):
            for _ in range(4):  # @compiles
                code = compile("\n" * before + text, __file__, "exec")  # @compiles
        exec(code, space)
        for _ in range(3):
            space["first"](8000)
            space["second"](3000)


def generated():
    """Code that takes turns at one address, with its strings."""
    first = """
with line("first"):
    i = 0  # @first
    while i < 60000: i += 1  # @first
"""
    second = """
with line("second"):
    i = 0  # @second
    while i < 20000: i += 1  # @second
"""
    before = generated.__code__.co_firstlineno + 1
    for _ in going():
        exec(compile("\n" * before + first, __file__, "exec"), {"line": line})
        exec(compile("\n" * (before + 5) + second, __file__, "exec"), {"line": line})


def signals():
    def handle(*_):
        with line("handles"):
            sum(i * i for i in range(4000))  # @handles

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
    for _ in going():
        with line("works"):
            sum(i * i for i in range(20000))  # @works
        with line("sleeps"):
            time.sleep(0.001)  # @sleeps
    signal.setitimer(signal.ITIMER_REAL, 0)


def collections():
    kept = [[i] for i in range(100_000)]
    for _ in going():
        with line("makes"):
            pairs = [[i] for i in range(20000)]  # @makes
        with line("cycles"):
            for pair in pairs:  # @cycles
                pair.append(pair)  # @cycles
        with line("collects"):
            gc.collect()  # @collects
        with line("works"):
            sum(len(one) for one in kept[:40000])  # @works


def logs():
    log = logging.getLogger("lines")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(logging.FileHandler(os.environ["CLOCKS"] + ".log"))
    for step in going():
        with line("logs"):
            for i in range(30):  # @logs
                log.info("step %s of %d", step, i)  # @logs
        with line("works"):
            sum(i * i for i in range(9000))  # @works


def database():
    def weight(n):
        with line("weighs"):
            return sum(i % 5 for i in range(n))  # @weighs

    base = sqlite3.connect(":memory:")
    base.create_function("weight", 1, weight)
    base.execute("create table t (n)")
    for _ in going():
        with line("inserts"):
            base.executemany("insert into t values (?)", ((i,) for i in range(2000)))  # @inserts
        with line("asks"):
            base.execute("select weight(n + 4000) from t limit 20").fetchall()  # @asks
        with line("counts"):
            base.execute("select sum(n * n), avg(n) from t group by n % 7").fetchall()  # @counts
        base.execute("delete from t")


def greenlets():
    import gevent

    def one():
        for _ in going():
            with line("counts"):
                sum(i for i in range(10000))  # @counts
            gevent.sleep(0)

    def two():
        for _ in going():
            with line("sorts"):
                sorted(range(20000), key=str)  # @sorts
            gevent.sleep(0)

    gevent.joinall([gevent.spawn(one), gevent.spawn(two)])


def hooks():
    import torch
    torch.set_num_threads(1)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            with line("forward"):
                sum(i for i in range(8000))  # @forward
            return x * x

        @staticmethod
        def backward(context, grad):
            with line("backward"):
                sorted(range(5000), key=str)  # @backward
            return 2 * context.saved_tensors[0] * grad

    def hook(module, arguments, result):
        with line("hook"):
            sum(i * i for i in range(6000))  # @hook

    layer = torch.nn.Linear(400, 400)
    layer.register_forward_hook(hook)
    x = torch.randn(256, 400)
    for _ in going():
        with line("calls"):
            y = layer(x)  # @calls
        with line("loses"):
            loss = Square.apply(y).sum()  # @loses
        with line("backs"):
            loss.backward()  # @backs


def inference():
    import torch
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(200, 300), torch.nn.GELU(), torch.nn.Linear(300, 40))
    x = torch.randn(64, 200)
    with torch.no_grad():
        for _ in going():
            with line("forward"):
                y = net(x)  # @forward
            with line("lists"):
                rows = (y * y).exp().tolist() * 4  # @lists
            with line("picks"):
                best = [max(row) for row in rows]  # @picks
            total = 0
            with line("loops"):
                for score in best * 20:  # @loops
                    total += score  # @loops


def load(workers):
    import torch

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 1_000_000  # more than any machine takes

        def __getitem__(self, i):
            with line("gets"):
                item = [i * k % 7 for k in range(6000)]  # @gets
            with line("converts"):
                return torch.tensor(item, dtype=torch.float32)  # @converts

    torch.set_num_threads(1)
    batches = iter(torch.utils.data.DataLoader(Items(), batch_size=8, num_workers=workers,
                                               worker_init_fn=child_begins))
    for _ in going():
        with line("next"):
            batch = next(batches)  # @next
        with line("uses"):
            (batch @ batch.T).sum().item()  # @uses
        with line("plain"):
            sum(i * i for i in range(9000))  # @plain


def loader():
    load(0)


def loader_workers():
    load(2)


if __name__ == "__main__":
    run(globals())
