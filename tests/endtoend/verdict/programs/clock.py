"""The programs' own clock: how long the planted code takes, and the loop around it."""
import contextlib
import json
import os
import time

import crosscut

PLANTED = os.environ["PLANTED"] == "1"


class Clock:
    """Of a loop: `for step in clock.steps(100):`, and `with clock:` around the planted code."""

    def __init__(self):
        self.planted_s = self.loop_s = 0.0

    def steps(self, count, marks=True, waits=False):
        """Without `marks` Crosscut finds the steps itself, behind the first ones: the first five
        count for nothing. With `waits` all that the loop does not work is the planted code's: it
        waits for that anywhere.
        """
        begin, worked = time.perf_counter(), time.thread_time()
        for step in range(count):
            if marks:
                crosscut.step()
            elif step == 5:
                begin, worked, self.planted_s = time.perf_counter(), time.thread_time(), 0.0
            yield step
        self.loop_s = time.perf_counter() - begin
        if waits:
            self.planted_s = self.loop_s - (time.thread_time() - worked)
        self.tell()

    def __enter__(self):
        self._begin = time.perf_counter()

    def __exit__(self, *_):
        self.planted_s += time.perf_counter() - self._begin

    def time(self, planted):
        """Calls it. Where it returns seconds, that is what the cause took, in another process."""
        begin = time.perf_counter()
        took = planted()
        self.planted_s += took if type(took) is float else time.perf_counter() - begin

    @contextlib.contextmanager
    def loop(self):
        begin = time.perf_counter()
        yield
        self.loop_s = time.perf_counter() - begin
        self.tell()

    def tell(self):
        print("CLOCK " + json.dumps({"planted_s": self.planted_s, "loop_s": self.loop_s}),
              flush=True)
