"""A trace as Kineto writes them, of any length: what the measurements and the tests of import read.

Written in pieces; the same for the same number of events.
"""

import gzip
import random

EVENTS_OF_STEP = 5
SPANS_OF_STEP = 3  # of its events: an operator, a launch, a kernel; the others are ends of an arrow
ARGS_OF_STEP = 18
STEPS_AT_ONCE = 500

STEP = """  {
    "ph": "X", "cat": "cpu_op", "name": "OP", "pid": 9, "tid": 9,
    "ts": %(op).3f, "dur": 15.%(decimals)03d,
    "args": {
      "External id": %(id)d,"Record function id": 0, "Input Dims": [[%(batch)d, 64, 56, 56], []], \
"Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
    "ts": %(launch).3f, "dur": 5.125,
    "args": {
      "External id": %(id)d, "cbid": 211, "correlation": %(id)d
    }
  },
  {
    "ph": "s", "id": %(id)d, "pid": 9, "tid": 9, "ts": %(launch).3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "KERNEL", "pid": 0, "tid": 7,
    "ts": %(kernel).3f, "dur": 7.%(decimals)03d,
    "args": {
      "External id": %(id)d, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": %(id)d,
      "registers per thread": 32,
      "shared memory": 0,
      "grid": [%(batch)d, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %%": 75
    }
  },
  {
    "ph": "f", "id": %(id)d, "pid": 0, "tid": 7, "ts": %(kernel).3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""
END = """  {
    "ph": "X", "cat": "Trace", "ts": 0.000, "dur": 1, "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)", "args": {"Op count": 0}
  }
  ],
  "traceName": "bench.json"
}
"""


OPERATORS = ["aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
             "aten::batch_norm", "aten::relu_", "aten::add_", "aten::empty", "aten::view"]
KERNELS = [f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}<float>, "
           f"at::detail::Array<char*, 3> >(int, at::native::Functor{i}<float>)"
           for i in range(40)]
BEGIN = """{
  "schemaVersion": 1,
  "deviceProperties": [],
  "distributedInfo": {"rank": 0},
  "traceEvents": [
"""


def write_trace(path, events, level=6):
    """A training step over and over, laid out as Kineto lays it out; compressed where the name ends
    in .gz. How many events it is."""
    choice = random.Random(7)

    def step(number):
        at = 1000.0 + 20 * number
        text = STEP % {"id": number, "op": at, "launch": at + 3, "kernel": at + 12,
                       "decimals": choice.randrange(1000), "batch": choice.choice((16, 32, 64))}
        return text.replace("OP", choice.choice(OPERATORS), 1).replace(
            "KERNEL", choice.choice(KERNELS), 1)

    steps = events // EVENTS_OF_STEP
    compressed = str(path).endswith(".gz")
    with gzip.open(path, "wb", compresslevel=level) if compressed else open(path, "wb") as out:
        out.write(BEGIN.encode())
        for first in range(1, steps + 1, STEPS_AT_ONCE):
            numbers = range(first, min(first + STEPS_AT_ONCE, steps + 1))
            out.write("".join(map(step, numbers)).encode())
        out.write(END.encode())
    return steps * EVENTS_OF_STEP


def table_bytes(events):
    """What the tables of so many events are: 24 bytes for a span, 8 where it has arguments, 4 for
    each argument, 40 for an arrow."""
    step = SPANS_OF_STEP * (24 + 8) + ARGS_OF_STEP * 4 + 40
    return events // EVENTS_OF_STEP * step
