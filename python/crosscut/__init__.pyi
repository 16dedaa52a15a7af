from collections.abc import Callable
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar, overload

from crosscut import hand_over as hand_over
from crosscut import ray as ray
from crosscut._arguments import add_arguments as add_arguments
from crosscut._arguments import from_arguments as from_arguments
from crosscut._ondemand import arm as arm
from crosscut._schedule import Schedule as Schedule
from crosscut._schedule import schedule as schedule
from crosscut._session import flush as flush
from crosscut._session import pause as pause
from crosscut._session import resume as resume
from crosscut._session import session as session
from crosscut._session import snapshot as snapshot
from crosscut._session import start as start
from crosscut._session import stop as stop
from crosscut._session import unwrap as unwrap
from crosscut._session import wrap as wrap
from crosscut.reading import read as read

__version__: str

_P = ParamSpec("_P")
_R = TypeVar("_R")

class operation:
    """A named part of the program: a row of the report. Context manager and decorator."""

    @overload
    def __new__(cls, name: str) -> operation: ...
    @overload
    def __new__(cls, name: Callable[_P, _R]) -> Callable[_P, _R]: ...
    @property
    def name(self) -> str: ...
    def __enter__(self) -> operation: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Literal[False]: ...
    def __call__(self, function: Callable[_P, _R], /) -> Callable[_P, _R]: ...

def step(kind: str | None = None, /) -> int:
    """Ends the current step of the process, if any, and begins the next; returns its number, from
    0. The thread that makes most steps is the lead, unless one called lead()."""

def step_end() -> None:
    """Ends the current step without beginning another."""

def lead() -> None:
    """Makes the calling thread the lead: its operations are the rows of the report."""

def phase(name: str | None, /) -> None:
    """Begins a phase of the process, until the next call; None ends it."""

def progress(fraction: float, /) -> None:
    """How much of the whole program is done, from 0 to 1: the table ``progress`` extrapolates from
    it. Recorded in pauses, too. Anything else counts as a lost value."""

def process_name(name: str, /) -> None:
    """What reports call this process."""

def meta(key: str, value: str, /) -> None:
    """A fact of the process that the report shows."""

def instant(name: str, /) -> None:
    """Marks a point in time on this thread."""

def counter(name: str, value: float, /) -> None:
    """Records a value without its fraction; a gap counts those that had one. Put the unit into the
    name ("loss (millionths)"). What is no number, not finite, or has more than 64 bits counts as a
    lost value."""

def active() -> bool:
    """True while a session is open in this process."""

def error() -> str:
    """Words about this thread's last error."""

def run_dir() -> str:
    """Where this process records; "" when it does not."""
