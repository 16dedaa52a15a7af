"""The little that must be known of an XSpace where it is collected."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator

_ENVIRONMENT = b"Task Environment"
_SEED = 0xC70F6907  # of libstdc++'s std::hash<std::thread::id>


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Of a protobuf message: number, value of a varint, bytes of what has a length."""
    at, empty = 0, memoryview(b"")
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value, empty
        elif tag & 7 == 2:
            size, at = _varint(data, at)
            yield tag >> 3, 0, data[at:at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[tag & 7]


def _profile_start(plane: memoryview) -> int:
    """profile_start_time of the plane `Task Environment`; 0 for any other plane."""
    names: dict[int, bytes] = {}
    values: dict[int, int] = {}
    environment = False
    for number, _, body in _fields(plane):
        if number == 2:
            environment = bytes(body) == _ENVIRONMENT
            if not environment:
                return 0
        elif number == 5:
            for key, _, metadata in _fields(body):
                if key == 2:
                    parts = {k: (v, b) for k, v, b in _fields(metadata)}
                    names[parts[1][0]] = bytes(parts[2][1])
        elif number == 6:
            stat = {k: v for k, v, _ in _fields(body)}
            values[stat.get(1, 0)] = stat.get(3, stat.get(4, 0))
    wanted = [i for i, name in names.items() if name == b"profile_start_time"]
    return values.get(wanted[0], 0) if environment and wanted else 0


def start_time(data: bytes) -> int:
    """Where the times of a normalised XSpace count from: ns of CLOCK_REALTIME."""
    try:
        for number, _, body in _fields(memoryview(data)):
            start = _profile_start(body) if number == 1 else 0
            if start:
                return start
    except (IndexError, KeyError):
        pass
    return time.time_ns()


def _hash() -> ctypes._FuncPointer | None:
    try:
        function = ctypes.CDLL("libstdc++.so.6")._ZSt11_Hash_bytesPKvmm
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
    return function


def python_lines() -> list[tuple[int, int]]:
    """(thread id, id of its line) of Python's threads: TensorFlow and JAX call a thread's line by
    the hash of its std::thread::id, which says nothing to anybody outside the process."""
    threading, function = sys.modules.get("threading"), _hash()
    if threading is None or function is None:
        return []
    lines = []
    for ident, thread in list(threading._active.items()):
        word = ctypes.c_uint64(ident)
        number = function(ctypes.byref(word), 8, _SEED)
        native = getattr(thread, "native_id", None)
        if native:
            lines.append((native, ctypes.c_int64(number).value))
    return lines
