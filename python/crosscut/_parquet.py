"""`crosscut table RUN NAME --format=parquet`: what of it is done here, where pyarrow is."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import crosscut
from crosscut import _outputs
from crosscut._command import USAGE, Parser, say

GOOD, UNREADABLE = 0, 3


def main(arguments: Sequence[str]) -> int:
    """Writes the table; an exit code of the command."""
    parser = Parser(prog="crosscut table", allow_abbrev=False)
    for option in ("--where", "--sort", "--limit", "-o"):
        parser.add_argument(option, action="append" if option == "--where" else "store")
    parser.add_argument("run")
    parser.add_argument("name")
    options = parser.parse_args(arguments)
    try:
        table = crosscut.read(options.run).table(
            options.name, where=options.where or (), sort=options.sort or "",
            limit=None if options.limit is None else int(options.limit))
        content = io.BytesIO()
        table.to_parquet(content)
        _outputs.write(options.o, [options.run], content.getvalue())
    except ModuleNotFoundError as missing:
        say(f"--format=parquet needs {missing.name}, and {sys.executable} has none: "
            "pip install 'crosscut[arrow]'")
        return USAGE
    except (KeyError, ValueError) as error:
        say(str(error.args[0]))
        return USAGE
    except OSError as error:
        say(str(error))
        return UNREADABLE
    return GOOD
