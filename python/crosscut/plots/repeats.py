"""Repeated runs of one program as one: means, with the interval that the repetitions show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crosscut.plots.sheets import Row, Sheet

# The 97.5 % quantile of Student's t by degrees of freedom, from 1 on; beyond them by its expansion.
_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


def student(degrees: int) -> float:
    """What makes a standard error with so many degrees of freedom half of a 95 % interval."""
    z = 1.959964
    return _T[degrees - 1] if degrees <= len(_T) else \
        z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2)


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean of independent repetitions; 0 for one alone."""
    n = len(values)
    return student(n - 1) * statistics.stdev(values) / math.sqrt(n) if n > 1 else 0.0


def repetitions(sheet: Sheet) -> dict[str, int]:
    """How many runs each group has."""
    runs = {(row["group"], row["run"]) for row in sheet.rows}
    return {group: sum(1 for other, _ in runs if other == group) for group, _ in runs}


def _process(row: Row) -> str:
    """What a process is called in all runs: its name, with a number for the second of that name."""
    ordinal = row.get("ordinal", 0)
    return f"{row['name']} #{ordinal + 1}" if ordinal else str(row["name"])


def merged(sheet: Sheet) -> Sheet:
    """The sheet with a row for each group of runs in place of one for each run: numbers are means,
    and `row["spread"]` has their half_width() by column. Rows belong together whose texts are
    equal and whose processes have one place among those of their name. What one run lacks counts
    as 0, but in means, percentiles and ratios, of which there is none then."""
    count = repetitions(sheet)
    if all(n == 1 for n in count.values()):
        return sheet
    together: dict[tuple[Any, ...], list[Row]] = {}
    for row in sheet.rows:
        texts = tuple(row[name] for name in sheet.columns
                      if name not in ("run", "process", "parent") and isinstance(row[name], str))
        key = (row["group"], row["ordinal"], *(row.get(name) for name in _KEYS), *texts)
        together.setdefault(key, []).append(row)
    return replace(sheet, rows=[_mean(rows, count[rows[0]["group"]], sheet.columns)
                                for rows in together.values()])


_KEYS = ("device", "sample_ns")  # numbers that tell rows apart


def _mean(rows: list[Row], runs: int, columns: Sequence[str]) -> Row:
    first = rows[0]
    process = _process(first)
    out = {**first, "run": first["group"], "process": process, "name": process, "spread": {}}
    for column in columns:
        values = [row[column] for row in rows
                  if isinstance(row[column], (int, float)) and not isinstance(row[column], bool)]
        if column in _KEYS or not values:
            continue
        if column.endswith("ns") or column in ("count", "entries"):
            values += [0.0] * (runs - len(rows))
        out[column] = statistics.fmean(values)
        out["spread"][column] = half_width(values)
    return out


def totals(sheet: Sheet, keys: Sequence[str], column: str) -> dict[tuple[Any, ...], float]:
    """By the cells `keys` of merged rows: half_width() of the sum of `column` over their rows."""
    count = repetitions(sheet)
    sums: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in sheet.rows:
        process = _process(row)
        named = {**row, "run": row["group"], "process": process, "name": process}
        of_runs = sums.setdefault(tuple(named[key] for key in keys), {})
        of_runs[row["run"]] = of_runs.get(row["run"], 0) + (row[column] or 0)
    return {key: half_width([*of_runs.values(), *[0.0] * (count[_group(sheet, of_runs)] -
                                                         len(of_runs))])
            for key, of_runs in sums.items()}


def _group(sheet: Sheet, of_runs: dict[str, float]) -> str:
    run = next(iter(of_runs))
    return str(next(row["group"] for row in sheet.rows if row["run"] == run))
