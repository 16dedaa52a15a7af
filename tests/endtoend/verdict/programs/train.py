"""A training loop with one planted fault, by name: sys.argv[1]."""
import concurrent.futures
import ctypes
import gc
import multiprocessing
import os
import re
import sys
import threading
import time

import numpy
import torch

PLANTED = os.environ["PLANTED"] == "1"
FAULT = sys.argv[1]
BYTES = bytes(2_000_000)
DATA = numpy.random.default_rng(1).random(400_000)
FILE = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"verdict-{os.getpid()}.bin")


def python():
    total = 0
    for i in range(200_000):  # HERE
        total += i * i  # HERE
    return total


def native():
    return numpy.sort(DATA)  # HERE


def unwrapped():
    for _ in range(60):  # long enough for samples to see it, however fast the machine is
        ZLIB.crc32(0, BYTES, len(BYTES))  # HERE


def keeps():
    for _ in range(60):
        ZLIB.crc32(0, BYTES, len(BYTES))  # HERE


def sleep():
    time.sleep(0.02)  # HERE


def collect():
    kept = [[i] for i in range(50_000)]
    gc.collect()  # HERE
    return kept


def disk():
    with open(FILE, "wb", buffering=0) as file:  # HERE
        for _ in range(40):
            file.write(BYTES)  # HERE


def framework():
    return torch.linalg.svd(torch.ones(160, 160))  # HERE


LOCK = threading.Lock()


def hold():
    while True:
        with LOCK:
            time.sleep(0.02)


def lock():
    with LOCK:  # HERE
        pass
    time.sleep(0)


def spin():
    total = 0
    while True:
        total += 1


def gil():
    total = 0
    for i in range(100_000):  # HERE
        total += i  # HERE
    return total


def called_part():
    keeps = ctypes.PyDLL(None)
    while True:
        keeps.usleep(9000)  # HERE
        time.sleep(0.001)


def called():
    for _ in range(3):
        time.sleep(0)


def matched_part():
    while True:
        re.match("(a+)+$", "a" * 18 + "b")  # HERE
        time.sleep(0.0001)


def matched():
    for _ in range(3):
        time.sleep(0)


def threads_part(_):
    return numpy.sort(DATA)  # HERE


def threads():
    list(pool.map(threads_part, range(2)))


def workers_part(numbers):
    total = 0
    for i in range(numbers):  # HERE
        total += i * i  # HERE
    return total


def workers():
    pool.map(workers_part, [300_000] * 2)


if __name__ == "__main__":
    if PLANTED and FAULT == "keeps":
        ZLIB = ctypes.PyDLL("libz.so.1")
    if PLANTED and FAULT == "unwrapped":
        ZLIB = ctypes.CDLL("libz.so.1")
    if PLANTED and FAULT == "threads":
        pool = concurrent.futures.ThreadPoolExecutor(2)
    if PLANTED and FAULT == "workers":
        pool = multiprocessing.get_context("fork").Pool(2)
    torch.set_num_threads(1)  # so that the loop itself stays short on a busy machine
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters())  # OWN
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    # Only now: while another thread holds the GIL, importing takes minutes.
    others = {"lock": [hold], "gil": [spin] * 6, "called": [called_part],
              "matched": [matched_part]}.get(FAULT, [])
    for work in others if PLANTED else []:
        threading.Thread(target=work, daemon=True).start()
    for _ in range(100):
        optimizer.zero_grad()  # OWN
        torch.nn.functional.cross_entropy(model(x), y).backward()  # OWN
        optimizer.step()  # OWN
        if PLANTED:
            globals()[FAULT]()
    if os.path.exists(FILE):
        os.remove(FILE)
