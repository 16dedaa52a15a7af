"""What the adapters share: automatic operations, patches that can be undone, steps."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from crosscut import _patches, _record

_LIBRARY = pathlib.Path(os.path.abspath(__file__)).parent.parent / "lib" / "libcrosscut_torch.so"


def with_subclasses(cls: type) -> list[type]:
    """The class and all that are below it now. A metaclass is not asked which are equal."""
    found = {id(cls): cls}
    waiting = [cls]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        for sub in below:
            if id(sub) not in found:
                found[id(sub)] = sub
                waiting.append(sub)
    return list(found.values())


def version_of(*modules: str) -> str:
    """Of the first of them that is imported; "" where it tells none."""
    module = next(filter(None, map(sys.modules.get, modules)), None)
    return str(getattr(module, "__version__", "") or "")


class Operations(_patches.Patches):
    """The patches behind automatic operations. All of them under the GIL."""

    def __init__(self) -> None:
        super().__init__()
        self.library = ctypes.CDLL(str(_LIBRARY))
        for name in ("crosscut_operations_on", "crosscut_operations_thunk"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.crosscut_operations_name.restype = ctypes.c_uint32
        for name in ("crosscut_operations_patch", "crosscut_operations_unpatch"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        self.on = ctypes.c_int32.from_address(self.library.crosscut_operations_on())
        self.inside = self._word("inside")

    def _word(self, name: str) -> int:
        """The address of the function that gives this thread's word of that name."""
        function = getattr(self.library, f"crosscut_operations_{name}")
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    def undo(self) -> None:
        """Takes everything back; the next to find steps begin anew."""
        try:
            super().undo()
        finally:
            _record.forget_updates()

    def add_source(self, version: str) -> None:
        """Registers the source "operations", once per process. RuntimeError where it cannot be."""
        if self.library.crosscut_operations_add(version.encode()) != 0:
            raise RuntimeError(_record.error())

    def around(self, function: Callable[..., Any], operation: str = "", **how: Any) -> Any:
        """What stands for `function` in its place: a call of it is the operation while they are
        recorded. `how`: see _record.around."""
        named = _record.found_operation(operation) if operation else None
        return _record.around(function, named, ctypes.addressof(self.on), **how)

    def bracket(self, operation: str, function: Callable[..., Any],
                after: Callable[..., None] | None = None, **how: Any) -> Any:
        """`function` as an operation that calls in it belong to; `after` is told of its end. `how`:
        see _record.around."""
        return self.around(function, operation, inside=self.inside, nests=True, after=after, **how)

    def inferring(self) -> dict[str, Any]:
        """What makes around() take the calls of modules in a function for `inference`, not for
        `forward`."""
        return {"word": self._word("forward_as"),
                "says": self.library.crosscut_operations_name(b"inference")}

    def simulation(self, name: str, function: Callable[..., Any], span: Any = None) -> Any:
        """The method `name` of an environment. Its outermost call is the operation; an outermost
        step() that ends well is counted, recorded or not."""
        return self.around(function, "simulate", span=span, outermost=name == "step",
                           after=_record.simulated if name == "step" else None)

    def patcher(self, root: type, names: tuple[str, ...],
                make: Callable[[type, str, Callable[..., Any]], Any]) -> Callable[[type], None]:
        """A function that puts make(class, name, function) around the methods `names` of a class
        below `root` and of its bases, each once; None: the method stays as it is. A class may have
        one from another base, whose other objects are none of ours."""
        def patch(cls: type) -> None:
            for base in reversed(cls.__mro__):
                for name in names:
                    function = vars(base).get(name)
                    if (isinstance(function, types.FunctionType)
                            and weakref.ref(function) not in known
                            and (ours := make(cls, name, function)) is not None):
                        # Another class may have it, too. A WeakSet would be told of its end in a
                        # frame.
                        known.add(weakref.ref(function, known.discard))
                        _record.around.limit(ours, root)
                        self.replace(base, name, ours)

        known: set[weakref.ref[types.FunctionType]] = set()
        return patch

    def follow(self, root: type, names: tuple[str, ...],
               make: Callable[[type, str, Callable[..., Any]], Any]) -> None:
        """patcher() for `root` and the classes below it; for later ones when they are made, which
        may make an instance already, and as they are when they get their first."""
        patch = self.patcher(root, names, make)
        for cls in with_subclasses(root):
            patch(cls)
        for when in ("made", "used"):
            _record.follow_classes(root, when, patch)
            self.on_undo(functools.partial(_record.follow_classes, root, when, None))


_Made = TypeVar("_Made", bound=Operations)


class Shared(Generic[_Made]):
    """The operations of one adapter: made by the first of its functions that needs them."""

    def __init__(self, make: type[_Made]) -> None:
        self._make = make
        self._made: _Made | None = None

    def of(self, version: str, source: str = "operations") -> _Made:
        """`version`: of its library, as the table `sources` has it, where `source` is on from now
        on; "": somebody else tells."""
        if self._made is None:
            self._made = self._make()
            self._made.add_source(version)
            if source:
                _record.source_state(source, version, "on", "")
        return self._made

    def undo(self) -> None:
        """Puts back everything that was changed. Their source stays registered all the same."""
        made, self._made = self._made, None
        if made is not None:
            made.undo()


def unless_torch() -> str:
    """The source that an adapter tells of that goes beside PyTorch's, for Shared.of()."""
    return "" if "crosscut.adapters.torch" in sys.modules else "operations"
