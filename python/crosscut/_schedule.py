"""Which steps of a session are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Literal

from crosscut._names import keywords_named

Action = Literal["skip", "warmup", "record", "done"]


@dataclass(frozen=True)
class Schedule:
    """`skip_first` steps are skipped; then cycles of `wait` skipped, `warmup` and `active`
    recorded steps follow, `repeat` of them (0: until the session ends)."""

    skip_first: int
    wait: int
    warmup: int
    active: int
    repeat: int

    def action(self, step: int) -> Action:
        """What happens in step number `step`, counted from 0."""
        if step < self.skip_first:
            return "skip"
        cycle, place = divmod(step - self.skip_first, self.wait + self.warmup + self.active)
        if self.repeat and cycle >= self.repeat:
            return "done"
        if place < self.wait:
            return "skip"
        return "warmup" if place < self.wait + self.warmup else "record"


@keywords_named
def schedule(*, skip_first: int = 0, wait: int = 0, warmup: int = 0, active: int = 1,
             repeat: int = 0) -> Schedule:
    """A plan of steps for `start` or `session`, in numbers of steps.

    Skipped steps are paused: their time is no part of the window. Warm-up steps are recorded in a
    phase "warmup", the others in a phase "active". After the last cycle the session stops.
    ValueError for negative numbers or no active step, TypeError for what is no whole number.
    """
    plan = Schedule(index(skip_first), index(wait), index(warmup), index(active), index(repeat))
    if min(skip_first, wait, warmup, active, repeat) < 0 or active == 0:
        raise ValueError("schedule(): counts of steps are >= 0, and active >= 1")
    return plan
