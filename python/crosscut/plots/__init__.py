"""`crosscut plot RUN [RUN ...] -o DIR`: the plots of IML and RL-Scope.

Each plot is a picture, NAME.png, beside NAME.plot_data.txt, which holds every number drawn; each of
those stands in a table, which the file names. docs/rl-metrics.md says what they show.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from crosscut import _outputs
from crosscut._command import USAGE, Parser, damaged, exit_code, say


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; exits with 2 where it is wrong. Each run is RUN or LABEL=RUN: a run
    directory, a file that an importer knows, or the result of `crosscut validate --format=json`.
    The command's own table of arguments has the help."""
    parser = Parser(prog="crosscut plot", allow_abbrev=False)
    parser.add_argument("runs", nargs="+", metavar="[LABEL=]RUN")
    parser.add_argument("-o", "--output", required=True)
    return parser.parse_args(arguments)


def labelled(runs: Sequence[str]) -> list[tuple[str, str, str]]:
    """(label, path, group) of each: what stands before "=" unless a file has that name, else the
    path's last part. Equal labels get numbers. Those that stood before "=" are one group."""
    out: list[tuple[str, str, str]] = []
    for text in runs:
        label, equals, path = text.partition("=")
        stated = bool(equals) and not os.path.exists(text)
        if not stated:
            label, path = os.path.basename(os.path.abspath(text)), text
        taken = {name for name, _, _ in out}
        unique, number = label, 2
        while unique in taken:
            unique, number = f"{label} #{number}", number + 1
        out.append((unique, path, label if stated else unique))
    return out


def main(arguments: Sequence[str]) -> int:
    """Writes the plots and says where; an exit code of the command."""
    options = parse(arguments)
    try:
        from crosscut.plots import figures, sheets
    except ImportError as missing:
        say(f"plot needs Matplotlib, and {sys.executable} has none that it can import ({missing}): "
            "pip install 'crosscut[plot]'")
        return USAGE

    def drawn() -> bool:
        runs = labelled(options.runs)
        results = {label: found for label, path, _ in runs
                   if (found := sheets.validation_of(path)) is not None}
        read = [sheets.Source(*run) for run in runs if run[0] not in results]
        made = sheets.make(read, results)
        os.makedirs(options.output, exist_ok=True)
        for sheet in made:
            figures.write(sheet, options.output, [path for _, path, _ in runs])
        told = f"{len(made)} plots in {options.output}\n"
        _outputs.write("-", [], told.encode("utf-8", "surrogateescape"))
        return any([damaged(run) for run in read])

    return exit_code(drawn)
