"""Runs and their tables, for notebooks and scripts."""

from __future__ import annotations

import html
import importlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, TypeVar

from crosscut import _outputs, _read

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Cell: TypeAlias = "int | float | str | None"
Format = Literal["text", "markdown", "json", "html", "summary"]
_T = TypeVar("_T", int, float, str)

SHOWN_ROWS = 20  # of a table in a notebook
_SHOWN_CAUSES = 3  # of a verdict
_INLINE_PAGE = 1 << 20  # bytes; a larger page is a file beside the notebook
every_row = (1 << 63) - 1


class Table:
    """A table of a run: named columns of equal length; times are integers, in nanoseconds.

    Every Arrow reader takes it as it is (`polars.DataFrame(table)`, `duckdb.sql("from table")`,
    `pyarrow.table(table)`). A cell that is not known is None.
    """

    def __init__(self, table: _read.Table, origin: int = 0) -> None:
        self._table = table
        self._origin = origin

    def select(self, where: Iterable[str], sort: str, limit: int) -> Table:
        """The rows that Run.table() would give."""
        return Table(self._table.select(_read.Query(list(where), sort, limit)), self._origin)

    def write(self, form: str, query: tuple[Iterable[str], str, int], file: str,
              inputs: Iterable[str]) -> str:
        """As `crosscut table` does: what to say of the rows that are left out, or ""."""
        where, sort, limit = query
        return self._table.write(form, _read.Query(list(where), sort, limit), _outputs.place(file),
                                 list(inputs))

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

    def __getitem__(self, column: str) -> list[Cell]:
        """The cells of a column. KeyError where there is none of that name."""
        if not isinstance(column, str):
            raise TypeError(f"{self.name}[{column!r}]: columns have names; rows() gives the rows, "
                            "to_pandas() a frame")
        return self._table.column(column)

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Its rows, as rows() gives them."""
        return self.rows()

    def __contains__(self, column: object) -> bool:
        """Whether it has a column of that name."""
        return column in self.columns

    def column(self, name: str, kind: type[_T]) -> list[_T]:
        """The cells of a column, all known and of that type: `table.column("wall_ns", int)`.
        TypeError where one is of another, or not known."""
        cells: list[_T] = []
        for row, cell in enumerate(self._table.column(name)):
            if not isinstance(cell, kind):
                raise TypeError(f"{self.name}.{name}, row {row}: {cell!r} is no {kind.__name__}; "
                                f"table[{name!r}] has the cells as they are")
            cells.append(cell)
        return cells

    def rows(self) -> Iterator[dict[str, Cell]]:
        """Its rows, one after the other, as dictionaries."""
        columns = self.columns
        for cells in zip(*(self._table.column(name) for name in columns)):
            yield dict(zip(columns, cells))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas.DataFrame: int64 (Int64 where numbers are missing), float64, str."""
        module = needed("pandas", "to_pandas()", "pandas")
        types = zip(self.columns, self._table.numbers, self._table.integers)
        return module.DataFrame({
            name: _series(module, self._table.column(name), number, integer)
            for name, number, integer in types})

    def to_polars(self) -> polars.DataFrame:
        """As a polars.DataFrame."""
        return needed("polars", "to_polars()", "polars").DataFrame(self)

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow.Table."""
        return needed("pyarrow", "to_arrow()", "arrow").table(self)

    def to_parquet(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Writes a Parquet file, whose metadata have the table's name and notes."""
        needed("pyarrow", "to_parquet()", "arrow")
        parquet = importlib.import_module("pyarrow.parquet")
        notes = "\n".join(self.notes)
        parquet.write_table(self.to_arrow().replace_schema_metadata(
            {"crosscut.table": self.name, "crosscut.notes": notes}), file)

    def __repr__(self) -> str:
        return f"<table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        shown = min(len(self), SHOWN_ROWS)
        numbers = self._table.numbers
        head = "".join(
            f'<th scope="col" style="text-align:{_side(number)}">{html.escape(name)}</th>'
            for name, number in zip(self.columns, numbers))
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align:{_side(number)}">{html.escape(cell)}</td>'
                             for cell, number in zip(self._table.shown(row, self._origin), numbers))
            + "</tr>\n" for row in range(shown))
        below = list(self.notes)
        if shown < len(self):
            below.append(f"{len(self) - shown:,} more rows: table.to_pandas() has all of them")
        return (f"<table><caption>{html.escape(self.name)}</caption>\n"
                f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"
                + "".join(map(_paragraph, below)))


def _side(number: bool) -> str:
    return "right" if number else "left"


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>\n"


def needed(module: str, function: str, extra: str) -> Any:
    """The module, which an extra of this package brings."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
        raise ModuleNotFoundError(f"{function} needs {module}: pip install 'crosscut[{extra}]'",
                                  name=module) from None


def _series(pandas: Any, cells: list[Any], number: bool, integer: bool) -> Any:
    """By what the column holds, also where no cell says it."""
    missing = "Int64" if None in cells else "int64"
    return pandas.Series(cells, dtype=missing if integer else "float64" if number else str)


class Run:
    """One recording, or any file that an importer knows. A notebook shows it as a report."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._run = _read.open(path)
        self.path = os.fspath(path)

    @property
    def gaps(self) -> list[str]:
        """What is missing or damaged in it, most serious first; empty where nothing is."""
        return self._run.gaps

    @property
    def damaged(self) -> bool:
        """Whether a part of it could not be read; the gaps say which."""
        return self._run.damaged

    def tables(self) -> dict[str, str]:
        """The names of all tables, with what each of them holds."""
        return _read.tables()

    def table(self, name: str, *, where: str | Iterable[str] = (), sort: str = "",
              limit: int | None = None) -> Table:
        """Computes a table. KeyError, with the names there are, for an unknown one.

        `where`: conditions that all rows must meet, such as "wall_ns > 1ms" or "name ~ conv" (=,
        !=, <, <=, >, >=, and ~ for "contains"). `sort`: a column, with "-" in front the largest
        first. `limit`: only the first so many rows. ValueError where one of them cannot be meant.
        """
        conditions = [where] if isinstance(where, str) else list(where)
        if limit is not None and limit < 0:
            raise ValueError(f"table(): limit={limit} is no number of rows")
        table = Table(self._run.table(name), self._run.origin)
        if not conditions and not sort and limit is None:
            return table
        try:
            return table.select(conditions, sort, every_row if limit is None else limit)
        except ValueError as error:  # the options of the command are arguments here
            raise ValueError(str(error).removeprefix("--")) from None

    def verdict(self) -> Table:
        """What bounds the steps, the first row first: the table `verdict`."""
        return self.table("verdict")

    def report(self, format: Format = "text", *, width: int = 100) -> str:
        """The report of the command `crosscut report`, as text, Markdown, JSON or a page (html), or
        the summary for other programs (JSON of at most 8 KB). `width`: columns of the text."""
        return self._run.report(format, width)

    def page(self) -> str:
        """The report as one page of HTML, with a timeline, that needs no network."""
        return self.report("html")

    def __repr__(self) -> str:
        return f"<crosscut run {self.path}>"

    def _repr_html_(self) -> str:
        parts = [_paragraph(f"Crosscut: {_read.shown_text(self.path)}")]
        parts += map(_paragraph, self.gaps[:3])
        if len(self.gaps) > 3:
            parts.append(_paragraph(f"{len(self.gaps) - 3} more: run.gaps"))
        parts.append(_verdict_html(self.verdict()))
        return "".join(parts) + framed(self.page(), self.path)


def _verdict_html(verdict: Table) -> str:
    """Its first rows in sentences: a page in a frame is not shown everywhere."""
    rows = list(verdict.rows())
    items = "".join(
        f"<li><b>{html.escape(str(row['headline']))}</b> "
        + html.escape(f"{row['blame']} ({row['evidence']}). " if row["blame"] else
                      f"{row['evidence']}. " if row["evidence"] else "")
        + html.escape(f"Try: {row['action']}." if row["action"] else "")
        + "</li>\n" for row in rows[:_SHOWN_CAUSES])
    more = len(rows) - _SHOWN_CAUSES
    return (f"<ol>\n{items}</ol>\n"
            + (_paragraph(f"{more} more: run.verdict()") if more > 0 else ""))


def framed(page: str, path: str, most: int = _INLINE_PAGE) -> str:
    """The page inside another one: in a frame of its own where it has at most `most` bytes, else a
    link to a file, which `crosscut open` would write for the run at `path`, too."""
    size = len(page.encode())
    if size <= most:
        return ('<iframe title="Crosscut report" sandbox="allow-scripts allow-downloads" '
                'style="width:100%;height:640px;border:1px solid #8888" '
                f'srcdoc="{html.escape(page)}"></iframe>\n')
    try:
        file = _read.write_page(path, page)
    except OSError as error:
        return _paragraph(f"The page has {size >> 10} KiB and cannot be written beside the run "
                          f"({error}): crosscut open -o FILE puts it elsewhere.")
    name = html.escape(os.path.relpath(file))
    return (f'<p>The page has {size >> 10} KiB: <a href="{name}" target="_blank">{name}</a></p>\n')


def read(path: str | os.PathLike[str]) -> Run:
    """Reads a run directory, or a trace that another program wrote.

    FileNotFoundError where there is nothing, ValueError for what no importer knows or what is
    damaged beyond reading, OSError for what the system refuses. Lets other threads run meanwhile.
    """
    return Run(path)
