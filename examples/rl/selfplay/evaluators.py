"""Asking the network about one position: in a process that serves all, or on a device.

The network is [(weight, bias)] of its layers, float32, with max(x, 0) between them. An evaluator
is told them by load(), and then takes the features of a position and gives (priors of the columns,
value). No PyTorch is needed.
"""

import numpy as np
from game import COLUMNS, FEATURES

SIZES = (FEATURES, 64, 64, COLUMNS + 1)  # out of it: a logit by column, the value before its tanh


def first_weights(random):
    """A network that has learned nothing."""
    return [(random.normal(0, (2 / inputs) ** 0.5, (outputs, inputs)).astype(np.float32),
             np.zeros(outputs, np.float32)) for inputs, outputs in zip(SIZES, SIZES[1:])]


def answer(outputs):
    """(priors, value) of what comes out of the network."""
    exponents = np.exp(outputs[:COLUMNS] - outputs[:COLUMNS].max())
    return exponents / exponents.sum(), float(np.tanh(outputs[COLUMNS]))


class Served:
    """The network in the process that runs learner.serve(), behind a connection to it."""

    def __init__(self, connection):
        self.connection = connection

    def __call__(self, features):
        self.connection.send_bytes(features)
        return answer(np.frombuffer(self.connection.recv_bytes(), np.float32))

    def load(self, weights):
        """Nothing: the server has its own."""

    def done(self):
        """No more questions to these weights."""
        self.connection.send_bytes(b"")


KERNEL = """
kernel void linear(global const float* weight, global const float* bias, global const float* in,
                   global float* out, int inputs, int last) {
  const int row = get_global_id(0);
  float sum = bias[row];
  for (int i = 0; i < inputs; ++i) sum += weight[row * inputs + i] * in[i];
  out[row] = last ? sum : fmax(sum, 0.0f);
}"""


class OnDevice:
    """The network on the first OpenCL device, which other processes use, too: three short kernels
    for each position."""

    def __init__(self):
        import pyopencl as cl

        self.cl = cl
        device = cl.get_platforms()[0].get_devices()[0]
        context = cl.Context([device])
        self.queue = cl.CommandQueue(context, device)
        program = cl.Program(context, KERNEL).build()

        def buffer(*shape):
            return cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * int(np.prod(shape)))

        self.input = self.last = buffer(SIZES[0])
        self.output = np.empty(SIZES[-1], np.float32)
        self.layers = []  # with their buffers, which a kernel does not keep
        for i, (inputs, rows) in enumerate(zip(SIZES, SIZES[1:]), 2):
            weight, bias, source = buffer(rows, inputs), buffer(rows), self.last
            self.last = buffer(rows)
            kernel = cl.Kernel(program, "linear")
            kernel.set_args(weight, bias, source, self.last, np.int32(inputs),
                            np.int32(i == len(SIZES)))
            self.layers.append((kernel, rows, weight, bias, source))

    def load(self, weights):
        for (_, _, weight, bias, _), values in zip(self.layers, weights):
            self.cl.enqueue_copy(self.queue, weight, np.ascontiguousarray(values[0]))
            self.cl.enqueue_copy(self.queue, bias, np.ascontiguousarray(values[1]))

    def __call__(self, features):
        cl, queue = self.cl, self.queue
        cl.enqueue_copy(queue, self.input, features, is_blocking=False)
        for kernel, rows, *_ in self.layers:
            cl.enqueue_nd_range_kernel(queue, kernel, (rows,), None)
        cl.enqueue_copy(queue, self.output, self.last)
        return answer(self.output)

    def done(self):
        """Nothing: every answer was waited for."""
