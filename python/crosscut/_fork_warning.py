"""CPython 3.12 and later warn at os.fork() in a process with threads. Crosscut's own are no reason:
they hold no lock that the child would wait for. Where the program has no other thread it sees no
warning, as without us."""

import os
import sys

import crosscut

MESSAGE = "is multi-threaded, use of fork"  # in the text of the warning


def _has_own_threads() -> bool:
    """Whether the program has threads beside the one that asks; True where /proc does not tell."""
    own = 0
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/comm", "rb") as file:
                own += not file.read().startswith((b"crosscut", b"cc/"))
    except OSError:
        return True
    return own > 1


def _is_for_ours_alone(text: str) -> bool:
    return MESSAGE in str(text) and not _has_own_threads()


class _OursAlone:
    """In the place of a filter's regular expression: matches the warning where it is for us. No
    frame of it is seen by what the program watches itself with."""

    pattern = MESSAGE

    def __init__(self) -> None:
        self.match = crosscut._record.unseen(_is_for_ours_alone)


def leave_out() -> None:
    """Puts a filter in front of the program's own; once."""
    if sys.version_info < (3, 12):
        return
    import _warnings

    item = ("ignore", _OursAlone(), DeprecationWarning, None, 0)
    # The list of the module warnings, which may not be there yet.
    if hasattr(_warnings, "_acquire_lock"):  # 3.14
        _warnings._acquire_lock()
        try:
            _warnings.filters.insert(0, item)
            _warnings._filters_mutated_lock_held()
        finally:
            _warnings._release_lock()
    else:
        _warnings.filters.insert(0, item)
        _warnings._filters_mutated()
