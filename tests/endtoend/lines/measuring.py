"""How programs measure lines of theirs: what stands in a block `with line(KEY)` is a line, or a few
that are marked `# @KEY`. What others measure inside of it is theirs. At the end each process
appends its times to the file CLOCKS, as "KEY seconds"."""

import atexit
import multiprocessing.util
import os
import sys
import threading
import time

now = time.perf_counter
SECONDS = float(os.environ.get("SECONDS", 2.5))
clocks, measured = {}, {}  # by key and thread; by thread, all so far


class line:
    def __init__(self, key):
        self.key = key, threading.get_ident()

    def __enter__(self):
        self.measured = measured.get(self.key[1], 0)
        self.begun = now()

    def __exit__(self, *_):
        took = now() - self.begun
        key, thread = self.key
        own = took - (measured.get(thread, 0) - self.measured)
        measured[thread] = self.measured + took
        clocks[self.key] = clocks.get(self.key, 0) + own


def going():
    until = now() + SECONDS
    while now() < until:
        yield


def tell():
    with open(os.environ["CLOCKS"], "a") as file:
        file.writelines(f"{key} {seconds}\n" for (key, _), seconds in list(clocks.items()))


def child_begins(*_):
    """In a child of multiprocessing's: its clocks are its own."""
    clocks.clear()
    measured.clear()
    multiprocessing.util.Finalize(None, tell, exitpriority=1)


def run(programs):
    """The one that the command line names."""
    atexit.register(tell)
    programs[sys.argv[1]]()
