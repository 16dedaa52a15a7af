"""A loop of a little work with one planted fault, by name: sys.argv[1]. No framework."""
import asyncio
import collections
import concurrent.futures
import copy
import ctypes
import gc
import hashlib
import http.server
import json
import multiprocessing
import os
import pickle
import queue
import re
import select
import socket
import socketserver
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two wait for each other on a busy machine
import numpy  # noqa: E402

from clock import PLANTED, Clock  # noqa: E402

FAULT = sys.argv[1]
FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "data.bin")
DATA = numpy.random.default_rng(1).random(150_000)
BYTES = os.urandom(1_000_000)
RECORDS = [{"id": i, "name": f"record {i}", "values": [i, i + 1, i + 2]} for i in range(1500)]
TOOK = []
TEXT = "one two three four five six seven eight nine ten " * 2000


def python_loop():
    total = 0
    for i in range(120_000):  # HERE
        total += i * i % 7  # HERE
    return total


def python_three_lines():
    counts = {}
    for i in range(60_000):  # HERE
        key = i % 97  # HERE
        counts[key] = counts.get(key, 0) + 1  # HERE
    return counts


def comprehension():
    return sum([i & 7 for i in range(200_000)])  # HERE


def generator_part():
    for i in range(60):
        yield sum([i & j for j in range(2500)])  # HERE


def generator():
    collections.deque(generator_part(), 0)


def deep_copy():
    return copy.deepcopy(RECORDS[:600])  # HERE


def sort_by_key():
    return sorted(RECORDS * 25, key=lambda r: -r["id"])  # HERE


def recursion():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)  # HERE
    return fib(21)


class Shape:
    def __init__(self, n):
        self.n = n

    def area(self):
        return self.n * self.n  # HERE


SHAPES = [Shape(i) for i in range(60_000)]


def methods():
    return sum(shape.area() for shape in SHAPES)  # HERE


def words():
    return len(re.findall(r"\w+e\b", TEXT * 2))  # HERE


def to_json():
    return json.dumps(RECORDS[:500], indent=1)  # HERE


def to_pickle():
    return [pickle.loads(pickle.dumps(RECORDS)) for _ in range(2)]  # HERE


def sort():
    return numpy.sort(DATA)  # HERE


def svd():
    return numpy.linalg.svd(DATA[:22_500].reshape(150, 150))  # HERE


def compress():
    return zlib.compress(BYTES[:250_000])  # HERE


def digest():
    return hashlib.sha256(BYTES * 4).digest()  # HERE


def fresh_memory():
    numpy.ones(4_000_000)  # HERE


def database():
    with sqlite3.connect(":memory:") as db:
        db.execute("create table t(a, b)")
        db.executemany("insert into t values(?, ?)", ((i, i * 2) for i in range(6000)))  # HERE


def write_file():
    with open(FILE, "r+b", buffering=0) as file:
        for _ in range(40):  # HERE
            file.seek(0)
            file.write(BYTES)  # HERE
        file.seek(0)


def read_file():
    with open(FILE, "rb", buffering=0) as file:
        for _ in range(60):
            file.seek(0)
            file.read(1_000_000)  # HERE


def synchronise_file():
    took, until = 0.0, time.perf_counter() + 0.012  # one takes from 0.1 to 10 ms
    with open(FILE, "ab", buffering=0) as file:
        while time.perf_counter() < until:
            file.write(b"one")
            begin = time.perf_counter()
            os.fsync(file.fileno())  # HERE
            took += time.perf_counter() - begin
    return took


def dump_file():
    with open(os.devnull, "w") as file:
        json.dump(RECORDS[:700], file)  # HERE


def save_arrays():
    numpy.savez(FILE + ".npz", a=DATA, b=DATA, c=DATA, d=DATA)  # HERE


def sleep():
    time.sleep(0.012)  # HERE


def tenth_sleep():
    if STEP % 10 == 0:
        time.sleep(0.12)  # HERE


def tenth_save():
    if STEP % 10 == 0:
        with open(FILE, "wb") as file:
            pickle.dump([dict(r) for r in RECORDS * 60], file)  # HERE


def poll_with_timer():
    select.select([], [], [], 0.012)  # HERE


LOCK = threading.Lock()


def hold():
    while True:
        with LOCK:
            time.sleep(0.012)  # HERE
        time.sleep(0.001)


def lock():
    with LOCK:
        pass


def produce():
    while True:
        time.sleep(0.012)  # HERE
        QUEUE.put(1)


def thread_queue():
    QUEUE.get()  # HERE


def thread_part():
    begin = time.perf_counter()
    [numpy.sort(DATA) for _ in range(3)]  # HERE
    return time.perf_counter() - begin


def thread_result():
    return POOL.submit(thread_part).result()


def sleep_part():
    begin = time.perf_counter()
    time.sleep(0.012)  # HERE
    return time.perf_counter() - begin


def thread_sleep():
    return POOL.submit(sleep_part).result()


def python_part():
    begin = time.perf_counter()
    sum([i & 7 for i in range(200_000)])  # HERE
    TOOK.append(time.perf_counter() - begin)


def thread_join():
    thread = threading.Thread(target=python_part)
    thread.start()
    thread.join()
    return TOOK.pop()


def joined_part():
    begin = time.perf_counter()
    time.sleep(0.06)  # HERE
    TOOK.append(time.perf_counter() - begin)


def threads_joined():
    threads = [threading.Thread(target=joined_part) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(TOOK.pop() for _ in threads)


def native_select():
    ctypes.CDLL(None).poll(None, 0, 12)  # HERE


def event_part():
    time.sleep(0.012)  # HERE
    EVENT.set()


def thread_event():
    EVENT.clear()
    threading.Thread(target=event_part).start()
    begin = time.perf_counter()
    EVENT.wait()  # HERE
    return time.perf_counter() - begin


def spin():
    total = 0
    while True:
        total += 1


def gil():
    total = 0
    for i in range(20_000):  # HERE
        total += i  # HERE
    return total


def gil_called_part():
    keeps = ctypes.PyDLL(None)
    while True:
        keeps.usleep(9000)  # HERE
        time.sleep(0.001)


def gil_called():
    time.sleep(0)


def child():
    subprocess.run(["sleep", "0.01"])  # HERE


def child_output():
    subprocess.check_output(["sh", "-c", "sleep 0.01; echo done"])  # HERE


def python_child():
    subprocess.run([sys.executable, "-S", "-E", "-c", "pass"])  # HERE


def pool_part(n):
    begin = time.perf_counter()
    sum([i & 7 for i in range(n)])  # HERE
    return time.perf_counter() - begin


def process_pool():
    return max(POOL.map(pool_part, [150_000] * 2))


def future_pool():
    return max(POOL.map(pool_part, [150_000] * 2))


def serve(pipe):
    for _ in iter(pipe.recv, None):
        begin = time.perf_counter()
        sum([i & 7 for i in range(150_000)])  # HERE
        pipe.send(time.perf_counter() - begin)


def process_pipe():
    PIPE.send(1)
    return PIPE.recv()


def one_slow_part(pipe, number):
    for _ in iter(pipe.recv, None):
        begin = time.perf_counter()
        time.sleep(0.012 if number == 2 else 0.001)  # HERE
        pipe.send(time.perf_counter() - begin)


def one_slow():
    for pipe in PIPES:
        pipe.send(1)
    return max(pipe.recv() for pipe in PIPES)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        begin = time.perf_counter()
        time.sleep(0.012)  # HERE
        took = repr(time.perf_counter() - begin).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(took)))
        self.end_headers()
        self.wfile.write(took)

    def log_message(self, *_):
        pass


def http_request():
    with urllib.request.urlopen(f"http://127.0.0.1:{SERVER.server_address[1]}/") as answer:
        return float(answer.read())


class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(10):
            begin = time.perf_counter()
            sum([i & 7 for i in range(150_000)])  # HERE
            self.request.sendall(repr(time.perf_counter() - begin).encode())


def socket_request():
    SOCKET.sendall(b"go")
    return float(SOCKET.recv(100))


async def awaits():
    await asyncio.sleep(0.012)


def asyncio_timer():
    LOOP.run_until_complete(awaits())  # HERE


async def to_thread():
    return await asyncio.to_thread(thread_part)


def asyncio_thread():
    return LOOP.run_until_complete(to_thread())


async def tasks_part(n):
    begin = time.perf_counter()
    for _ in range(n):  # HERE
        sum(range(500))  # HERE
    took = time.perf_counter() - begin
    await asyncio.sleep(0)
    return took


async def tasks():
    return sum(await asyncio.gather(*(tasks_part(200) for _ in range(6))))


def asyncio_work():
    return LOOP.run_until_complete(tasks())


def collect():
    gc.collect()  # HERE


def retry():
    took = 0.0
    for _ in range(3):  # HERE
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=1)
        except OSError:
            begin = time.perf_counter()
            time.sleep(0.004)  # HERE
            took += time.perf_counter() - begin
    return took


def log_lines():
    for i in range(700):
        print(i, RECORDS[i], file=LOG, flush=True)  # HERE


def base():
    for _ in range(4):
        numpy.dot(MATRIX, MATRIX)  # BASE
    total = 0
    for i in range(15_000):  # BASE
        total += i  # BASE


if __name__ == "__main__":
    MATRIX = numpy.random.default_rng(2).random((110, 110))
    if FAULT in ("read_file", "write_file"):
        pathlike = open(FILE, "wb")
        pathlike.write(BYTES)
        pathlike.close()
    if FAULT == "collect":
        KEPT = [[i] for i in range(150_000)]
    others = {"lock": [hold], "gil": [spin] * 2, "gil_called": [gil_called_part]}
    fork = multiprocessing.get_context("fork")
    processes = []
    if PLANTED:
        if FAULT == "thread_queue":
            QUEUE = queue.Queue(1)
            others[FAULT] = [produce]
        if FAULT in ("thread_result", "thread_sleep"):
            POOL = concurrent.futures.ThreadPoolExecutor(1)
        if FAULT == "process_pool":
            POOL = fork.Pool(2)
        if FAULT == "future_pool":
            POOL = concurrent.futures.ProcessPoolExecutor(2, mp_context=fork)
        if FAULT == "process_pipe":
            PIPE, theirs = fork.Pipe()
            processes = [fork.Process(target=serve, args=(theirs,), daemon=True)]
        if FAULT == "one_slow":
            pairs = [fork.Pipe() for _ in range(4)]
            PIPES = [mine for mine, _ in pairs]
            processes = [fork.Process(target=one_slow_part, args=(theirs, i), daemon=True)
                         for i, (_, theirs) in enumerate(pairs)]
        if FAULT == "http_request":
            SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            others[FAULT] = [SERVER.serve_forever]
        if FAULT == "socket_request":
            server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer)
            processes = [fork.Process(target=server.serve_forever, daemon=True)]
            SOCKET = socket.create_connection(server.server_address)
        for process in processes:
            process.start()
        for work in others.get(FAULT, []):
            threading.Thread(target=work, daemon=True).start()
    EVENT = threading.Event()
    LOOP = asyncio.new_event_loop()
    LOG = open(os.path.join(FOLDER, "log"), "w")
    clock = Clock()
    for STEP in clock.steps(int(os.environ.get("STEPS", "120")),
                            waits=PLANTED and FAULT == "gil_called"):
        base()
        if PLANTED:
            clock.time(globals()[FAULT])
    subprocess.run(["rm", "-rf", FOLDER])
    sys.stdout.flush()
    if processes or FAULT in ("gil", "lock", "gil_called", "http_request"):
        for process in processes:
            process.terminate()
            process.join()
