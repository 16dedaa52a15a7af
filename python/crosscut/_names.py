"""Names that somebody may have meant who wrote another one: for messages. The search is the one of
the command line (src/base/nearest.h); it is loaded when there is something to say."""

from __future__ import annotations

TYPE_CHECKING = False  # this is imported by every session: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ParamSpec, TypeVar

    Given = ParamSpec("Given")
    Returned = TypeVar("Returned")


def did_you_mean(wrong: str, names: Iterable[str]) -> str:
    """"; did you mean overlap or overhead?", or "" where no name is near."""
    try:
        from crosscut import _read
    except ImportError:  # a Python without the reading half
        return ""
    return _read.did_you_mean(wrong, list(names))


def unknown(what: str, wrong: str, names: Iterable[str]) -> str:
    """Says that `wrong` is none of `names`, and which it may be. `what`: a noun ("format")."""
    known = list(names)
    try:
        from crosscut import _read
    except ImportError:
        return f"unknown {what} {wrong}; the {what}s are {', '.join(known)}"
    return _read.unknown_name(what, wrong, known)


def keywords_named(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """`function`, whose TypeError for a keyword that it does not have says which one is near."""
    code, name = function.__code__, function.__qualname__.removesuffix(".__init__")
    known = set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])

    def checked(*args: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in known:
                near = did_you_mean(keyword, sorted(known - {"self"}))
                raise TypeError(f"{name}() got an unexpected keyword argument "
                                f"{keyword!r}{near}")
        return function(*args, **keywords)

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(checked, attribute, getattr(function, attribute))
    checked.__wrapped__ = function  # type: ignore[attr-defined]  # for inspect.signature
    return checked  # type: ignore[return-value]
