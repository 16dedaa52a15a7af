"""Ranks beside their peers: what one of them has more of than the others of its role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def middle(values: list[int]) -> int:
    """The median; the upper of two middle ones."""
    return sorted(values)[len(values) // 2]


def excesses(figures: Iterable[Figure]) -> Iterator[Excess]:
    """Each figure beside those of the same name, kind, role and restart."""
    groups: dict[tuple[int, str, str, str], list[Figure]] = {}
    for figure in figures:
        key = (figure.restart, figure.role, figure.kind, figure.name)
        groups.setdefault(key, []).append(figure)
    for _, group in sorted(groups.items()):
        if len(group) < 2:
            continue
        group.sort(key=lambda figure: (figure.ns, figure.rank))
        median = group[len(group) // 2].ns
        spread = middle([abs(figure.ns - median) for figure in group])
        others = (len(group) - 1) // 2  # the middle of those that are left without one
        for at, figure in enumerate(group):
            usual = group[others if others < at else others + 1].ns
            limit = usual + 5 * spread + usual // 10
            yield Excess(figure, usual, len(group) >= LEAST_PEERS and figure.ns > limit)


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
