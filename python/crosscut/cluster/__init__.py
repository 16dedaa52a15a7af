"""Many ranks and hosts: `crosscut map` keeps what is bounded of each run as a partial,
`crosscut reduce` merges partials into a folder of tables. docs/cluster.md describes both.

What it needs, the extra `crosscut[cluster]` brings. Nothing here is loaded by a recorded program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, cast

from crosscut._command import USAGE, say

_NEEDED = ("pyarrow", "duckdb", "fsspec", "numpy")


def is_cluster(path: str) -> bool:
    """Whether it is a folder that `reduce` made."""
    return os.path.isfile(os.path.join(path, "cluster.json"))


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("no pandas in this process", name=name)


def without_pandas() -> None:
    """From now on this process has none. pyarrow would import it, for 0.3 s, to see whether what
    it is given is a data frame: nothing here is."""
    sys.meta_path.insert(0, cast(Any, _NoPandas))


def main(verb: str, arguments: Sequence[str]) -> int:
    """`map`, `reduce`, or a verb that reads a cluster folder; an exit code of the command. This
    process is the command's own."""
    without_pandas()
    try:
        from crosscut.cluster import command, reading
    except ModuleNotFoundError as missing:
        if missing.name not in _NEEDED:
            raise
        say(f"{verb} of many ranks needs {missing.name}, and {sys.executable} has none: "
            "pip install 'crosscut[cluster]'")
        return USAGE
    verbs = {"map": command.main_map, "reduce": command.main_reduce,
             "report": reading.main_report, "table": reading.main_table,
             "info": reading.main_info}
    return verbs[verb](arguments)
