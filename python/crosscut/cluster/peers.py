"""Ranks beside their peers: what one of them has more of than the others of its role."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MOST_OUTLIERS = 50
LEAST_PEERS = 3  # of two, either might be the usual one


@dataclass(frozen=True)
class Figure:
    """Nanoseconds of one rank: of a class of its steps' time, or of an operation."""

    restart: int
    role: str
    rank: int
    kind: str  # "wall", "class" or "operation"
    name: str
    ns: int


@dataclass(frozen=True)
class Excess:
    """A figure beside the median of the others. `unusual`: five median absolute deviations and 10 %
    above it, as for slow steps."""

    figure: Figure
    median_ns: int
    unusual: bool

    @property
    def more_ns(self) -> int:
        """Above the median; below 0 where it is less."""
        return self.figure.ns - self.median_ns


def excesses(figures: Iterable[Figure],
             ranks: Mapping[tuple[int, str], int] | None = None) -> Iterator[Excess]:
    """Each figure beside those of the same name, kind, role and restart. `ranks`: how many ranks
    these have, by restart and role: those without such a figure have 0 of it."""
    groups: dict[tuple[int, str, str, str], list[Figure]] = {}
    for figure in figures:
        key = (figure.restart, figure.role, figure.kind, figure.name)
        groups.setdefault(key, []).append(figure)
    for (restart, role, *_), group in sorted(groups.items()):
        count = max((ranks or {}).get((restart, role), 0), len(group))
        if count < 2:
            continue
        group.sort(key=lambda figure: (figure.ns, figure.rank))
        ordered = _Padded([figure.ns for figure in group], 0, count)
        median = ordered.at(count // 2)
        apart = sorted(abs(figure.ns - median) for figure in group)
        spread = _Padded(apart, median, count).at(count // 2)
        others = (count - 1) // 2  # the middle of those that are left without one
        for at, figure in enumerate(group, count - len(group)):
            usual = ordered.at(others if others < at else others + 1)
            limit = usual + 5 * spread + usual // 10
            yield Excess(figure, usual, count >= LEAST_PEERS and figure.ns > limit)


class _Padded:
    """`count` sorted numbers: `known` ones, and as often as that takes `filler`."""

    def __init__(self, known: list[int], filler: int, count: int) -> None:
        self._known, self._filler, self._more = known, filler, count - len(known)
        self._first = bisect_left(known, filler)

    def at(self, place: int) -> int:
        if place < self._first:
            return self._known[place]
        return self._filler if place < self._first + self._more else self._known[place - self._more]


def outliers(all_of_them: Iterable[Excess]) -> list[Excess]:
    """The unusual ones, the largest first; ties by restart, rank and name."""
    unusual = [excess for excess in all_of_them if excess.unusual]
    unusual.sort(key=lambda e: (-e.more_ns, e.figure.restart, e.figure.rank, e.figure.kind,
                                e.figure.name))
    return unusual[:MOST_OUTLIERS]


def grew_most(all_of_them: Iterable[Excess], kind: str) -> dict[tuple[int, int], Excess]:
    """By restart and rank: what of that kind it has most more of than its peers, if anything. Ties
    by name."""
    out: dict[tuple[int, int], Excess] = {}
    for excess in all_of_them:
        figure = excess.figure
        if figure.kind != kind or excess.more_ns <= 0:
            continue
        best = out.get((figure.restart, figure.rank))
        if best is None or (-excess.more_ns, figure.name) < (-best.more_ns, best.figure.name):
            out[figure.restart, figure.rank] = excess
    return out
