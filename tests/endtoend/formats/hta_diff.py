"""What HolisticTraceAnalysis' TraceDiff counts of two traces: the last line of stdout is JSON,
kind ("cpu", "gpu") to name to the two counts.

    python hta_diff.py TRACE TRACE

Run as a program of its own: HTA talks, warns, and keeps state."""

import json
import logging
import sys
import warnings


def counts(a, b):
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    from hta.common.trace import Trace
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff
    traces = [LabeledTrace(label=label, t=Trace(trace_files={0: path}, trace_dir="/"))
              for label, path in (("A", a), ("B", b))]
    steps = [[int(step) for step in trace.iterations()] for trace in traces]
    found = {}
    for kind in ("cpu", "gpu"):
        table = TraceDiff.compare_traces(*traces, control_iteration=steps[0],
                                         test_iteration=steps[1],
                                         device_type=DeviceType[kind.upper()])
        found[kind] = {name: [int(row["A_counts"]), int(row["B_counts"])]
                       for name, row in table.iterrows()}
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(counts(*sys.argv[1:3])))
