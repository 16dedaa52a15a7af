"""What stands in the place of other people's functions, and how it goes again: the program may put
something of its own over it at any time, or keep it elsewhere. All of it under the GIL."""

from __future__ import annotations

from _weakref import ref

from crosscut import _record

TYPE_CHECKING = False  # this runs at the start of every recorded process: typing is too slow
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_NONE: Any = object()


class Patch:
    """`ours` for what `owner` has itself as `name`: a dictionary's item, else an attribute. A
    function of Python's that stands there stays there, and its calls go through ours (`led`), which
    it keeps. Of what else there is, ours takes the place; it is added where a class only inherits
    something."""

    __slots__ = ("_owner", "_name", "_ours", "_old", "led")

    def __init__(self, owner: Any, name: Any, ours: Any) -> None:
        self._owner, self._name, self._ours = owner, name, ours
        self._old = self._own()
        led = () if self._old is _NONE else [*map(_record.lead_calls, _arounds_in(ours))]
        self.led = bool(led) and all(led)
        if not self.led:
            self._put(ours)

    def _own(self) -> Any:
        owner = self._owner if isinstance(self._owner, dict) else vars(self._owner)
        return owner.get(self._name, _NONE)

    def _put(self, value: Any) -> None:
        if isinstance(self._owner, dict):
            self._owner[self._name] = value
        elif value is _NONE:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, value)

    def undo(self) -> None:
        """Puts back what was there if ours still stands. Wherever else ours is, it passes calls
        straight on from now on."""
        for around in _arounds_in(self._ours):
            _take_back(around)
        if not self.led and self._own() is self._ours:
            self._put(self._old)


def _take_back(around: Any) -> None:
    _record.around.retire(around)
    _record.unlead_calls(around)


def _arounds_in(ours: Any) -> Iterator[Any]:
    if isinstance(ours, property):
        ours = (ours.fget, ours.fset, ours.fdel)
    for one in ours if isinstance(ours, tuple) else (ours,):
        one = one.__func__ if isinstance(one, (classmethod, staticmethod)) else one
        if type(one) is _record.around:
            yield one


class Patches:
    """Several, undone together. They keep no function that is led, nor its class: the program may
    make any number of them."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._led: set[ref[Any]] = set()

    def __bool__(self) -> bool:
        return bool(self._undo or self._led)

    def replace(self, owner: Any, name: Any, ours: Any) -> None:
        """Has `ours` stand for what `owner` has as `name`, until undo()."""
        patch = Patch(owner, name, ours)
        if patch.led:
            self._led.update(ref(around, self._led.discard) for around in _arounds_in(ours))
        else:
            self._undo.append(patch.undo)

    def on_undo(self, undo: Callable[[], Any]) -> None:
        """Has undo() call it."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Takes everything back, the last first. What fails of it keeps no other from it."""
        changes, self._undo = self._undo, []  # empty first: calls in flight put nothing back in
        led, self._led = self._led, set()
        problem = None
        for undo in reversed(changes):
            try:
                undo()
            except Exception as error:
                problem = problem or error
        for around in filter(None, [reference() for reference in led]):
            _take_back(around)
        if problem is not None:
            raise problem
