"""Columns of many rows, folded into groups: integers and codes of texts, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

Integers = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

ABSENT = -(1 << 62)  # for a cell that is not known
MOST = (1 << 63) - 1


class Rows:
    """Rows of a table whose chunks share their dictionaries. Each column becomes an array when it
    is asked for: all of them together would be large."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._kept: Flags | None = None

    def only(self, kept: Flags) -> Rows:
        """Those for which `kept` is true. Requires: all rows are there."""
        rows = copy(self)
        rows._kept = kept
        return rows

    def numbers(self, name: str) -> Integers:
        """A column of integers, ABSENT for those that are not known."""
        return self._chosen(self._all_numbers(name))

    def codes(self, name: str) -> Integers:
        """A column of texts, as places in `texts(name)`."""
        return self._chosen(self._all_codes(name))

    def texts(self, name: str) -> list[str]:
        """The texts that occur in a column."""
        column = self._table.column(name)
        return column.chunk(0).dictionary.to_pylist() if column.num_chunks else []

    def _chosen(self, cells: Integers) -> Integers:
        return cells if self._kept is None else cells[self._kept]

    def _all_numbers(self, name: str) -> Integers:
        column = self._table.column(name)
        if column.null_count:
            column = column.cast(pa.int64()).fill_null(ABSENT)
        return column.to_numpy()

    def _all_codes(self, name: str) -> Integers:
        chunks = [chunk.indices.to_numpy() for chunk in self._table.column(name).chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.int32)


def dense(keys: Integers) -> tuple[Integers, int]:
    """The keys as numbers from 0, in the order in which they occur first; how many there are."""
    least, most = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    if most - least >= len(keys):
        encoded = pa.array(keys).dictionary_encode()
        return encoded.indices.to_numpy(), len(encoded.dictionary)
    places = keys - least
    first = np.full(most - least + 1, -1, np.int64)
    first[places[::-1]] = np.arange(len(keys))[::-1]
    there = np.flatnonzero(first >= 0)
    code = np.zeros(len(first), np.int32)
    code[there[np.argsort(first[there])]] = np.arange(len(there), dtype=np.int32)
    return code[places], len(there)


def together(columns: Sequence[Integers]) -> tuple[Integers, int]:
    """One number for the rows that agree in all columns, dense; how many there are."""
    key, size = np.zeros(len(columns[0]), np.int64), 1
    if not len(key):
        return key, 0
    for cells in columns:
        least, most = int(cells.min()), int(cells.max())
        if most - least >= 1 << 31:
            cells, count = dense(cells)
            least, most = 0, count - 1
        if size * (most - least + 1) > 1 << 62:
            codes, size = dense(key)
            key = codes.astype(np.int64)
        key *= most - least + 1
        key += cells
        key -= least
        size *= most - least + 1
    return dense(key)


class Groups:
    """Rows by group: `ids` has the number of each row's group, of `count`."""

    def __init__(self, ids: Integers, count: int) -> None:
        self.ids, self.count = ids, count

    def first(self) -> Integers:
        """The first row of each group."""
        out = np.empty(self.count, np.int64)
        out[self.ids[::-1]] = np.arange(len(self.ids))[::-1]
        return out

    def sizes(self) -> Integers:
        """How many rows each group has."""
        return np.bincount(self.ids, minlength=self.count)

    def least(self, cells: Integers) -> Integers:
        """The least cell of each group; MOST where it has none."""
        out = np.full(self.count, MOST, np.int64)
        add_least(out, self.ids, cells)
        return out

    def most(self, cells: Integers) -> Integers:
        """The largest cell of each group; -MOST where it has none."""
        out = np.full(self.count, -MOST, np.int64)
        add_most(out, self.ids, cells)
        return out


def add_least(out: Integers, ids: Integers, cells: Integers) -> None:
    """Makes out[id] the least of it and of the cells of that id."""
    np.minimum.at(out, ids, cells.astype(np.int64, copy=False))  # of other types it is slow


def add_most(out: Integers, ids: Integers, cells: Integers) -> None:
    """Makes out[id] the largest of it and of the cells of that id."""
    np.maximum.at(out, ids, cells.astype(np.int64, copy=False))


def add_sums(out: Integers, ids: Integers, cells: Integers) -> None:
    """Adds the cells of each id to out[id]. OverflowError where one might not fit."""
    if float(np.abs(cells).sum(dtype=np.float64)) + float(np.abs(out).max(initial=0)) > 2.0**62:
        raise OverflowError("a sum of nanoseconds needs more than 63 bits")
    np.add.at(out, ids, cells.astype(np.int64, copy=False))


def column_of(cells: Integers, absent: int = ABSENT) -> pa.Array:
    """A column in which `absent` is not known."""
    unknown = cells == absent
    return pa.array(cells, pa.int64(), mask=unknown if unknown.any() else None)


def text_column(texts: Sequence[str], codes: Integers) -> pa.Array:
    """A column of texts from their codes."""
    return pa.array(texts, pa.string()).take(pa.array(codes))
