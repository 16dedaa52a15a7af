"""What Python costs: a run of dqn.py beside a run of dqn, as docs/dqn.md's tables.

Times are of the table `overlap`, corrected for what recording cost, in the operations that both
agents mark. Each instant is Python where no layer but Python was active; native (IML's CppAndGPU)
where another layer was; other where none was known. TheoreticalSpeedup = (native + Python) / native
is IML's prediction of what a program without Python gains. Control steps are in no operation.

Usage: cost.py RUN_OF_DQN_PY RUN_OF_DQN
"""

import sys

import crosscut

# The rows, and the operations of each: "forward", "backward" and "optimizer" are found unasked,
# inside inference and backprop of the agent in Python.
ROWS = {"inference and backprop": ("inference", "backprop", "forward", "backward", "optimizer"),
        "simulate": ("simulate",), "replay": ("replay",)}
ROW_OF = {operation: row for row, operations in ROWS.items() for operation in operations}
IDLE = {"", "idle", "control"}


def kind_of(layers):
    if layers in IDLE:
        return "other"
    return "python" if layers == "python" else "native"


def times(path):
    """ns by (name of the row, kind) of the run's only process, for each step that was profiled."""
    run = crosscut.read(path)
    rows = list(run.table("overlap").rows())
    if len({row["process"] for row in rows}) != 1:
        raise SystemExit(f"cost.py: {path} is not a run of one process")
    total = {}
    for row in rows:
        if row["operation"] in ROW_OF:
            key = ROW_OF[row["operation"]], "native" if row["device"] else kind_of(row["layers"])
            total[key] = total.get(key, 0) + row["corrected_ns"]
    steps = run.table("steps")["control"].count(0)
    return {key: ns / steps for key, ns in total.items()}


def row(name, of_python, of_cpp):
    """One line: times in microseconds per step, then both speedups."""
    python, native = of_python["python"], of_python["native"]
    both, cpp = sum(of_python.values()), sum(of_cpp.values())
    cells = [value / 1e3 for value in (both, python, native, of_python["other"], cpp)]
    return (f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) +
            f" | {100 * python / both:.0f} % | "
            f"{(python + native) / native:.2f} | {both / cpp:.2f} |")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    in_python, in_cpp = times(sys.argv[1]), times(sys.argv[2])
    print("| operation | dqn.py, µs a step | in Python | native | other | dqn, µs a step | "
          "PercentTimeInPython | TheoreticalSpeedup | measured |\n" + "|---" * 9 + "|")
    total = [dict.fromkeys(("python", "native", "other"), 0) for _ in range(2)]
    for operation in ROWS:
        parts = [{kind: found.get((operation, kind), 0) for kind in total[0]}
                 for found in (in_python, in_cpp)]
        for whole, part in zip(total, parts):
            for kind in whole:
                whole[kind] += part[kind]
        print(row(operation, *parts))
    print(row("in all", *total))


if __name__ == "__main__":
    main()
