"""Reading a compressed Kineto trace: from the file to a table, all arguments kept, beside
HolisticTraceAnalysis. Each in a process of its own; both read the same file. Prints one JSON line
per value.

Usage: import_json.py EVENTS ROUNDS CROSSCUT
"""

import json
import pathlib
import sys
import tempfile

import harness
from kineto_trace import write_trace

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
            ours.append(harness.measured([program, "table", trace, "device_timeline"])[:2])
            _, mib, said, _ = harness.measured([sys.executable, "-c", HTA, trace])
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
