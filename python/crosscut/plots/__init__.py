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
from crosscut._command import USAGE, Parser, exit_code, say


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; exits with 2 where it is wrong."""
    parser = Parser(
        prog="crosscut plot", allow_abbrev=False,
        description="Draw a run's metrics, or those of several runs side by side.")
    parser.add_argument("runs", nargs="+", metavar="[LABEL=]RUN",
                        help="run directory, or a file that an importer knows; LABEL is what the "
                             "plots call it, by default the path's last part")
    parser.add_argument("-o", "--output", required=True, metavar="DIR",
                        help="where to write; made if absent")
    return parser.parse_args(arguments)


def labelled(runs: Sequence[str]) -> list[tuple[str, str]]:
    """(label, path) of each: what stands before "=" unless a file has that name, else the path's
    last part. Equal labels get numbers."""
    out: list[tuple[str, str]] = []
    for text in runs:
        label, equals, path = text.partition("=")
        if not equals or os.path.exists(text):
            label, path = os.path.basename(os.path.abspath(text)), text
        taken = {name for name, _ in out}
        unique, number = label, 2
        while unique in taken:
            unique, number = f"{label} #{number}", number + 1
        out.append((unique, path))
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
        read = [sheets.Source(label, path) for label, path in runs]
        made = sheets.make(read)
        os.makedirs(options.output, exist_ok=True)
        for sheet in made:
            figures.write(sheet, options.output, [path for _, path in runs])
        told = f"{len(made)} plots in {options.output}\n"
        _outputs.write("-", [], told.encode("utf-8", "surrogateescape"))
        return any(run.damaged for run in read)

    return exit_code(drawn)
