"""IPython: `%load_ext crosscut`, then `%%crosscut` records a cell and `%crosscut` reads runs."""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import NoReturn

import crosscut
from crosscut import _command, _read, reading
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

_NOTED = 32 << 20  # bytes of a run: reading more takes so long that a note says it goes on
_LARGEST_PAGE = 5 << 20  # `%crosscut open` was asked for the page: it may be as large as they get


class _Parser(_command.Parser):
    """An argument that is wrong is an error of the cell, not the end of Python."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message.removeprefix('argument ')}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _Helped


class _Helped(Exception):
    """--help has been printed."""


def _cell_parser() -> _Parser:
    parser = _Parser(prog="%%crosscut", description="Records the cell and shows its report.",
                     allow_abbrev=False)
    parser.add_argument("-o", dest="run_dir", metavar="RUN",
                        help="where to record; where that is a run already, RUN-2 and so on. By "
                             "default a folder in crosscut-runs")
    parser.add_argument("--python", metavar="LEVEL",
                        help="what is recorded of Python: off, boundary, samples or calls")
    parser.add_argument("--plan", help="how much is recorded of each step: light, balanced, full")
    parser.add_argument("--budget", type=float, metavar="PERCENT",
                        help="how much longer the steps may take; 0: no limit")
    parser.add_argument("--memory", type=int, dest="memory_mib", metavar="MIB",
                        help="what Crosscut may hold in this process")
    parser.add_argument("--shapes", action="store_true", default=None,
                        help="what operators are called with: shapes, types, strides")
    parser.add_argument("--scalars", action="store_true", default=None,
                        help="the same, and the values of numbers among it")
    parser.add_argument("--allocations", action="store_true", default=None,
                        help="every allocation and free of PyTorch's")
    parser.add_argument("--quiet", action="store_true", help="record, and show only the path")
    return parser


def _line_parser() -> _Parser:
    parser = _Parser(prog="%crosscut", description="Looks at runs.", allow_abbrev=False)
    verbs = ("open", "report", "runs")
    parser.add_argument("verb", type=_command.one_of("verb", verbs), metavar="|".join(verbs),
                        help="open: the page with a timeline; report: where the time went, as "
                             "text; runs: the list of runs")
    parser.add_argument("place", nargs="?", metavar="RUN|DIR",
                        help="which run, by default the newest; of runs, the folder to look in")
    return parser


def _parse(parser: _Parser, line: str) -> argparse.Namespace:
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:  # an open quote
        raise UsageError(f"{parser.prog}: {error}") from None


@magics_class
class CrosscutMagics(Magics):
    @no_var_expand
    @line_cell_magic("crosscut")
    def crosscut(self, line: str, cell: str | None = None) -> None:
        """`%%crosscut [options]` records the cell; `%crosscut open|report|runs` reads runs.

        Each has its --help. A cell is recorded into a new run each time; its value is shown as
        without `%%crosscut`, then the report. A cell that fails ends its recording, too.
        """
        try:
            if cell is None:
                _look(_parse(_line_parser(), line))
            else:
                _record_cell(self.shell, _parse(_cell_parser(), line), cell)
        except _Helped:
            pass


def _record_cell(shell: InteractiveShell, options: argparse.Namespace, cell: str) -> None:
    body, value = _compiled(shell, cell)
    given = {name: setting for name, setting in vars(options).items()
             if setting is not None and name not in ("run_dir", "quiet")}
    try:
        session = crosscut.session(options.run_dir, **given)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    shown = None
    with session:
        if not session.started:
            print(f"crosscut: not recorded: {crosscut.error() or 'a session runs already'}",
                  file=sys.stderr)
        try:
            exec(body, shell.user_ns)
            if value is not None:
                shown = eval(value, shell.user_ns)
        except BaseException as error:
            if session.path:
                print(f"crosscut: recorded until the {type(error).__name__} in "
                      f"{os.path.relpath(session.path)}", file=sys.stderr)
            raise
    if shown is not None:
        shell.displayhook(shown)
    if session.path and options.quiet:
        print(f"crosscut: recorded in {os.path.relpath(session.path)}")
    elif session.path:
        _show(session.path)


def _compiled(shell: InteractiveShell, cell: str) -> tuple[CodeType, CodeType | None]:
    """The cell as code, and its last expression, whose value a cell shows; None: it has none."""
    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)  # for tracebacks
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    value = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        expression = ast.Expression(tree.body.pop().value)
        value = shell.compile(expression, name, "eval")
    return shell.compile(tree, name, "exec"), value


def _look(options: argparse.Namespace) -> None:
    if options.verb == "runs":
        folder = options.place or "."
        print(_read.runs(folder) or f"there is no run in {folder}", end="")
        return
    path = options.place or _read.newest_run(".")
    if not path:
        raise UsageError("%crosscut: there is no run here; record one with %%crosscut")
    with _progress(path) as note:
        run = crosscut.read(path)
        note("making the report of")
        text = run.report()
        page = run.page() if options.verb == "open" else ""
    if options.verb == "report":
        print(text)
    else:
        _display(reading.framed(page, path, _LARGEST_PAGE), text)


def _show(path: str) -> None:
    with _progress(path) as note:
        run = crosscut.read(path)
        note("making the report of")
        html, text = run._repr_html_(), run.report()
    _display(html, text)


def _display(html: str, text: str) -> None:
    """Shows the page where there is a browser, the text in a terminal."""
    display({"text/html": html, "text/plain": text}, raw=True)


@contextmanager
def _progress(path: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is going on with a large run, and for how long; a function that
    changes what it is."""
    size = _size(path)
    if size < _NOTED:
        yield lambda what: None
        return
    began = time.monotonic()
    subject = f"{os.path.relpath(path)} ({size >> 20} MiB)"

    def line(what: str) -> dict[str, str]:
        return {"text/plain": f"Crosscut: {what} {subject}, "
                              f"{time.monotonic() - began:.0f} s so far"}

    handle = display(line("reading"), raw=True, display_id=True)
    yield lambda what: handle.update(line(what), raw=True)
    handle.update({"text/plain": f"Crosscut: read {subject} in {time.monotonic() - began:.0f} s"},
                  raw=True)


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path) if os.path.exists(path) else 0
    return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext crosscut`."""
    shell.register_magics(CrosscutMagics)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext crosscut`."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("crosscut", None)
