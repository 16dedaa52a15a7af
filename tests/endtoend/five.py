"""Works in Python, in a native library and on an OpenCL device for SECONDS each, and tells when.

Prints JSON, a list of two: for how many ns its thread waited for a processor comes second, and
first intervals [begin, end] in ns of CLOCK_MONOTONIC_RAW, which is the clock of PoCL's
devices, by the operation and by what worked: "native", "device", "runtime" (calls of OpenCL) and
"whole" (the operation's own time; what nothing else covers is Python's).

Usage: five.py SECONDS apart|repeated|nested|overlapped
"""

import json
import sys
import time

import five_native
import numpy as np
import pyopencl as cl

import crosscut

KERNEL = """kernel void spin(global float* a, int count) {
  float x = a[0];
  for (int i = 0; i < count; ++i) x = x * 0.999f + 1e-3f;
  a[0] = x;
}"""
KERNEL_NS = 50_000_000


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def spin_in_python(seconds):
    end = now() + int(seconds * 1e9)
    while now() < end:
        sum(range(1000))


class Told:
    """What is printed."""

    def __init__(self):
        self.intervals = {}

    def add(self, operation, what, begin, end):
        self.intervals.setdefault(operation, {}).setdefault(what, []).append((begin, end))

    def spin_natively(self, operation, seconds):
        self.add(operation, "native", *five_native.spin(int(seconds * 1e9)))


class Device:
    """An OpenCL device whose kernels spin. Calls are told as "runtime"."""

    def __init__(self, told):
        self.told, self.events = told, []
        device = cl.get_platforms()[0].get_devices()[0]
        context = cl.Context([device])
        self.queue = cl.CommandQueue(context, device,
                                     cl.command_queue_properties.PROFILING_ENABLE)
        self.memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
        self.kernel = cl.Kernel(cl.Program(context, KERNEL).build(), "spin")
        self.count = 1_000_000
        for _ in range(2):  # the first one compiles
            event = self.launch()
            event.wait()
        self.count = int(self.count * KERNEL_NS / (event.profile.end - event.profile.start))

    def launch(self):
        return self.kernel(self.queue, (1,), None, self.memory, np.int32(self.count))

    def start(self, operation, seconds):
        begin = now()
        for _ in range(max(1, round(seconds * 1e9 / KERNEL_NS))):
            self.events.append((operation, self.launch()))
        self.queue.flush()
        self.told.add(operation, "runtime", begin, now())

    def finish(self, operation):
        begin = now()
        self.queue.finish()
        self.told.add(operation, "runtime", begin, now())

    def spin(self, operation, seconds):
        self.start(operation, seconds)
        self.finish(operation)

    def tell(self):
        """Afterwards, since asking takes time, too."""
        for operation, event in self.events:
            self.told.add(operation, "device", event.profile.start, event.profile.end)


class Operation:
    """An operation that tells its own time, the operations inside it included."""

    def __init__(self, told, name):
        self.told, self.name, self.marked = told, name, crosscut.operation(name)

    def __enter__(self):
        self.begin = now()
        self.marked.__enter__()

    def __exit__(self, *error):
        self.marked.__exit__(*error)
        self.told.add(self.name, "whole", self.begin, now())


def apart(told, device, seconds):
    with Operation(told, "work"):
        spin_in_python(seconds)
        told.spin_natively("work", seconds)
        device.spin("work", seconds)


def repeated(told, device, seconds):
    for _ in range(10):
        apart(told, device, seconds / 10)


def nested(told, device, seconds):
    with Operation(told, "outer"):
        spin_in_python(seconds / 2)
        with Operation(told, "middle"):
            told.spin_natively("middle", seconds / 2)
            with Operation(told, "inner"):
                device.spin("inner", seconds / 2)
                spin_in_python(seconds / 2)
            told.spin_natively("middle", seconds / 2)
        device.spin("outer", seconds / 2)


def overlapped(told, device, seconds):
    with Operation(told, "work"):
        device.start("work", seconds)
        spin_in_python(seconds / 2)
        told.spin_natively("work", seconds)
        device.finish("work")
        spin_in_python(seconds / 2)


def waited_for_processor():
    """ns in which this thread could run and did not: another had the processor."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def main():
    seconds, variant = float(sys.argv[1]), sys.argv[2]
    told = Told()
    device = Device(told)
    waited = waited_for_processor()
    {"apart": apart, "repeated": repeated, "nested": nested, "overlapped": overlapped}[variant](
        told, device, seconds)
    waited = waited_for_processor() - waited
    device.tell()
    print(json.dumps([told.intervals, waited]))


if __name__ == "__main__":
    main()
