"""IPython: `%load_ext crosscut`, then `%%crosscut` records a cell and `%crosscut` reads runs."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import shlex
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, NoReturn

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
    def crosscut(self, line: str, cell: str | None = None) -> Coroutine[Any, Any, None] | None:
        """`%%crosscut [options]` records the cell; `%crosscut open|report|runs` reads runs.

        Each has its --help. A cell is recorded into a new run each time; its value is shown as
        without `%%crosscut`, then the report. A cell that fails ends its recording, too.
        """
        try:
            if cell is not None:
                return _record_cell(self.shell, _parse(_cell_parser(), line), cell)
            _look(_parse(_line_parser(), line))
        except _Helped:
            pass
        return None


def _awaits(shell: InteractiveShell, cell: str) -> bool:
    """Whether a cell awaits outside of functions."""
    try:
        code = compile(shell.transform_cell(cell), "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # which running it says
        return False
    return _is_coroutine(code)


def _with_await(lines: list[str]) -> list[str]:
    """What IPython makes of a cell below %%crosscut is a call. Where that cell awaits, so does the
    call: on the loop of the notebook, as without %%crosscut."""
    if len(lines) != 1 or not lines[0].startswith("get_ipython().run_cell_magic('crosscut',"):
        return lines
    call = ast.parse(lines[0], mode="eval").body
    assert isinstance(call, ast.Call)
    shell = InteractiveShell.instance()
    return [f"await {lines[0]}"] if _awaits(shell, ast.literal_eval(call.args[2])) else lines


def _record_cell(shell: InteractiveShell, options: argparse.Namespace,
                 cell: str) -> Coroutine[Any, Any, None] | None:
    """Records the cell. Where it awaits, that is what _with_await() has awaited."""
    codes = _compiled(shell, cell)
    if any(map(_is_coroutine, codes)):
        return _run_awaiting(shell, options, codes)
    with _recording(shell, options) as values:
        values += [eval(code, shell.user_ns) for code in codes]
    return None


async def _run_awaiting(shell: InteractiveShell, options: argparse.Namespace,
                        codes: list[CodeType]) -> None:
    with _recording(shell, options) as values:
        for code in codes:
            value = eval(code, shell.user_ns)
            values.append(await value if _is_coroutine(code) else value)


@contextmanager
def _recording(shell: InteractiveShell, options: argparse.Namespace) -> Iterator[list[Any]]:
    """Records what is done inside, and shows the last value that it collects, then the report."""
    given = {name: setting for name, setting in vars(options).items()
             if setting is not None and name not in ("run_dir", "quiet")}
    try:
        session = crosscut.session(options.run_dir, **given)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    values: list[Any] = []
    with session:
        if not session.started:
            print(f"crosscut: not recorded: {crosscut.error() or 'a session runs already'}",
                  file=sys.stderr)
        try:
            yield values
        except BaseException as error:
            if session.path:
                print(f"crosscut: recorded until the {type(error).__name__} in "
                      f"{os.path.relpath(session.path)}", file=sys.stderr)
            raise
    if values[-1] is not None:
        shell.displayhook(values[-1])
    if session.path and options.quiet:
        print(f"crosscut: recorded in {os.path.relpath(session.path)}")
    elif session.path:
        _show(session.path)


def _is_coroutine(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _compiled(shell: InteractiveShell, cell: str) -> list[CodeType]:
    """The cell as code, and its last expression, whose value a cell shows, if it has one."""
    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)  # for tracebacks
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    trees: list[tuple[ast.AST, str]] = [(tree, "exec")]
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        trees.append((ast.Expression(tree.body.pop().value), "eval"))
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        return [shell.compile(one, name, mode) for one, mode in trees]


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
    if _with_await not in shell.input_transformers_post:
        shell.input_transformers_post.append(_with_await)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext crosscut`."""
    if _with_await in shell.input_transformers_post:
        shell.input_transformers_post.remove(_with_await)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("crosscut", None)
