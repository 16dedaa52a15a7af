"""Requests of gRPC servers, by method: from where a call has come to where its status is sent."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import requests

_ours = _patches.Patches()
_open: dict[int, list[int]] = {}  # by event of a call: number, name, what its thread had run


def install_threads(module: ModuleType) -> None:
    """Called with grpc._server after its import: a thread of the pool handles a call."""
    for name, how in (("_handle_call", {"before": _comes, "after": _handed_over}),
                      ("_unary_response_in_pool", {"before": _runs, "after": _answered}),
                      ("_stream_response_in_pool", {"before": _runs, "after": _answered})):
        function = vars(module).get(name)
        if function is not None:
            _ours.replace(module, name, requests.around(function, **how))


def _comes(event: Any, method: Any, *_: Any, **__: Any) -> bool | None:
    text = method.name() or event.call_details.method
    if not event.success or not text:
        return None
    name = requests.name(text.decode(errors="replace") if isinstance(text, bytes) else str(text))
    number = _record.request_begin(name)
    if number:
        _open[id(event)] = [number, name, 0]
    return True


def _handed_over(event: Any, result: Any, failed: bool) -> None:
    if failed or result[1] is None:  # it was rejected
        _answered(event)


def _runs(event: Any, *_: Any, **__: Any) -> bool:
    known = _open.get(id(event))
    if known is not None:
        known[2] = time.thread_time_ns()
    return True


def _answered(event: Any, *_: Any) -> None:
    number, name, since = _open.pop(id(event), (0, 0, 0))
    if number:
        _record.request_end(name, number, time.thread_time_ns() - since if since else -1)


def install_handlers(module: ModuleType) -> None:
    """Called with grpc._utilities after its import: in grpc.aio each call has a task, which looks
    for its handler here."""
    service = vars(module.DictionaryGenericHandler).get("service")
    if service is not None:
        _ours.replace(module.DictionaryGenericHandler, "service",
                      requests.around(service, before=_is_found))


def _is_found(_: Any, details: Any, *__: Any) -> bool:
    method = details.method
    text = method.decode(errors="replace") if isinstance(method, bytes) else str(method)
    _record.task_is(requests.name(text))
    return True


withdraw = _ours.undo
