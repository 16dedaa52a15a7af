"""What the adapters of servers share: requests that one thread handles, and their names."""

from __future__ import annotations

import contextvars
import functools
import re
import sys
import threading
import time
import types
from typing import Any

from crosscut import _record

_OVERHEAD = 9  # the number of the layer
# More share a name: clients choose paths and methods, and what a name costs stays.
_MOST_PATHS = 100  # of a method
_MOST_METHODS = 20
_MOST_NAMES = 4000
_ID = re.compile(r"[0-9]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{16,}")

_names: dict[tuple[str, bool], int] = {}
_paths: dict[str, set[str]] = {}


def name(text: str, task: bool = False) -> int:
    """The name of requests of a route or handler; `task`: of a function that is called again."""
    known = _names.get((text, task))
    if known is None:
        if len(_names) >= _MOST_NAMES:
            text = "(other requests)"
        known = _names[text, task] = _record.request_name(text, task)
    return known


def route(method: str, path: str) -> str:
    """The route of a request of which only the path is known: "GET /items/{}". Numbers and the like
    are no part of it."""
    segments = path.partition("?")[0].split("/")
    text = "/".join("{}" if _ID.fullmatch(segment) else segment for segment in segments)
    known = _paths.get(method)
    if known is None:
        if len(_paths) >= _MOST_METHODS:
            return "(other methods)"
        known = _paths.setdefault(method, set())
    if text not in known:
        if len(known) >= _MOST_PATHS:
            return f"{method} (other paths)"
        known.add(text)
    return f"{method} {text}"


def around(function: Any, **how: Any) -> Any:
    """What is to stand around a function for the sake of requests: its own time is Crosscut's."""
    own = _record.span("following requests", _OVERHEAD)
    return _record.around(function, own=own, **how)


def qualified_name(function: Any) -> str:
    """Of what is called: the function in a partial, and in what runs it in a context. The program's
    own objects are not asked."""
    for _ in range(8):
        if type(function) is not functools.partial:
            break
        inner = function.func
        in_context = (type(inner) is types.BuiltinMethodType and function.args
                      and type(inner.__self__) is contextvars.Context)
        function = function.args[0] if in_context else inner
    if type(function) is types.MethodType:
        function = function.__func__
    if type(function) in (types.FunctionType, types.BuiltinFunctionType):
        return function.__qualname__
    cls = function if isinstance(function, type) else type(function)
    return str(type.__dict__["__qualname__"].__get__(cls))


def have_greenlets() -> bool:
    """Whether a thread may be many that take turns: what it ran is then no request's own."""
    return "gevent" in sys.modules or "eventlet" in sys.modules


class OnThread:
    """Requests each of which a thread handles from its begin to its end, one of a handler at a
    time. It runs while the thread has a processor, if that is `measured`: microseconds each."""

    def __init__(self, measured: bool) -> None:
        self._measured = measured
        # By thread and handler, which may be a server that many threads share: number, name, since.
        self._open: dict[tuple[int, int], tuple[int, int, int]] = {}

    def begins(self, handler: Any, name: int) -> None:
        number = _record.request_begin(name)
        if number:
            key = threading.get_ident(), id(handler)
            measured = self._measured and not have_greenlets()
            self._open[key] = number, name, time.thread_time_ns() if measured else -1

    def is_open(self, handler: Any) -> bool:
        return (threading.get_ident(), id(handler)) in self._open

    def ends(self, handler: Any, *_: Any, name: int = 0) -> None:
        """By `name`, where it has another by now."""
        number, known, since = self._open.pop(
            (threading.get_ident(), id(handler)), (0, 0, 0))
        if number:
            ran = time.thread_time_ns() - since if since >= 0 else -1
            _record.request_end(name or known, number, ran)
