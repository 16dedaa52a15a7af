"""`report`, `table` and `info` of a cluster folder."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from crosscut import _names, _outputs
from crosscut._command import USAGE, Parser, one_of, say
from crosscut.cluster import conditions, dataset, page, report
from crosscut.cluster.dataset import Cluster

GOOD, UNREADABLE = 0, 3
# In a report as JSON: tables with a row for each rank or fewer.
_REPORTED = ("ranks", "stragglers", "rank_outliers", "collectives", "unmatched",
             "operation_spread", "missing")


def _answer(path: str, answer: Callable[[Cluster], None]) -> int:
    """Gives the answer; the exit code says whether the cluster is complete."""
    try:
        cluster = dataset.open_cluster(path)
        answer(cluster)
    except (OSError, pa.ArrowException) as error:
        say(str(error))
        return UNREADABLE
    except (KeyError, ValueError) as error:
        say(str(error.args[0]))
        return USAGE
    return UNREADABLE if cluster.facts["incomplete"] else GOOD


def _write(text: str, file: str, cluster: Cluster) -> None:
    if file in ("", "-") and sys.stdout is not None and sys.stdout.isatty():
        from crosscut import _read

        text = "\n".join(map(_read.shown_text, text.split("\n")))  # names may hold escapes
    _outputs.write(file or "-", [cluster.path], text.encode("utf-8", "surrogateescape"))


def main_report(arguments: Sequence[str]) -> int:
    """`crosscut report CLUSTER`; an exit code of the command."""
    parser = Parser(prog="crosscut report", allow_abbrev=False)
    parser.add_argument("cluster", nargs="+")
    parser.add_argument("--format", default="text", type=one_of("format", ["text", "json", "html"]))
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args(arguments)
    if len(options.cluster) > 1:
        say("a cluster is reported alone: one input at a time")
        return USAGE

    def answer(cluster: Cluster) -> None:
        if options.format == "text":
            return _write(report.text(cluster), options.output, cluster)
        if options.format == "html":
            return _write(page.render(cluster), options.output, cluster)
        stated = {name: cluster.table(name).to_pylist() for name in _REPORTED}
        whole = {**cluster.facts, "tables": stated}
        return _write(json.dumps(whole, ensure_ascii=False) + "\n", options.output, cluster)

    return _answer(options.cluster[0], answer)


def main_info(arguments: Sequence[str]) -> int:
    """`crosscut info CLUSTER`; an exit code of the command."""
    parser = Parser(prog="crosscut info", allow_abbrev=False)
    parser.add_argument("cluster")
    options = parser.parse_args(arguments)
    return _answer(options.cluster,
                   lambda cluster: _write(report.information(cluster), "", cluster))


def main_table(arguments: Sequence[str]) -> int:
    """`crosscut table CLUSTER [NAME]`; an exit code of the command."""
    parser = Parser(prog="crosscut table", allow_abbrev=False)
    for option in ("--where", "--sort", "--limit", "-o", "--format"):
        parser.add_argument(option, action="append" if option == "--where" else "store")
    parser.add_argument("cluster")
    parser.add_argument("name", nargs="?", default="")
    options = parser.parse_args(arguments)

    def answer(cluster: Cluster) -> None:
        stated = cluster.facts["tables"]
        if not options.name:
            return _write("".join(f"{name:<20} {of['rows']:>12,} rows\n"
                                  for name, of in stated.items()), "", cluster)
        if options.name not in stated:
            raise KeyError(_names.unknown("table", options.name, cluster.tables))
        limit = None if options.limit is None else int(options.limit)
        table = conditions.select(cluster.table(options.name), options.where or (),
                                  options.sort or "", limit)
        return _print(table, options.format or "csv", options.o or "", cluster)

    return _answer(options.cluster, answer)


def _print(table: pa.Table, form: str, file: str, cluster: Cluster) -> None:
    if form == "json":
        return _write(json.dumps(table.to_pylist(), ensure_ascii=False) + "\n", file, cluster)
    if form == "parquet":
        content = io.BytesIO()
        pq.write_table(table, content)
        return _outputs.write(file or "-", [cluster.path], content.getvalue())
    rows = [table.column_names, *zip(*(column.to_pylist() for column in table.columns))]
    return _write("".join(",".join(map(_cell, row)) + "\n" for row in rows), file, cluster)


def _cell(value: object) -> str:
    """A value as a cell of CSV: a text as in the tables of a run, "" where it is not known."""
    from crosscut import _read

    return _read.csv_cell(value) if isinstance(value, str) else "" if value is None else str(value)
