"""What an operation makes of the function it decorates."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


class _Slices:
    """Drives a coroutine or generator with the operation open only while it runs: what happens
    between two slices belongs to others. An iterator with send, throw and close, and awaitable."""

    __slots__ = ("_inner", "_operation")

    def __init__(self, operation: Any, inner: Any) -> None:
        self._operation = operation
        self._inner = inner

    def __iter__(self) -> _Slices:
        return self

    __await__ = __iter__

    def __next__(self) -> Any:
        with self._operation:
            return next(self._inner)

    def send(self, value: Any) -> Any:
        with self._operation:
            return self._inner.send(value)

    def throw(self, *error: Any) -> Any:
        with self._operation:
            return self._inner.throw(*error)

    def close(self) -> None:
        with self._operation:
            self._inner.close()


def _wrap_coroutine(operation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await _Slices(operation, function(*args, **kwargs).__await__())

    return wrapper


def _wrap_generator(operation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (yield from _Slices(operation, function(*args, **kwargs)))

    return wrapper


def _wrap_async_generator(operation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        pending = inner.__anext__()
        try:
            while True:
                try:
                    item = await _Slices(operation, pending.__await__())
                except StopAsyncIteration:
                    return
                try:
                    sent = yield item
                except GeneratorExit:
                    raise
                except BaseException as error:
                    pending = inner.athrow(error)
                else:
                    pending = inner.asend(sent)
        finally:
            await inner.aclose()

    return wrapper


def _wrap_function(operation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with operation:
            return function(*args, **kwargs)

    return wrapper


def decorate(operation: Any, function: Any) -> Any:
    """`function` with `operation` around it; static, class and bound methods keep their kind."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(operation, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"operation {operation.name!r} decorates functions, not {function!r}")
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator(operation, function)
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine(operation, function)
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(operation, function)
    return _wrap_function(operation, function)
