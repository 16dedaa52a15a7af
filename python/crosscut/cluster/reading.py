"""`report`, `table` and `info` of a cluster folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

import pyarrow as pa

from crosscut import _names, _outputs, _read, _table
from crosscut._command import USAGE, Parser, exit_code, one_of, say
from crosscut.cluster import dataset, page, report
from crosscut.cluster.dataset import Cluster
from crosscut.reading import Table

# In a report as JSON: tables with a row for each rank or fewer.
_REPORTED = ("ranks", "stragglers", "rank_outliers", "collectives", "unmatched",
             "operation_spread", "missing")


def _answer(path: str, answer: Callable[[Cluster], None]) -> int:
    """Gives the answer; the exit code says whether the cluster is complete."""
    def of_cluster() -> bool:
        cluster = dataset.open_cluster(path)
        answer(cluster)
        return bool(cluster.facts["incomplete"])

    return exit_code(of_cluster)


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
    options = _table.options_of(arguments)

    def answer(cluster: Cluster) -> None:
        stated = cluster.facts["tables"]
        if not options.name:
            return _write("".join(f"{name:<20} {of['rows']:>12,} rows\n"
                                  for name, of in stated.items()), "", cluster)
        if options.name not in stated:
            raise _read.WrongUse(_names.unknown("table", options.name, cluster.tables))
        return _table.write(as_of_run(options.name, cluster.table(options.name)), options)

    return _answer(options.input, answer)


def as_of_run(name: str, table: pa.Table) -> Table:
    """The table with the types that tables of runs have."""
    def kind(of: pa.DataType) -> pa.DataType:
        if pa.types.is_integer(of) or pa.types.is_boolean(of):
            return pa.int64()
        return pa.float64() if pa.types.is_floating(of) else pa.string()

    schema = pa.schema([(field.name, kind(field.type)) for field in table.schema])
    return Table(_read.Table.from_arrow(name, table.cast(schema)))
