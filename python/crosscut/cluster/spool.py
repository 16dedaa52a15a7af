"""The calls of a ledger, by shard: in memory, or in a file of which only what is looked at is in
memory. 16,384 ranks have some 35 million calls of 90 bytes."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crosscut.cluster import spec
from crosscut.cluster.columns import Integers, Rows, column_of
from crosscut.cluster.partial import SHARD, Conflict

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_WIDTH = {name: np.int64 if kind == pa.int64() else np.int32
          for name, kind in spec.LEDGER_TYPES.items()}


def keep_pages() -> None:
    """Has the allocator keep what it is given back: arrays of some megabytes come and go by the
    thousand. For this process, from now on; only glibc knows how."""
    try:
        libc = ctypes.CDLL(None)
        for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            libc.mallopt(option, 1 << 30)
    except (OSError, AttributeError):
        pass


class Spool:
    """A file without a name: it is gone with the process, however that ends. OSError where it
    cannot be made or written."""

    def __init__(self, folder: str) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)
        self._texts: dict[str, dict[str, int]] = {name: {} for name in spec.LEDGER_TEXTS}

    def add(self, table: pa.Table, shards: int) -> Piece:
        """Takes the ledger of a partial with so many shards. Conflict where its columns are not
        those of this version."""
        expected = {SHARD: pa.int32(), **spec.LEDGER_TYPES}
        if dict(zip(table.schema.names, table.schema.types)) != expected:
            raise Conflict(f"{spec.LEDGER} has other columns in some partials, which another "
                           "version of Crosscut made: map their runs again")
        rows = Rows(table.unify_dictionaries())
        bounds = np.searchsorted(rows.numbers(SHARD), np.arange(shards + 1))
        piece = Piece(self, self._file.seek(0, os.SEEK_END), table.num_rows, bounds)
        for name, width in _WIDTH.items():
            if name in self._texts:
                known = self._texts[name]
                codes = [known.setdefault(text, len(known)) for text in rows.texts(name)]
                cells = np.array(codes, width)[rows.codes(name)]
            else:
                cells = rows.numbers(name)
            self._file.write(np.ascontiguousarray(cells, width).tobytes())
        return piece

    def texts(self, name: str) -> list[str]:
        """The texts of a column, by code."""
        return list(self._texts[name])

    def read(self, piece: Piece, name: str, first: int, end: int) -> Integers:
        """Cells of a piece, from row `first` up to `end`."""
        self._file.flush()
        width, at = np.dtype(_WIDTH[name]).itemsize, piece.offset
        for before, kind in _WIDTH.items():
            if before == name:
                break
            at += piece.rows * np.dtype(kind).itemsize
        content = os.pread(self._file.fileno(), (end - first) * width, at + first * width)
        cells = np.frombuffer(content, _WIDTH[name])
        if len(cells) != end - first:
            raise OSError("the temporary file of the ledger was cut off")
        return cells


@dataclass(frozen=True)
class Piece:
    """The ledger of one partial in a spool. `bounds`: the first row of each shard, and the end."""

    spool: Spool
    offset: int
    rows: int
    bounds: Integers

    @property
    def num_rows(self) -> int:
        return self.rows


class SpooledRows(Rows):
    """Rows of consecutive shards in a spool."""

    def __init__(self, spool: Spool, parts: Sequence[tuple[Piece, int, int]],
                 shard: Integers) -> None:
        self._spool, self._parts, self._shard = spool, parts, shard
        self._kept = None

    def _all_numbers(self, name: str) -> Integers:
        return self._shard if name == SHARD else self._all_codes(name)

    def _all_codes(self, name: str) -> Integers:
        return np.concatenate([self._spool.read(piece, name, first, end)
                               for piece, first, end in self._parts])

    def texts(self, name: str) -> list[str]:
        """The texts that occur in the column of any row."""
        return self._spool.texts(name)

    def table(self) -> pa.Table:
        """All of them."""
        columns = [pa.array(self._shard, pa.int32())]
        for name, kind in spec.LEDGER_TYPES.items():
            if name in spec.LEDGER_TEXTS:
                columns.append(pa.DictionaryArray.from_arrays(
                    pa.array(self.codes(name)), pa.array(self.texts(name), pa.string())))
            else:
                columns.append(column_of(self.numbers(name)).cast(kind))
        return pa.table(columns, names=[SHARD, *spec.LEDGER_TYPES])


class Spooled:
    """A merged ledger in a spool. `owners`: of each shard, by number, the piece and its number
    there; None for one that has no calls."""

    def __init__(self, owners: Sequence[tuple[Piece, int] | None]) -> None:
        self._owners = owners

    @property
    def num_rows(self) -> int:
        """How many calls there are."""
        return sum(int(piece.bounds[at + 1] - piece.bounds[at])
                   for piece, at in (owner for owner in self._owners if owner is not None))

    def block(self, first: int, end: int) -> SpooledRows | None:
        """The calls of the shards from `first` up to `end`; None where there are none."""
        parts: list[tuple[Piece, int, int]] = []
        counts = np.zeros(end - first, np.int64)
        for number in range(first, end):
            owner = self._owners[number]
            if owner is None:
                continue
            piece, at = owner
            begin, stop = int(piece.bounds[at]), int(piece.bounds[at + 1])
            counts[number - first] = stop - begin
            if parts and parts[-1][0] is piece and parts[-1][2] == begin:
                parts[-1] = (piece, parts[-1][1], stop)
            elif stop > begin:
                parts.append((piece, begin, stop))
        if not parts:
            return None
        shard = np.repeat(np.arange(first, end, dtype=np.int32), counts)
        return SpooledRows(parts[0][0].spool, parts, shard)

    def table(self, first: int, end: int) -> pa.Table:
        """The same as a table."""
        rows = self.block(first, end)
        if rows is not None:
            return rows.table()
        return pa.schema([(SHARD, pa.int32()), *spec.LEDGER_TYPES.items()]).empty_table()


class InMemory:
    """A merged ledger in memory, as Spooled."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.unify_dictionaries()
        self._shard = self._table.column(SHARD).to_numpy()

    @property
    def num_rows(self) -> int:
        """How many calls there are."""
        return int(self._table.num_rows)

    def block(self, first: int, end: int) -> Rows | None:
        """The calls of the shards from `first` up to `end`; None where there are none."""
        part = self.table(first, end)
        return Rows(part) if part.num_rows else None

    def table(self, first: int, end: int) -> pa.Table:
        """The same as a table."""
        begin, stop = np.searchsorted(self._shard, [first, end]).tolist()
        return self._table.slice(begin, stop - begin)
