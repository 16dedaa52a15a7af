"""Reading a compressed Kineto trace: from the file to a table, all arguments kept, beside
HolisticTraceAnalysis. Each in a process of its own; both read the same file. Prints one JSON line
per value.

Usage: import_json.py EVENTS ROUNDS CROSSCUT
"""

import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import harness

HTA = """
import logging, sys, time, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.common.trace_parser import parse_trace_dataframe
from hta.configs.parser_config import ParserConfig
begin = time.perf_counter()
parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())
print(time.perf_counter() - begin)
"""


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


def write_trace(path, events):
    """A training step over and over, laid out as Kineto lays it out."""
    choice = random.Random(7)
    ops = ["aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
           "aten::batch_norm", "aten::relu_", "aten::add_", "aten::empty", "aten::view"]
    kernels = [f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}<float>, "
               f"at::detail::Array<char*, 3> >(int, at::native::Functor{i}<float>)"
               for i in range(40)]
    with gzip.open(path, "wt", compresslevel=6) as out:
        out.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [],\n'
                  '  "distributedInfo": {"rank": 0},\n  "traceEvents": [\n')
        for id_ in range(1, events // 5 + 1):
            at = 1000.0 + 20 * id_
            step = STEP % {"id": id_, "op": at, "launch": at + 3, "kernel": at + 12,
                           "decimals": choice.randrange(1000), "batch": choice.choice((16, 32, 64))}
            out.write(step.replace("OP", choice.choice(ops), 1)
                      .replace("KERNEL", choice.choice(kernels), 1))
        out.write(END)
    return events // 5 * 5


def measured(command):
    """Seconds, MiB at most, and what it printed."""
    done = subprocess.run(["/usr/bin/env", "python3", "-c", """
import resource, subprocess, sys, time
begin = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
print(done.stdout)
""", *map(str, command)], capture_output=True, text=True, check=True)
    first, rest = done.stdout.split("\n", 1)
    return *map(float, first.split()), rest


def main():
    events, rounds = int(sys.argv[1]), int(sys.argv[2])
    program = pathlib.Path(sys.argv[3])

    def tell(name, values, unit):
        q25, q50, q75 = harness.quartiles(values)
        print(json.dumps({"group": "import: Kineto JSON, compressed", "name": name, "value": q50,
                          "value_q25": q25, "value_q75": q75, "unit": unit}), flush=True)
        return q50

    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json.gz"
        count = write_trace(trace, events)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(measured([program, "table", trace, "device_timeline"])[:2])
            seconds, mib, said = measured([sys.executable, "-c", HTA, trace])
            theirs.append((float(said), mib))
        speed = tell("crosscut", [count / s / 1e6 for s, _ in ours], "M events/s")
        their_speed = tell("HTA", [count / s / 1e6 for s, _ in theirs], "M events/s")
        memory = tell("crosscut, memory", [m for _, m in ours], "MiB")
        their_memory = tell("HTA, memory", [m for _, m in theirs], "MiB")
        tell("times HTA's speed", [speed / their_speed], "x")
        tell("of HTA's memory", [memory / their_memory], "x")
        print(json.dumps({"group": "import: Kineto JSON, compressed", "name": "events",
                          "value": count / 1e6, "unit": "M"}))


if __name__ == "__main__":
    main()
