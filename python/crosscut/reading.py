"""Runs and their tables, for notebooks and scripts."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

from crosscut import _read


class Table:
    """A table of a run: named columns of equal length; times are integers, in nanoseconds.

    Every Arrow reader takes it as it is (`polars.DataFrame(table)`, `duckdb.sql("from table")`,
    `pyarrow.table(table)`). A cell that is not known is None.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """What the table is called."""
        return self._table.name

    @property
    def columns(self) -> list[str]:
        """The names of its columns; units are in the names."""
        return self._table.columns

    @property
    def notes(self) -> list[str]:
        """Sentences that belong to the numbers."""
        return self._table.notes

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, column: str) -> list[Any]:
        """The cells of a column. KeyError where there is none of that name."""
        return self._table.column(column)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Its rows, one after the other, as dictionaries."""
        columns = self.columns
        for cells in zip(*(self._table.column(name) for name in columns)):
            yield dict(zip(columns, cells))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._table.__arrow_c_schema__()

    def to_pandas(self) -> Any:
        """As a pandas.DataFrame: int64 (Int64 where numbers are missing), float64, str."""
        pandas = _needed("pandas", "to_pandas()")
        return pandas.DataFrame({name: _series(pandas, self._table.column(name))
                                 for name in self.columns})

    def to_polars(self) -> Any:
        """As a polars.DataFrame."""
        return _needed("polars", "to_polars()").DataFrame(self)

    def __repr__(self) -> str:
        return f"<table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"


def _needed(module: str, function: str) -> Any:
    """The module, which an extra of this package brings."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise ModuleNotFoundError(f"{function} needs {module}: pip install 'crosscut[{module}]'",
                                  name=module) from None


def _series(pandas: Any, cells: list[Any]) -> Any:
    whole = any(isinstance(cell, int) for cell in cells)
    return pandas.array(cells, dtype="Int64") if whole and None in cells else cells


class Run:
    """One recording, or any file that an importer knows."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._run = _read.open(os.fspath(path))
        self.path = os.fspath(path)

    @property
    def gaps(self) -> list[str]:
        """What is missing or damaged in it, most serious first; empty where nothing is."""
        return self._run.gaps

    def tables(self) -> dict[str, str]:
        """The names of all tables, with what each of them holds."""
        return _read.tables()

    def table(self, name: str) -> Table:
        """Computes a table. KeyError, with the names there are, for an unknown one."""
        return Table(self._run.table(name))

    def __repr__(self) -> str:
        return f"<crosscut run {self.path}>"


def read(path: str | os.PathLike[str]) -> Run:
    """Reads a run directory, or a trace that another program wrote.

    FileNotFoundError where there is nothing, ValueError for what no importer knows or what is
    damaged beyond reading, OSError for what the system refuses. Lets other threads run meanwhile.
    """
    return Run(path)
