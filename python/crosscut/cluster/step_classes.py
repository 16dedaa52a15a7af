"""The time of each step in classes that add up to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crosscut.cluster import spec


def class_of(layers: str, device: bool) -> int:
    """The number in `spec.STEP_CLASSES` of an instant with these layers, joined by "+"."""
    if device:
        return 0
    active = set(layers.split("+"))
    for number, (_, members) in enumerate(spec.STEP_CLASSES):
        if active & set(members):
            return number
    return len(spec.STEP_CLASSES) - 1


def classes_of_steps(steps: pa.Table, layers: pa.Table) -> tuple[list[pa.Array], int]:
    """A column for each class, with a cell for each row of `steps`; and how many of these share
    their number with another step of their process, so that their cells are missing.

    `steps` and `layers` are the tables `steps` and `step_layers` of a run.
    """
    keys = {(process, step): at for at, (process, step) in enumerate(_pairs(steps))}
    counts: dict[tuple[str, int], int] = {}
    for key in _pairs(steps):
        counts[key] = counts.get(key, 0) + 1
    sums = np.zeros((len(spec.STEP_CLASSES), steps.num_rows), np.int64)
    sets = pc.unique(layers.column("layers")).to_pylist()
    classes = {(text, device): class_of(text, bool(device)) for text in sets for device in (0, 1)}
    rows = np.array([keys[key] for key in _pairs(layers)], np.int64)
    which = np.array([classes[key] for key in zip(layers.column("layers").to_pylist(),
                                                  layers.column("device").to_pylist())], np.int64)
    if len(rows):
        np.add.at(sums, (which, rows), layers.column("ns").to_numpy())
    unclear = np.array([counts[key] > 1 for key in _pairs(steps)], bool)
    columns = [pa.array(row, pa.int64(), mask=unclear if len(unclear) else None) for row in sums]
    return columns, int(unclear.sum())


def _pairs(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(table.column("process").to_pylist(), table.column("step").to_pylist()))
