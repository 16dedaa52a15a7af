"""What the example programs know of their own time: sums per part, and every step."""

import contextlib
import json
import statistics
import time


class Stopwatch:
    def __init__(self):
        self.begin = time.perf_counter_ns()
        self.sums = {}
        self.steps = []
        self._edge = None

    @contextlib.contextmanager
    def part(self, name):
        begin = time.perf_counter_ns()
        try:
            yield
        finally:
            self.sums[name] = self.sums.get(name, 0) + time.perf_counter_ns() - begin

    def step(self):
        """A step has ended; it began where the one before ended."""
        now = time.perf_counter_ns()
        if self._edge is not None:
            self.steps.append(now - self._edge)
        self._edge = now

    def median_ms(self):
        return statistics.median(self.steps) / 1e6 if self.steps else 0.0

    def write(self, path):
        """Nanoseconds, as JSON. The first step counts in the sums only: nothing ended before it."""
        result = {f"{name}_ns": total for name, total in self.sums.items()}
        result.update(step_sum_ns=sum(self.steps), step_median_ns=self.median_ms() * 1e6,
                      step_ns=self.steps, steps=len(self.steps),
                      wall_ns=time.perf_counter_ns() - self.begin)
        with open(path, "w") as file:
            json.dump(result, file)
