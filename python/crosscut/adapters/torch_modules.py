"""What the calls of a program's nn.Modules are called in the recording.

A module is named when it is first called: the one that is called from outside by its class, what
it holds by the path to it, each with its class behind it: "nn.Module: Net.layers.0.fc (Linear)".
Names are kept by address, outside the modules: these stay as they are for copying and pickling.
Modules that have the same name are one in the recording. Where they are told apart, the second one
that is called from outside is "nn.Module: Net#2", and what it holds is "nn.Module: Net#2.fc
(Linear)".
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from crosscut import _record

PREFIX = "nn.Module: "
_MOST_APART = 1000  # of a class: a program may make a module for each of its steps

# Called with the name and the module where one is named; not a path that several share.
on_named: Callable[[str, Any], None] | None = None
_tells_apart = False
_one: Names | None = None


def tell_apart(wanted: bool) -> None:
    """Whether modules that are called from now on are told apart."""
    global _tells_apart
    if wanted != _tells_apart and _one is not None:
        _one.forget()
    _tells_apart = wanted


def _named_parts(module: Any) -> Iterator[tuple[str, Any]]:
    """As named_modules() gives them, but the module itself; none of the program's code runs."""
    seen, waiting = {id(module)}, [("", module)]
    while waiting:
        path, part = waiting.pop()
        if path:
            yield path, part
        held = []
        for name, inner in object.__getattribute__(part, "__dict__").get("_modules", {}).items():
            if inner is not None and id(inner) not in seen:
                seen.add(id(inner))
                held.append((f"{path}.{name}" if path else name, inner))
        waiting += reversed(held)


class Names:
    """Tells the recorder the names of modules. Used under the GIL. One for a process: a thread may
    still be in what C calls when modules are recorded no more."""

    def __init__(self, library: ctypes.CDLL) -> None:
        global _one
        _one = self
        self._library = library
        self._known: dict[int, weakref.ref[Any]] = {}
        self._roots: dict[str, int] = {}  # how many of a class were called from outside
        library.crosscut_modules_enter.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                                                   ctypes.c_size_t]
        library.crosscut_modules_enter.restype = ctypes.c_uint32
        library.crosscut_modules_forget.argtypes = [ctypes.c_void_p]
        self._namer = ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.py_object)(
            functools.partial(_record.ours, self._name))
        library.crosscut_modules_namer.argtypes = [ctypes.c_void_p]

    def install(self) -> None:
        """Modules are recorded from now on."""
        self._library.crosscut_modules_namer(ctypes.cast(self._namer, ctypes.c_void_p))

    def remove(self) -> None:
        """Modules are recorded no more."""
        self._library.crosscut_modules_namer(None)
        self.forget()

    def forget(self) -> None:
        """Modules are named anew when they are called next."""
        for address in list(self._known):
            self._forget(address)
        self._roots.clear()

    def _name(self, module: Any) -> int:
        """The name id of a module that is called for the first time; 0 where it cannot be named."""
        try:
            root = type(module).__name__
            if _tells_apart:
                number = self._roots[root] = min(self._roots.get(root, 0) + 1, _MOST_APART)
                root += f"#{number}" if number > 1 else ""
            name = self._enter(module, root)
            for path, part in _named_parts(module):
                if id(part) not in self._known:
                    self._enter(part, f"{root}.{path}")
            return name
        except Exception:  # a module of another make
            return 0

    def _enter(self, module: Any, path: str) -> int:
        address = id(module)
        kind = type(module).__name__
        inner = path.partition("#")[0] != kind
        name = f"{PREFIX}{path}" + (f" ({kind})" if inner else "")
        if on_named is not None:
            on_named(name, module)
        text = name.encode(errors="replace")
        self._known[address] = weakref.ref(
            module, _record.unseen(lambda _: self._forget(address)))
        return int(self._library.crosscut_modules_enter(address, text, len(text)))

    def _forget(self, address: int) -> None:
        self._library.crosscut_modules_forget(address)
        self._known.pop(address, None)
