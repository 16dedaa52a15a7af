"""OpenCL by PyOpenCL, in steps that the program declares: sys.argv[1] names the fault."""
import os
import sys

import numpy
import pyopencl as cl

import crosscut

PLANTED = os.environ["PLANTED"] == "1"
FAULT = sys.argv[1]
SOURCE = """
__kernel void heavy(__global float *a, int n) {
  float x = a[get_global_id(0)];
  for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;
  a[get_global_id(0)] = x;
}
"""

context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
heavy = cl.Kernel(program, "heavy")
host = numpy.ones(1 << 16, numpy.float32)
large = numpy.ones(1 << 23, numpy.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, large.nbytes)


def device():
    heavy(queue, (1 << 15,), None, buffer, numpy.int32(4_000))
    queue.finish()  # HERE


def launches():
    for _ in range(500):
        heavy(queue, (1,), None, buffer, numpy.int32(1))  # HERE
    queue.finish()  # HERE


def copies():
    for _ in range(20):  # long enough for samples to see it, however fast the machine is
        cl.enqueue_copy(queue, buffer, large)  # HERE
    queue.finish()


def python():
    total = 0
    for i in range(60_000):  # OWN
        total += i * i  # OWN
    return total


for step in range(60):
    crosscut.step()
    heavy(queue, (1 << 10,), None, buffer, numpy.int32(100))  # OWN
    queue.finish()  # OWN
    if PLANTED:
        globals()[FAULT]()
    else:
        python()
