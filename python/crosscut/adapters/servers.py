"""Requests of the standard library's servers that give each connection a thread, or none: of HTTP
by method and path, of other handlers of socketserver's a connection each.

All of them are handlers' work, whatever the server puts between a connection and its handler. What
is called by HTTP begins where its first line has come and ends where it is answered: waiting for
the next request of a connection is none's.
"""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import requests

_ours = _patches.Patches()
_connections = requests.OnThread(measured=True)
_requests = requests.OnThread(measured=True)
# The classes of http.server's handlers: a module that is run (python -m http.server) is another one
# than the same module imported, and green threads come with copies.
_http: weakref.WeakKeyDictionary[Any, object] = weakref.WeakKeyDictionary()


def install(module: ModuleType) -> None:
    """Called with socketserver after its import."""
    _around(module.BaseRequestHandler, "__init__", before=_connected, after=_connections.ends)
    # Handlers with a loop of their own (wsgiref's) have answered where they end.
    _around(module.StreamRequestHandler, "finish", after=_answered)
    for cls in type.__subclasses__(module.StreamRequestHandler):
        _is_http(cls)  # those that handle connections already


def _around(owner: Any, name: str, **how: Any) -> None:
    function = vars(owner).get(name)
    if function is not None:
        _ours.replace(owner, name, requests.around(function, **how))


def _is_http(cls: Any) -> bool:
    """Whether these are handlers of HTTP, whose requests are followed from then on."""
    for base in type.mro(cls):
        if requests.qualified_name(base) == "BaseHTTPRequestHandler":
            mine = object()
            if _http.setdefault(base, mine) is mine:
                _around(base, "parse_request", before=_parsing, after=_parsed)
                _around(base, "handle_one_request", after=_answered)
            return True
    return False


def _connected(handler: Any, *_: Any, **__: Any) -> bool | None:
    cls = type(handler)
    if _is_http(cls):
        return None
    _connections.begins(handler, requests.name(requests.qualified_name(cls)))
    return True


def _parsing(handler: Any, *_: Any) -> bool:
    _answered(handler)
    _requests.begins(handler, requests.name("HTTP"))
    return True


def _parsed(handler: Any, well: Any, failed: bool) -> None:
    if failed:
        _answered(handler)


def _answered(handler: Any, *_: Any) -> None:
    if not _requests.is_open(handler):
        return
    method, path = getattr(handler, "command", None), getattr(handler, "path", None)
    known = type(method) is str and type(path) is str
    text = requests.route(method, path) if known else "(no request of HTTP)"
    _requests.ends(handler, name=requests.name(text))


def withdraw() -> None:
    _ours.undo()
    _http.clear()
