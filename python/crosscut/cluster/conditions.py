"""`--where`, `--sort` and `--limit` of `crosscut table`, for a table in Arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from crosscut import _names

_COMPARE = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal,
            ">": pc.greater, ">=": pc.greater_equal}
_CONDITION = re.compile(r"\s*(\w+)\s*(!=|<=|>=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_SECONDS = {"ns": 10**-9, "us": 10**-6, "ms": 10**-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
_POWERS = "KMGT"


def _number(text: str, column: str) -> float:
    """The value of "5", "1.5ms" (of a time) or "2M" (of a size) in the column's unit."""
    found = re.fullmatch(r"(-?[\d.]+(?:e[+-]?\d+)?)\s*([a-zA-Z]*)", text)
    try:
        value = float(found[1]) if found else None
    except ValueError:
        value = None
    unit = found[2] if found else ""
    if value is not None and not unit:
        return value
    if value is not None and re.search(r"(^|_)ns$", column) and unit in _SECONDS:
        return round(value * _SECONDS[unit] * 10**9)
    size = re.fullmatch(r"([KMGT])(i?B)?", unit, re.IGNORECASE)
    if value is not None and re.search(r"(^|_)bytes$", column) and size:
        return round(value * 1024 ** (_POWERS.index(size[1].upper()) + 1))
    raise ValueError(f"--where: {text} is no value of {column}")


def _named(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise ValueError(_names.unknown("column", name, table.column_names))
    return table.column(name)


def _mask(table: pa.Table, condition: str) -> pa.ChunkedArray:
    """Which rows meet the condition. ValueError where it is none."""
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"--where: {condition} is no condition: COLUMN OP VALUE")
    name, how, text = found[1], found[2], found[3]
    cells = _named(table, name)
    if how == "~":
        return pc.match_substring(cells.cast(pa.string()), text)
    if pa.types.is_string(cells.type):
        if how not in ("=", "!="):
            raise ValueError(f"--where: texts, as in {name}, are compared by = != and ~")
        return _COMPARE[how](cells, text)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int64())
    value = _number(text, name)
    whole = value == int(value) and pa.types.is_integer(cells.type)
    if whole:
        return _COMPARE[how](cells, int(value))
    return _COMPARE[how](cells.cast(pa.float64()), value)


def select(table: pa.Table, where: Sequence[str], sort: str, limit: int | None) -> pa.Table:
    """The rows that meet all conditions, in that order, at most so many. A cell that is not known
    meets none. ValueError for what is no condition and for columns that are not there."""
    for condition in where:
        table = table.filter(_mask(table, condition))
    if sort:
        name = sort.removeprefix("-")
        _named(table, name)
        order = "descending" if sort.startswith("-") else "ascending"
        table = table.sort_by([(name, order)])
    return table if limit is None else table.slice(0, limit)
