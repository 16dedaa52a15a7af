"""What the adapters share: automatic operations, patches that can be undone, steps."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from crosscut import _record

_LIBRARY = pathlib.Path(os.path.abspath(__file__)).parent.parent / "lib" / "libcrosscut_torch.so"
_LOST_AFTER = 16  # steps of another, none of the primary: the other becomes primary
# Steps of an environment without an update that are a step. One is often too short for that: what
# a processor has learned of the hooks takes it milliseconds to unlearn when they are withdrawn.
_ROLLOUT = 8


class Steps:
    """Finds the program's steps from what updates its model: an optimizer, a train function.

    An agent may gather experience for long before it learns from it. Such a rollout is no part of
    the update behind it: every few steps of the environment are a step of a kind of its own.
    """

    _latest: Steps | None = None  # what has found the process's last update

    def __init__(self) -> None:
        self._primary: weakref.ref[Any] | None = None
        self._others = 0      # steps of others since the primary's last
        self._next: int | None = None  # number that our next step should get; None: any
        self._asking = True   # False once the program declares its steps itself
        self._thread = 0      # that made the last update
        self._simulated = 0   # steps of the environment since then

    def passed(self, updater: Any, _: Any = None, failed: bool = False) -> None:
        """`updater` has made an update."""
        if not self._asking or failed:
            return
        primary = self._primary() if self._primary is not None else None
        if primary is not updater:
            self._others += 1
            if primary is not None and self._others < _LOST_AFTER:
                return
            self._primary = weakref.ref(updater)
        self._others = 0
        self.edge()

    def edge(self) -> None:
        """A step ends here with an update, and the next begins."""
        Steps._latest = self
        self._thread = threading.get_ident()
        self._simulated = 0
        self._begin(_record.found_step)

    @staticmethod
    def simulated(_: Any, __: Any, failed: bool) -> None:
        """An environment, or a vector of them, has made a step."""
        self = Steps._latest
        if failed or self is None or self._thread != threading.get_ident():
            return
        self._simulated += 1
        if self._simulated == _ROLLOUT:
            self._simulated = 0
            self._begin(_record.found_rollout_step)

    def _begin(self, found: Callable[[], int | None]) -> None:
        if not self._asking:
            return
        number = found()
        if number is None:
            self._asking = False
        elif _record.active():
            # 0: the first of another session
            self._asking = self._next is None or number in (self._next, 0)
            self._next = number + 1

    def declared(self) -> None:
        """The program says itself where its steps are."""
        self._asking = False


def _forget_learner() -> None:
    """A forked child learns nothing yet: an environment that it runs makes no steps of it."""
    Steps._latest = None


os.register_at_fork(after_in_child=_record.unseen(_forget_learner))


def with_subclasses(cls: type) -> list[type]:
    """The class and all that are below it now."""
    found, index = [cls], 0
    known = {cls}
    while index < len(found):
        for sub in type.__subclasses__(found[index]):
            if sub not in known:
                known.add(sub)
                found.append(sub)
        index += 1
    return found


class Operations:
    """Patches behind automatic operations. All of them under the GIL."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(_LIBRARY))
        for name in ("crosscut_operations_on", "crosscut_operations_thunk"):
            getattr(self.library, name).restype = ctypes.c_void_p
        for name in ("crosscut_operations_patch", "crosscut_operations_unpatch"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        self.on = ctypes.c_int32.from_address(self.library.crosscut_operations_on())
        # The address of the function that gives this thread's `inside`.
        self.inside = int(ctypes.cast(self.library.crosscut_operations_inside,
                                      ctypes.c_void_p).value or 0)
        self.steps = Steps()
        self._undo: list[Callable[[], None]] = []

    def add_source(self, version: str) -> None:
        """Registers the source "operations", once per process. RuntimeError where it cannot be."""
        if self.library.crosscut_operations_add(version.encode()) != 0:
            raise RuntimeError(_record.error())

    def undo(self) -> None:
        """Puts back what was replaced."""
        changes, self._undo = self._undo, []  # empty first: calls in flight put nothing back in
        for undo in reversed(changes):
            undo()

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Has undo() call it."""
        self._undo.append(undo)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Sets owner.name to `value`, to be set back by undo()."""
        own = vars(owner)
        if name in own:
            old = own[name]
            self._undo.append(lambda: setattr(owner, name, old))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def around(self, function: Callable[..., Any], operation: str = "", **how: Any) -> Any:
        """What stands for `function` in its place: a call of it is the operation while they are
        recorded. `how`: see _record.around."""
        named = _record.found_operation(operation) if operation else None
        return _record.around(function, named, ctypes.addressof(self.on), **how)

    def bracket(self, operation: str, function: Callable[..., Any],
                after: Callable[..., None] | None = None) -> Any:
        """`function` as an operation that calls in it belong to; `after` is told of its end."""
        return self.around(function, operation, inside=self.inside, nests=True, after=after)

    def inferring(self) -> dict[str, Any]:
        """What makes around() take the calls of modules in a function for `inference`, not for
        `forward`."""
        forward_as = self.library.crosscut_operations_forward_as

        def before(*_: Any, **__: Any) -> bool:
            forward_as(b"inference")
            return True

        def after(*_: Any) -> None:
            forward_as(None)

        return {"before": before, "after": after}

    def simulation(self, name: str, function: Callable[..., Any], span: Any = None) -> Any:
        """The method `name` of an environment. Its outermost call is the operation; an outermost
        step() that ends well is counted, recorded or not."""
        return self.around(function, "simulate", span=span, hides=True, outermost=name == "step",
                           after=Steps.simulated if name == "step" else None)

    def follow(self, root: type, names: tuple[str, ...],
               make: Callable[[type, str, Callable[..., Any]], Any]) -> None:
        """Replaces the methods `names` of `root` and of the classes below it, later ones when they
        get their first instance, by make(class, name, function)."""
        def patch(cls: type) -> None:
            for base in () if cls in known else cls.__mro__:
                if base in known or not issubclass(base, root):
                    continue
                known.add(base)
                for name in names:
                    function = vars(base).get(name)
                    if isinstance(function, types.FunctionType):
                        self.replace(base, name, make(base, name, function))

        known: weakref.WeakSet[type] = weakref.WeakSet()
        for cls in with_subclasses(root):
            patch(cls)
        create = _record.follow_class(root, "__new__", patch)
        self._undo.append(lambda: _record.follow_class(root, "__new__", None))
        if "__new__" not in vars(root):
            # It stays: a class from which __new__ was taken away again refuses its arguments
            # (CPython's issue 49572).
            root.__new__ = create  # type: ignore[method-assign]
