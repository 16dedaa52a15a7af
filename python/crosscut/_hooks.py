"""Calls a function right after a module was imported, without the module being able to tell: where
the interpreter runs the code of modules (python/ext/record_imports.cc)."""

from __future__ import annotations

import sys

from crosscut import _record

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Adapter = Callable[[ModuleType], None]

_adapters: dict[str, list[Adapter]] = {}


def on_failure(name: str, error: BaseException) -> None:
    """Told of an adapter of module `name` that raised; whoever reports failures replaces it."""


def _adapters_of(name: str) -> list[Adapter]:
    """Its own, and those of the packages that it is below."""
    found = list(_adapters.get(name, ()))
    place = name.find(".")
    while place >= 0:
        found += _adapters.get(name[:place + 1], ())
        place = name.find(".", place + 1)
    return found


def _imported(name: str) -> None:
    module = sys.modules.get(name)
    if module is not None:
        _run(_adapters_of(name), module)


def _run(adapters: list[Adapter], module: ModuleType) -> None:
    for adapter in list(adapters):
        try:
            _record.ours(adapter, module)
        except Exception as error:  # a failure of ours never stops an import
            on_failure(getattr(adapter, "__module__", "adapter"), error)


def after_import(name: str, adapter: Adapter) -> None:
    """Calls `adapter(module)` after each execution of module `name`'s code, at once if it is
    imported already. Adapters must bear being called again (importlib.reload). A name that ends in
    a dot stands for the modules below that package which are imported from now on."""
    known = _adapters.setdefault(name, [])
    if adapter in known:
        return
    known.append(adapter)
    if len(_adapters) == 1 and not _record.follow_imports(_adapters, _imported):
        on_failure("imports", RuntimeError("exec() is not the interpreter's: imports are not seen"))
    module = sys.modules.get(name)
    if module is not None and not _is_initializing(module):
        _run([adapter], module)


def _is_initializing(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def withdraw() -> None:
    """Calls no adapter any more."""
    _adapters.clear()
    _record.follow_imports(None, None)
