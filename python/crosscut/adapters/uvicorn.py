"""Requests of HTTP that uvicorn handles, for whatever ASGI application: from where it calls the
application to where the response is handed to the connection, or the client is gone. By route, as
Starlette and FastAPI tell it. What runs is the task of the request, and those that it makes, on
asyncio's own loops."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import requests

_ours = _patches.Patches()
_open: dict[int, tuple[int, Any]] = {}  # by protocol: a connection handles one at a time


def install(module: ModuleType) -> None:
    """Called with uvicorn.protocols.http.*_impl after its import."""
    cycle = module.RequestResponseCycle
    protocol = getattr(module, "HttpToolsProtocol", None) or module.H11Protocol
    for owner, name, how in ((cycle, "run_asgi", {"before": _begins}),
                             (protocol, "on_response_complete", {"before": _answered}),
                             (protocol, "connection_lost", {"before": _lost})):
        _ours.replace(owner, name, requests.around(vars(owner)[name], **how))


def _begins(cycle: Any, *_: Any) -> bool:
    _record.next_task("beside")
    protocol = cycle.on_response.__self__
    _end(protocol, -1)
    number = _record.request_begin(requests.name("HTTP"))
    if number:
        _open[id(protocol)] = number, cycle.scope
    return True


def _answered(protocol: Any, *_: Any) -> bool:
    _end(protocol, _record.request_ran())
    return True


def _lost(protocol: Any, *_: Any) -> bool:
    _end(protocol, -1)
    return True


def _end(protocol: Any, running_ns: int) -> None:
    number, scope = _open.pop(id(protocol), (0, None))
    if number:
        _record.request_end(requests.name(_route(scope)), number, running_ns)


def _route(scope: Any) -> str:
    """The pattern of the path, where the application told it."""
    method, path = str(scope.get("method", "")), str(scope.get("path", ""))
    pattern = getattr(scope.get("route"), "path", None)
    if type(pattern) is str:
        return f"{method} {_mounted(scope, pattern)}{pattern}"
    return requests.route(method, path)


def _mounted(scope: Any, pattern: str) -> str:
    """What the part of the application that has the route is mounted at. Only the path of that is
    told, and the values of its parameters, which stand for their names again."""
    at = str(scope.get("root_path", "")).removeprefix(str(scope.get("app_root_path", "")))
    params = dict(scope.get("path_params", ()))
    values = {str(value): f"{{{name}}}" for name, value in params.items()
              if type(value) in (str, int) and f"{{{name}" not in pattern}
    return "/".join(values.get(segment, segment) for segment in at.split("/"))


withdraw = _ours.undo
