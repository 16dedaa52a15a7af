"""Calls a function right after a module was imported, without the module being able to tell."""

from __future__ import annotations

import sys

from crosscut import _record

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Adapter = Callable[[ModuleType], None]


class _Loader:
    """Stands in for a module's loader until the module runs, then gives the place back."""

    def __init__(self, loader: Any, adapters: Callable[[], list[Adapter]]) -> None:
        self._loader = loader
        self._adapters = adapters

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            spec.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._loader.exec_module(module)
        _run(self._adapters(), sys.modules.get(module.__name__, module))


class _Finder:
    """First on sys.meta_path. Knows nothing of how to find: asks those behind it."""

    def __init__(self) -> None:
        self.adapters: dict[str, list[Adapter]] = {}
        self._asking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in self._asking or not self._adapters_of(name):
            return None
        self._asking.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec = find(name, path, target)
                if spec is not None:
                    break
            else:
                return None
        finally:
            self._asking.discard(name)
        # Old-style loaders run in a way that cannot be joined; a namespace package has no code.
        if hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, lambda: self._adapters_of(name))
        return spec

    def _adapters_of(self, name: str) -> list[Adapter]:
        """Its own, and those of the packages that it is below."""
        found = list(self.adapters.get(name, ()))
        place = name.find(".")
        while place >= 0:
            found += self.adapters.get(name[:place + 1], ())
            place = name.find(".", place + 1)
        return found


_finder = _Finder()


def on_failure(name: str, error: BaseException) -> None:
    """Told of an adapter of module `name` that raised; whoever reports failures replaces it."""


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
    known = _finder.adapters.setdefault(name, [])
    if adapter in known:
        return
    known.append(adapter)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    module = sys.modules.get(name)
    if module is not None and not _is_initializing(module):
        _run([adapter], module)


def _is_initializing(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def withdraw() -> None:
    """Calls no adapter any more."""
    _finder.adapters.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)  # type: ignore[arg-type]
