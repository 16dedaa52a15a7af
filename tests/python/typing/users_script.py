"""What a user may write, as strict type checkers see it."""

from __future__ import annotations

import argparse

import crosscut
from crosscut.reading import Run, Table


def train(steps: int) -> float:
    with crosscut.session("run", plan="balanced", memory_mib=128, python="boundary") as session:
        for _ in range(steps):
            crosscut.step()
            with crosscut.operation("solve"):
                crosscut.counter("loss (millionths)", 3.5)
    return slowest(session.run)


@crosscut.operation
def slowest(run: Run) -> float:
    table: Table = run.table("operations", where="wall_ns > 1ms", sort="-wall_ns", limit=3)
    names = table.column("operation", str)
    walls = table.column("wall_ns", int)
    print(dict(zip(names, walls)), run.report("markdown"), len(run.page()))
    for row in table.rows():
        cell = row["operation"]
        print(cell.upper() if isinstance(cell, str) else cell)
    return sum(walls) / max(1, len(walls))


def from_command_line() -> bool:
    parser = argparse.ArgumentParser()
    crosscut.add_arguments(parser)
    with crosscut.from_arguments(parser.parse_args()) as recording:
        return recording.started


def begin() -> bool:
    return crosscut.start(plan=crosscut.schedule(active=3), budget=2.0, shapes=True)


print(train(3), from_command_line(), begin(), crosscut.read("run").verdict().notes)
