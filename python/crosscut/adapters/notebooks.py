"""Says which cell of a notebook a file name stands for: IPython compiles each under a name that it
makes up. Reports then have "Cell In[2]:3", as tracebacks do.

The cells that have run are told where a session begins and ends, and at the interpreter's end.
"""

from __future__ import annotations

import atexit
import sys
from types import ModuleType

from crosscut import _record


def tell() -> None:
    """States it for all cells that have run. Nothing outside of IPython, nor while that is being
    imported or where something else has its name."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", _no_shell)()
    compiler = getattr(shell, "compile", None)
    label_of = getattr(compiler, "format_code_name", _no_shell)
    for name in list(getattr(compiler, "_filename_map", ())):  # it has no public list of them
        if label := label_of(name):
            _record.meta(f"cell:{name}", " ".join(label))


def _no_shell(*_: object) -> None:
    return None


def install(_module: ModuleType | None = None) -> None:
    """After the import of IPython.core.interactiveshell."""
    withdraw()
    atexit.register(tell)


def withdraw() -> None:
    """Tells nothing at the interpreter's end."""
    atexit.unregister(tell)
