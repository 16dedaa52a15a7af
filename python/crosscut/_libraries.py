"""What shared libraries export, and which of them a module holds."""

from __future__ import annotations

import os
import struct
import sys

TYPE_CHECKING = False  # this runs at the start of recorded processes: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

_DYNSYM, _FUNCTIONS = 11, (2, 10)  # the type of a section; of symbols: functions, indirect ones


def count_functions(thing: Any, chooses: Callable[[str], bool],
                    is_cffi: Callable[[Any], bool]) -> int:
    """How many functions that `chooses` takes a library of ctypes or cffi has, one of their
    functions, the libraries that a module holds, or the loaded ones of a name."""
    if isinstance(thing, type(sys)):
        return sum(count_functions(held, chooses, is_cffi) for held in held_by(thing.__name__))
    if is_cffi(thing):
        names = {name for name in dir(thing) if callable(getattr(thing, name, None))}
    elif isinstance(thing, str):
        names = {name for path in _loaded(thing) for name in exported(path)}
    else:
        ctypes = sys.modules.get("ctypes")
        if ctypes is None:
            return 0
        if isinstance(thing, ctypes._CFuncPtr):
            name = str(getattr(thing, "__name__", ""))
            return int(chooses(name))
        if not isinstance(thing, ctypes.CDLL):
            return 0
        names = exported(_path_of(ctypes, thing))
    return sum(map(chooses, names))


def held_by(module: str) -> Iterator[Any]:
    """The libraries, and their functions, that a module, the modules below it and their classes
    have as attributes. Of all the values there none is asked for anything: a proxy would answer
    with an exception, a lazy module by being loaded."""
    ctypes = sys.modules.get("ctypes")
    kinds = () if ctypes is None else (ctypes.CDLL, ctypes._CFuncPtr)
    for name, below in list(sys.modules.items()):
        if below is None or (name != module and not name.startswith(f"{module}.")):
            continue
        for value in _values(below):
            own = issubclass(type(value), type) and _own(value).get("__module__") == name
            for held in _values(value) if own else (value,):
                kind = type(held)
                if kind.__module__ in ("cffi.api", "_cffi_backend") or issubclass(kind, kinds):
                    yield held


def _own(thing: Any) -> Mapping[str, Any]:
    """What vars() gives, {} where it gives nothing: no code of the thing's runs."""
    try:
        found: Mapping[str, Any] = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return found


def _values(thing: Any) -> list[Any]:
    return list(_own(thing).values())


def _path_of(ctypes: Any, library: Any) -> str:
    """The file of a ctypes.CDLL: its handle is a struct link_map, the path its second field."""
    name = ctypes.c_char_p.from_address(library._handle + ctypes.sizeof(ctypes.c_void_p)).value
    return os.fsdecode(name or b"")


def _loaded(name: str) -> set[str]:
    """The files of the process's shared libraries with that path, name or name without version."""
    with open("/proc/self/maps", "rb") as maps:
        paths = {os.fsdecode(line.split(None, 5)[5].rstrip(b"\n"))
                 for line in maps if line.count(b"/")}
    if "/" in name:
        return {path for path in paths if path == os.path.realpath(name)}
    return {path for path in paths
            if os.path.basename(path) == name or os.path.basename(path).startswith(f"{name}.")}


def exported(path: str) -> set[str]:
    """The functions in the dynamic symbol table of an ELF file; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if header[:6] != b"\x7fELF\x02\x01":  # of 64 bits, little-endian
                return set()
            at, = struct.unpack_from("<Q", header, 40)
            size, count = struct.unpack_from("<HH", header, 58)
            file.seek(at)
            table = file.read(size * count)
            sections = [struct.unpack_from("<IIQQQQIIQQ", table, size * i) for i in range(count)]
            names: set[str] = set()
            for section in sections:
                if section[1] != _DYNSYM:
                    continue
                texts = sections[section[6]]
                file.seek(texts[4])
                strings = file.read(texts[5])
                file.seek(section[4])
                for name, info, _, index, _, _ in struct.iter_unpack(
                        "<IBBHQQ", file.read(section[5])):
                    if info & 15 in _FUNCTIONS and index != 0:
                        names.add(os.fsdecode(strings[name:strings.index(0, name)]))
            return names
    except (OSError, struct.error, IndexError, ValueError):
        return set()
