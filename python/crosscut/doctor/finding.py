"""What a check of this machine found."""

from __future__ import annotations

import enum
from typing import NamedTuple


class State(enum.Enum):
    """What it means for a recording made here."""

    OK = "ok"            # it is recorded, or it works
    LESS = "less"        # it works with less than it could; `words` say what is lost
    ABSENT = "absent"    # not on this machine: there is nothing to record
    MISSING = "missing"  # this machine could have it, and it is not there


class Finding(NamedTuple):
    """One line of `crosscut doctor`."""

    what: str
    state: State
    words: str
    next: str = ""  # what to do about it; "": nothing
