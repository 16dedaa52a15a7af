"""Native code that the user names becomes a layer: modules, classes, objects, shared libraries.

Everything happens at the boundary (docs/boundary.md): the functions themselves stay what they are.
Each wrap() is a group of patches, which unwrap() gives up.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import crosscut
from crosscut import _hooks, _libraries, _source_state
from crosscut._names import did_you_mean

TYPE_CHECKING = False  # this runs at the start of recorded processes: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Names = Callable[[str], bool] | None

LAYERS = ("python", "framework", "runtime", "simulator", "data", "comm", "native", "idle")
_LIBRARY = re.compile(r"/|\.so(\.|$)")


class _Wrap:
    """What one call of wrap() asked for."""

    def __init__(self, thing: Any, layer: str, names: str | None, group: int) -> None:
        self.thing, self.layer = thing, layer
        self.group, self.foreign_group = group, group + 1
        self.target = thing  # the module, where `thing` is its name
        self.count = 0  # functions of extensions and of objects that were found
        self.watches = False  # libraries, for a module
        self.called = 0  # functions of shared libraries that were called
        self.libraries: set[str] = set()  # of these: their files' names
        self.words = _words(thing)
        self.names: Names = None
        if names is not None:
            if not isinstance(names, str):
                raise TypeError(f"wrap(): names is a regular expression, not {names!r}")
            try:
                matches = re.compile(names).fullmatch
            except re.error as error:
                raise ValueError(f"wrap(): names {names!r} is not a regular expression: {error}") \
                    from None
            self.names = lambda name: matches(name) is not None

    def chooses(self, name: str) -> bool:
        return self.names is None or self.names(name)


_wraps: list[_Wrap] = []
_followed: dict[str, _Wrap] = {}  # by the line that asked
_last_group = 0
_problems: dict[str, str] = {}  # what is wrong with lines that cannot be followed
_told = False
_foreign: list[_Wrap] = []  # those of shared libraries and of their functions


def is_library(name: str) -> bool:
    """Whether a name is a shared library's, not a module's: libm.so.6, ./simulator.so."""
    return _LIBRARY.search(name) is not None


def _words(thing: Any) -> str:
    if isinstance(thing, str):
        return thing
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None) or \
        getattr(thing, "_name", None)
    return str(name) if name else f"a {type(thing).__name__.removeprefix('FFILibrary_')}"


def _boundary() -> Any:
    """crosscut._pycalls, or None where it cannot be had; that is a line in the table `sources`."""
    try:
        return _source_state.boundary()
    except ImportError as error:
        crosscut._record.source_state("wrap", "", "missing", str(error))
        return None


def wrap(thing: Any, layer: str, names: str | None) -> int:
    """See `crosscut.wrap`."""
    if layer not in LAYERS:
        near = did_you_mean(layer, LAYERS)
        raise ValueError(f"wrap(): layer {layer!r} is not one of {', '.join(LAYERS)}{near}")
    wrapped = _new(thing, layer, names)
    if isinstance(thing, str) and not is_library(thing):
        __import__(thing)
        thing = sys.modules[thing]
    pycalls = _boundary()
    if pycalls is None:
        return 0
    _wraps.append(wrapped)
    try:
        if isinstance(thing, str):
            _watch(wrapped)  # ctypes or cffi may come later
        else:
            _patch(pycalls, wrapped, thing)
    except BaseException:
        _remove(pycalls, wrapped)
        raise
    tell()
    return wrapped.count + _libraries.count_functions(
        wrapped.target, wrapped.chooses, _is_cffi_library)


def _new(thing: Any, layer: str, names: str | None) -> _Wrap:
    global _last_group
    wrapped = _Wrap(thing, layer, names, _last_group + 1)
    _last_group = wrapped.foreign_group
    return wrapped


def _remove(pycalls: Any, wrapped: _Wrap) -> int:
    _wraps.remove(wrapped)
    patches = int(pycalls.remove_group(wrapped.group))
    if wrapped in _foreign:
        _foreign.remove(wrapped)
        pycalls.remove_group(wrapped.foreign_group)
        pycalls.forget_foreign()
    return patches + wrapped.called


def unwrap(thing: Any = None) -> int:
    """See `crosscut.unwrap`."""
    if not _wraps:
        return 0
    pycalls = _boundary()
    count = sum(_remove(pycalls, wrapped) for wrapped in list(_wraps)
                if thing is None or wrapped.thing is thing or
                _name_of(wrapped.thing) == _name_of(thing) is not None)
    tell()
    return count


def _name_of(thing: Any) -> str | None:
    """Modules may be named either way."""
    if _is_module(thing):
        return str(thing.__name__)
    return thing if isinstance(thing, str) else None


def follow(text: str) -> None:
    """CROSSCUT_WRAP: MODULE:LAYER or MODULE:LAYER:NAMES, one a line; a module is wrapped when the
    program imports it, a library when its functions are called. What is wrong is told in the table
    `sources`."""
    for line in filter(None, text.split("\n")):
        if line in _followed:
            _watch(_followed[line])
            continue
        name, _, rest = line.partition(":")
        layer, _, names = rest.partition(":")
        try:
            if layer and layer not in LAYERS:
                raise ValueError(f"layer {layer!r} is not one of {', '.join(LAYERS)}")
            wrapped = _new(name, layer or "native", names or None)
        except ValueError as error:
            _problems[line] = f"{line}: {error}"
            continue
        _wraps.append(wrapped)
        _followed[line] = wrapped
        _watch(wrapped)
    tell()


def _watch(wrapped: _Wrap) -> None:
    """Patches when what is to be wrapped has been imported."""
    def arrived(module: ModuleType) -> None:
        pycalls = _boundary()
        if pycalls is not None and wrapped in _wraps:
            _patch(pycalls, wrapped, wrapped.thing if is_library(wrapped.thing) else module)
            tell()

    if is_library(wrapped.thing):
        for module in _FOREIGN:
            _hooks.after_import(module, arrived)
        return
    _hooks.after_import(wrapped.thing, arrived)
    _hooks.after_import(f"{wrapped.thing}.",
                        lambda module: arrived(module) if _is_native(module) else None)
    parts = wrapped.thing.split(".")
    for i in range(1, len(parts)):  # MODULE.ATTRIBUTE, too
        _hooks.after_import(".".join(parts[:i]), _attribute_of(wrapped, parts[i:]))


def _attribute_of(wrapped: _Wrap, path: list[str]) -> Callable[[ModuleType], None]:
    """Patches what a module that was imported has there, unless it is a module of its own."""
    def arrived(module: ModuleType) -> None:
        thing: Any = module
        for name in path:
            thing = getattr(thing, name, None)
        pycalls = _boundary() if thing is not None and not isinstance(thing, type(sys)) else None
        if pycalls is not None and wrapped in _wraps:
            _patch(pycalls, wrapped, thing)
            tell()
    return arrived


def tell() -> None:
    """States what is wrapped, in the session that runs."""
    global _told

    def found(wrapped: _Wrap) -> str:
        if is_library(wrapped.words) or (wrapped in _foreign and not _is_module(wrapped.target)):
            return "called" if wrapped.called else "not called yet"
        found = [f"{wrapped.count} functions"] if wrapped.count else []
        found += [f"calls of {library}" for library in sorted(wrapped.libraries)]
        return " and ".join(found) or "nothing native found yet"

    said = [*_problems.values(),
            *(f"{wrapped.words} as {wrapped.layer}: {found(wrapped)}" for wrapped in _wraps)]
    if not said and not _told:
        return
    _told = True
    working = any(wrapped.count or wrapped.called for wrapped in _wraps)
    state = ("failed" if _problems else "on" if working else
             "missing" if _wraps else "off")
    crosscut._record.source_state("wrap", "", state, "; ".join(said))


# ---- Which pointers ----


def _patch(pycalls: Any, wrapped: _Wrap, thing: Any) -> None:
    wrapped.target = thing
    if isinstance(thing, str) or _is_foreign(thing):
        _patch_foreign(pycalls, wrapped)
        return
    if _is_module(thing):
        _patch_module(pycalls, wrapped, thing)
    elif isinstance(thing, type):
        _patch_class(pycalls, wrapped, thing)
    else:
        _patch_object(pycalls, wrapped, thing)
    wrapped.count = int(pycalls.count_group(wrapped.group))
    if _is_module(thing) and not _is_native(thing):
        _watch_foreign(pycalls, wrapped)


def _watch_foreign(pycalls: Any, wrapped: _Wrap) -> None:
    """For what a module may load by ctypes or cffi, now or later."""
    def arrived(_: ModuleType) -> None:
        if wrapped in _wraps:
            _patch_foreign(pycalls, wrapped)

    if not wrapped.watches:
        wrapped.watches = True
        for module in _FOREIGN:
            _hooks.after_import(module, arrived)


def _is_module(thing: Any) -> bool:
    return isinstance(thing, type(sys))


def _is_native(module: ModuleType) -> bool:
    return str(getattr(module, "__file__", "") or "").endswith(tuple(EXTENSION_SUFFIXES))


def _patch_module(pycalls: Any, wrapped: _Wrap, module: ModuleType) -> None:
    """The module and, of a package, the native modules below it."""
    below = [m for name, m in list(sys.modules.items())
             if name.startswith(f"{module.__name__}.") and m is not None and _is_native(m)]
    for native in (*below, module):
        pycalls.patch_module(native, wrapped.layer, wrapped.names, types=True, group=wrapped.group)


def _patch_class(pycalls: Any, wrapped: _Wrap, cls: type) -> None:
    """The class's own methods and those that it inherits from the native classes of a library."""
    for base in cls.__mro__:
        if base.__module__ != "builtins":
            pycalls.patch_type(base, wrapped.layer, wrapped.names, group=wrapped.group)


def _patch_object(pycalls: Any, wrapped: _Wrap, thing: Any) -> None:
    """A function or method, or all methods of the class of any other object."""
    function, prefix, name = _place(thing)
    patched = name and wrapped.chooses(name) and pycalls.patch_function(
        function, wrapped.layer, name, prefix, wrapped.group)
    if not patched and not isinstance(thing, type(_patch_object)):
        _patch_class(pycalls, wrapped, type(thing))


def _place(thing: Any) -> tuple[Any, str, str]:
    """A function as the module or class that defines it holds it, and what it is called there."""
    name, owner = str(getattr(thing, "__name__", "")), getattr(thing, "__self__", None)
    cls = owner if isinstance(owner, type) else type(owner)
    for base in cls.__mro__ if owner is not None else ():
        if name in vars(base):
            return vars(base)[name], f"{base.__module__}.{base.__qualname__}", name
    of = getattr(thing, "__objclass__", None)
    if of is not None:
        return thing, f"{of.__module__}.{of.__qualname__}", name
    return thing, str(getattr(thing, "__module__", None) or type(thing).__name__), name


# ---- Functions of shared libraries, called through ctypes or cffi ----

# The type of all functions, by the module that has it.
_FOREIGN = {"_ctypes": "CFuncPtr", "_cffi_backend": "_CDataBase"}


def _is_cffi_library(thing: Any) -> bool:
    """What ffi.dlopen gives, in line or out of line."""
    kind = type(thing)
    return kind.__module__ == "cffi.api" and kind.__name__.startswith("FFILibrary") or \
        kind.__module__ == "_cffi_backend" and kind.__name__ == "Lib"


def _is_foreign(thing: Any) -> bool:
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and isinstance(thing, (ctypes.CDLL, ctypes._CFuncPtr)):
        return True
    return _is_cffi_library(thing) or type(thing).__module__ == "_cffi_backend"


def _patch_foreign(pycalls: Any, wrapped: _Wrap) -> None:
    if wrapped not in _foreign:
        _foreign.append(wrapped)
    namer = crosscut._record.unseen(_name_function)
    for module, name in _FOREIGN.items():
        cls = getattr(sys.modules.get(module), name, None)
        if cls is not None:
            pycalls.patch_foreign(cls, namer, wrapped.foreign_group)


def _name_function(function: Any) -> tuple[str, int] | None:
    """What a function of a shared library is recorded as, asked when it is first called."""
    try:
        library, symbol = _boundary().symbol_at(_address(function))
        name = str(getattr(function, "__name__", ""))
        name = name if name.isidentifier() else symbol or "function"
        for wrapped in reversed(_foreign):
            if wrapped.chooses(name) and _belongs(function, name, library, wrapped.target):
                wrapped.called += 1
                file = os.path.basename(library) or "a library"
                if file not in wrapped.libraries:
                    wrapped.libraries.add(file)
                    tell()
                prefix = os.path.basename(library).partition(".so")[0] or "library"
                return f"{prefix}.{name}", LAYERS.index(wrapped.layer) + 1
    except Exception:  # asked in the middle of a call of the program's
        pass
    return None


def _address(function: Any) -> int:
    """Where the function's code is."""
    ctypes, cffi = sys.modules.get("ctypes"), sys.modules.get("_cffi_backend")
    if ctypes is not None and isinstance(function, ctypes._CFuncPtr):
        return int(ctypes.c_void_p.from_address(ctypes.addressof(function)).value or 0)
    if cffi is not None:
        return int(cffi.cast(cffi.new_primitive_type("uintptr_t"), function))
    return 0


def _belongs(function: Any, name: str, library: str, thing: Any) -> bool:
    if isinstance(thing, str):
        if "/" in thing:
            return os.path.realpath(library) == os.path.realpath(thing)
        base = os.path.basename(library)
        return base == thing or base.startswith(f"{thing}.")
    if function is thing:
        return True
    if _is_cffi_library(thing):
        return getattr(thing, name, None) is function
    keeps = list((getattr(function, "_objects", None) or {}).values())
    if not _is_module(thing):
        return any(kept is thing for kept in keeps)
    if _is_of(_caller(), thing.__name__):
        return True
    return any(held is function or any(held is kept for kept in keeps) or
               (_is_cffi_library(held) and getattr(held, name, None) is function)
               for held in _libraries.held_by(thing.__name__))


def _caller() -> str:
    """The module whose code makes the call that asks."""
    frame = sys._getframe()
    while frame.f_back is not None and _is_of(frame.f_globals.get("__name__"), "crosscut"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def _is_of(name: object, package: str) -> bool:
    return name == package or str(name).startswith(f"{package}.")
