"""torch.profiler in a recorded program: Kineto uses CUPTI where it profiles CUDA devices, and that
serves one tool at a time.

install() is called right after `torch.autograd.profiler` was imported, or when a session begins in
a program that has it: a profile that runs then is met where it ends. withdraw() puts everything
back.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from crosscut import _patches, _record
from crosscut.adapters import own_profiles

_theirs = own_profiles.Theirs("torch.profiler")
_patched = _patches.Patches()


class _RunsAlready:
    """A profile that began before we came."""


_before: _RunsAlready | None = None


def _profiles_devices(profile: Any) -> bool:
    return any(str(kind).endswith("CUDA") for kind in getattr(profile, "kineto_activities", ()))


def _starts(profile: Any, *_: Any, **__: Any) -> bool | None:
    """Before a profile is prepared, and again before it starts."""
    if not _profiles_devices(profile):
        return None
    return _theirs.ends(profile) or _theirs.begins()


def _started(profile: Any, _: Any, failed: bool) -> None:
    if not _theirs.knows(profile):
        _theirs.begun(profile, failed)
    elif failed:
        _theirs.ended(profile)
    else:
        _theirs.goes_on()


def _ends(profile: Any, *_: Any) -> bool | None:
    global _before
    if _before is None or not _profiles_devices(profile):
        return _theirs.ends(profile)
    return _theirs.ends(_before)


def _ended(profile: Any, *_: Any) -> None:
    global _before
    _theirs.ended(profile)
    if _before is not None:
        _theirs.ended(_before)
        _before = None


def install(module: ModuleType) -> None:
    global _before
    if _patched:
        return
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if getattr(module, "_is_profiler_enabled", False) and cuda and cuda.is_initialized():
        _before = _RunsAlready()
        _theirs.begins()
        _theirs.begun(_before, failed=False)
    for names, before, after in ((("_prepare_trace", "_start_trace"), _starts, _started),
                                 (("__exit__",), _ends, _ended)):
        for name in names:
            function = vars(module.profile).get(name)
            if function is not None:  # they came one after the other
                _patched.replace(module.profile, name,
                                 _record.around(function, before=before, after=after))


def withdraw() -> None:
    _patched.undo()
