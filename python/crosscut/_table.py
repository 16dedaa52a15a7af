"""`crosscut table` of a cluster, or as Parquet: what of it is done here, where pyarrow is."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence

import crosscut
from crosscut import _names, _outputs
from crosscut._command import Parser, damaged, exit_code, say
from crosscut._read import WrongUse
from crosscut.reading import Table, every_row, needed


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line, which the command has read before."""
    parser = Parser(prog="crosscut table", allow_abbrev=False)
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--sort", default="")
    parser.add_argument("--limit", type=int, default=every_row)
    parser.add_argument("--format", default="csv")
    parser.add_argument("-o", default="-")
    parser.add_argument("input")
    parser.add_argument("name", nargs="?", default="")
    return parser.parse_args(arguments)


def write(table: Table, options: argparse.Namespace) -> None:
    """Writes what the options want of it, where they want it."""
    query = options.where, options.sort, options.limit
    if options.format != "parquet":
        remark = table.write(options.format, query, options.o, [options.input])
        return say(remark) if remark else None
    needed("pyarrow", "--format=parquet", "arrow")
    content = io.BytesIO()
    table.select(*query).to_parquet(content)
    _outputs.write(options.o, [options.input], content.getvalue())


def main(arguments: Sequence[str]) -> int:
    """Writes a table of a run; an exit code of the command."""
    options = options_of(arguments)

    def of_run() -> bool:
        run = crosscut.read(options.input)
        if options.name not in run.tables():
            raise WrongUse(_names.unknown("table", options.name, run.tables()))
        write(run.table(options.name), options)
        return damaged(run)

    return exit_code(of_run)
