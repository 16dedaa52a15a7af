"""Requests of the standard library's servers that give each connection a thread, or none: of
http.server by method and path, of other socketserver handlers a connection each.

What is called by HTTP begins where its first line has come and ends where it is answered: waiting
for the next request of a connection is none's.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import requests

_ours = _patches.Patches()
_requests = requests.OnThread(measured=True)
_http: Any = None  # the handlers of HTTP, where there are any


def _around(owner: Any, name: str, **how: Any) -> None:
    function = vars(owner).get(name)
    if function is not None:
        _ours.replace(owner, name, requests.around(function, **how))


def install_socketserver(module: ModuleType) -> None:
    """Called with socketserver after its import."""
    _around(module.BaseServer, "finish_request", before=_connected,
            after=_requests.ends)


def _is_http(server: Any) -> bool:
    handler = server.RequestHandlerClass
    return _http is not None and isinstance(handler, type) and issubclass(handler, _http)


def _connected(server: Any, *_: Any, **__: Any) -> bool | None:
    if _is_http(server):
        return None
    handler = requests.qualified_name(server.RequestHandlerClass)
    _requests.begins(server, requests.name(handler))
    return True


def install_http(module: ModuleType) -> None:
    """Called with http.server after its import."""
    global _http
    _http = module.BaseHTTPRequestHandler
    _around(_http, "parse_request", before=_parsing, after=_parsed)
    _around(_http, "handle_one_request", after=_answered)
    # Handlers with a loop of their own (wsgiref's) have answered where they end.
    _around(module.socketserver.StreamRequestHandler, "finish", after=_answered)


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


withdraw = _ours.undo
