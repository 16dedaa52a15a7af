"""Requests of asyncio: a connection of asyncio.start_server() each, by its handler. And what is a
request where nothing else repeats: tasks of asyncio's own loops by their coroutine, calls of thread
pools by their function."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import requests

_ours = _patches.Patches()
_calls = requests.OnThread(measured=False)


def install_loops(module: ModuleType) -> None:
    """Called with asyncio.base_events after its import."""
    make = vars(module.BaseEventLoop).get("create_task")
    done = vars(sys.modules["asyncio.futures"].Future).get("done")
    if make is None or type(done).__name__ != "method_descriptor":  # asyncio without its C
        return
    _record.follow_requests(done)
    _ours.on_undo(lambda: _record.follow_requests(None))
    _ours.replace(module.BaseEventLoop, "create_task",
                  _record.around(make, before=_record.task_begins, after=_record.task_made))


def install_streams(module: ModuleType) -> None:
    """Called with asyncio.streams after its import: a handler is a task that is made here."""
    made = vars(module.StreamReaderProtocol).get("connection_made")
    if made is not None:
        _ours.replace(module.StreamReaderProtocol, "connection_made",
                      requests.around(made, before=_connected, after=_handled))


def _connected(protocol: Any, *_: Any, **__: Any) -> bool | None:
    if getattr(protocol, "_client_connected_cb", None) is None:
        return None  # a client's
    _record.next_task("request")
    return True


def _handled(*_: Any) -> None:
    _record.next_task("")


def install_pools(module: ModuleType) -> None:
    """Called with concurrent.futures.thread after its import."""
    run = vars(module._WorkItem).get("run")
    if run is not None:
        _ours.replace(module._WorkItem, "run",
                      requests.around(run, before=_begins, after=_calls.ends))


def _begins(item: Any, *_: Any, **__: Any) -> bool | None:
    if item.future._state == "CANCELLED":
        return None  # it is not called
    function = item.fn if hasattr(item, "fn") else item.task[0]  # item.task: from 3.14 on
    _calls.begins(item, requests.name(requests.qualified_name(function), task=True))
    return True


withdraw = _ours.undo
