"""The ledger of collectives: who waited in which of them for whom.

Calls are one collective (a *meeting*) if they agree in restart, group, place, and ordinal in the
group (`seq`); where ordinals are not stated, in step, name and place in the step, if all ranks have
as many. On one host begins say who came last. Elsewhere all leave together, so the rank with the
shortest stay came last, and what the others stayed beyond that is waiting: no common clock is
needed. What does not match is counted, never guessed.

16,384 ranks have some 35 million rows: they are folded column by column, in their order, which is
that of the shards and of time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crosscut.cluster import spec
from crosscut.cluster.columns import (
    ABSENT,
    MOST,
    Flags,
    Groups,
    Integers,
    Rows,
    column_of,
    text_column,
    together,
)
from crosscut.cluster.partial import SHARD
from crosscut.cluster.shards import Shard

# Names by which ranks may move different numbers of bytes; of transfers between two ranks; of
# collectives with a root, which not all leave together.
_UNEVEN = re.compile("gather|scatter|all_to_all|alltoall")
_PAIR = re.compile(":send|:recv|SendRecv|isend|irecv|^send|^recv")
_ROOTED = re.compile("broadcast|Broadcast|:reduce|_Reduce_|:gather|:scatter")
_NOT_ROOTED = re.compile("educe_scatter|educeScatter")

_BETWEEN_TWO, _STATED_TWICE = "between two ranks", "several processes state the rank"

_MEETING = {"restart": pa.int64(), "group": pa.string(), "place": pa.string(),
            "name": pa.string(), "step": pa.int64(), "calls": pa.int64(), "ranks": pa.int64(),
            "group_size": pa.int64(), "size_stated": pa.bool_(), "bytes": pa.int64(),
            "transfer_ns": pa.int64(), "waited_ns": pa.int64(), "first_rank": pa.int64(),
            "last_rank": pa.int64(), "unmatched": pa.string()}
_WAITS = {SHARD: pa.int32(), "collectives": pa.int64(), "waited_ns": pa.int64(),
          "waited_in_steps_ns": pa.int64()}
_HOPS = {"restart": pa.int64(), "meeting": pa.int64(), "rank": pa.int64(),
         "operation": pa.string(), "step": pa.int64(), "transfer_ns": pa.int64(),
         "saved_ns": pa.int64(), "begin_ns": pa.int64(), "before": pa.int64(),
         "work_ns": pa.int64()}
_ENDS = {"restart": pa.int64(), "meeting": pa.int64()}
_STAYS = {"meeting": pa.int64(), "boot": pa.int64(), "come_ns": pa.int64(), "gone_ns": pa.int64()}


@dataclass
class Folded:
    """What the ledger says. Each has no rows where there is no ledger.

    `meetings`: `unmatched` is why a meeting is compared with nothing, "" where it is compared.
    `waits`: of each shard. `hops`: of each meeting that is compared, the call of its last rank (of
    the lowest one, where none was last): the meeting before it on that rank, what lay between
    (`work_ns`), and the time in which only that rank was missing (`saved_ns`). `ends`: the meeting
    that the lowest rank left last. `stays`: when the ranks of a boot came last and left first, of
    meetings of several; boots are numbered from 1, by text.
    """

    meetings: pa.Table = field(default_factory=lambda: _empty(_MEETING))
    waits: pa.Table = field(default_factory=lambda: _empty(_WAITS))
    hops: pa.Table = field(default_factory=lambda: _empty(_HOPS))
    ends: pa.Table = field(default_factory=lambda: _empty(_ENDS))
    stays: pa.Table = field(default_factory=lambda: _empty(_STAYS))


@dataclass
class _Shards:
    """Of each shard: rank and restart, and a number for its boot (-1: it states none)."""

    rank: Integers
    restart: Integers
    boot: Integers


@dataclass
class _Calls:
    """Calls that may match: of each, its shard, its stay, its meeting."""

    rows: Rows
    shard: Integers
    begin: Integers
    ns: Integers
    groups: Groups  # the meetings
    of: _Shards


def fold(table: pa.Table | None, shards: list[Shard]) -> Folded:
    """Folds the merged ledger; None where there is none. OverflowError where a sum does not fit."""
    done = Folded()
    if table is None or not table.num_rows:
        return done
    boots = {boot: number for number, boot in enumerate(sorted({s.boot for s in shards if s.boot}))}
    of = _Shards(np.array([s.rank for s in shards]), np.array([s.restart for s in shards]),
                 np.array([boots.get(s.boot, -1) for s in shards]))
    rows = Rows(table)
    shard = rows.numbers(SHARD)
    ranked = of.rank[shard] >= 0
    twice = _stated_twice(shard, of)[shard] & ranked
    pair = _named(rows, lambda name: bool(_PAIR.search(name)))[rows.codes("name")]
    pair = (pair | (rows.numbers("peer") >= 0)) & ranked & ~twice
    aside = [_set_aside(rows.only(flags), of, reason)
             for flags, reason in ((pair, _BETWEEN_TWO), (twice, _STATED_TWICE)) if flags.any()]
    kept = ranked & ~twice & ~pair
    del shard, ranked, twice, pair
    if kept.any():
        _fold(_calls_of(rows if kept.all() else rows.only(kept), of), done)
    done.meetings = pa.concat_tables([done.meetings, *aside])
    return done


def _empty(types: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(list(types.items())).empty_table()


def _named(rows: Rows, test: Callable[[str], bool]) -> Flags:
    """By code of a name: whether it passes the test."""
    return np.array([test(name) for name in rows.texts("name")], bool)


def _stated_twice(shard: Integers, of: _Shards) -> Flags:
    """By shard: whether another one that was in collectives states the same rank."""
    present = np.zeros(len(of.rank), bool)
    present[shard] = True
    seen: dict[tuple[int, int], int] = {}
    twice = np.zeros(len(of.rank), bool)
    for number in np.nonzero(present & (of.rank >= 0))[0]:
        other = seen.setdefault((int(of.restart[number]), int(of.rank[number])), int(number))
        if other != number:
            twice[[other, int(number)]] = True
    return twice


def _set_aside(rows: Rows, of: _Shards, reason: str) -> pa.Table:
    """Calls that are in no meeting, counted by restart, group, place and name."""
    restart = of.restart[rows.numbers(SHARD)]
    codes = {name: rows.codes(name) for name in ("group", "place", "name")}
    groups = Groups(*together([restart, *codes.values()]))
    first, nothing = groups.first(), pa.nulls(groups.count)
    known = {"restart": restart[first], "calls": groups.sizes(),
             **{name: text_column(rows.texts(name), cells[first]) for name, cells in codes.items()},
             "unmatched": [reason] * groups.count}
    return pa.table({name: pa.array(known[name], kind) if name in known else nothing.cast(kind)
                     for name, kind in _MEETING.items()})


def _calls_of(rows: Rows, of: _Shards) -> _Calls:
    shard, seq = rows.numbers(SHARD), rows.numbers("seq")
    stated = seq != ABSENT
    groups = Groups(*together([
        of.restart[shard], rows.codes("group"), rows.codes("place"),
        np.where(stated, -1, rows.codes("name")), np.where(stated, seq, rows.numbers("step")),
        rows.numbers("ordinal")]))
    return _Calls(rows, shard, rows.numbers("begin_ns"), rows.numbers("ns"), groups, of)


def _group_sizes(calls: _Calls) -> tuple[Integers, Flags]:
    """By meeting: how many ranks its group has, and whether they state it: else those that are
    here."""
    groups, of = calls.groups, calls.of
    stated = groups.most(calls.rows.numbers("group_size"))
    code, count = together([of.restart[calls.shard], calls.rows.codes("group"),
                            calls.rows.codes("place")])
    pairs = np.unique(code.astype(np.int64) * len(of.rank) + calls.shard)
    here = np.bincount(pairs // len(of.rank), minlength=count)[code[groups.first()]]
    return np.where(stated > 0, stated, here), stated > 0


@dataclass
class _Judged:
    """Of each meeting: whether its ranks share a clock; whether it is compared; who came last and
    first (ABSENT: nobody); since when only the last one was missing; what came after it."""

    one_clock: Flags
    matched: Flags
    last: Integers
    first: Integers
    saved: Integers
    transfer: Integers


def _fold(calls: _Calls, done: Folded) -> None:
    groups, rows, ids = calls.groups, calls.rows, calls.groups.ids
    first = groups.first()
    shortest, last_begin = groups.least(calls.ns), groups.most(calls.begin)
    first_end = groups.least(calls.begin + calls.ns)
    boot = calls.of.boot[calls.shard]
    one_clock = (groups.least(boot) >= 0) & ~groups.differ(boot)
    size, size_stated = _group_sizes(calls)
    unmatched = _reasons(calls, size, one_clock, last_begin > first_end + spec.CLOCK_ERROR_NS)
    transfer = np.where(one_clock, np.clip(first_end - last_begin, 0, shortest), shortest)
    judged = _judge(calls, one_clock, unmatched == "", transfer)
    until = calls.begin + np.where(one_clock[ids], np.clip(last_begin[ids] - calls.begin, 0,
                                                           calls.ns), calls.ns - shortest[ids])
    waited = _each_instant_once(calls, np.where(judged.matched[ids], until, calls.begin))
    del until
    step = rows.numbers("step")
    texts = {name: text_column(rows.texts(name), rows.codes(name)[first])
             for name in ("group", "place", "name")}
    steps = column_of(groups.least(np.where(step == ABSENT, MOST, step)), MOST)
    done.meetings = _table(_MEETING, {
        "restart": calls.of.restart[calls.shard[first]], **texts, "step": steps,
        "calls": groups.sizes(), "ranks": groups.sizes(), "group_size": size,
        "size_stated": size_stated, "bytes": column_of(groups.most(rows.numbers("bytes"))),
        "transfer_ns": transfer, "waited_ns": groups.sums(waited),
        "first_rank": column_of(judged.first), "last_rank": column_of(judged.last),
        "unmatched": unmatched})
    of_shards = Groups(calls.shard, len(calls.of.rank))
    collectives = np.bincount(calls.shard[judged.matched[ids]], minlength=of_shards.count)
    done.waits = _table(_WAITS, {
        SHARD: np.arange(of_shards.count), "collectives": collectives,
        "waited_ns": of_shards.sums(waited),
        "waited_in_steps_ns": of_shards.sums(np.where(step == ABSENT, 0, waited)),
    }).filter(collectives > 0)
    del waited, step
    done.hops, done.ends = _hops_of(calls, judged, steps)
    done.stays = _stays_of(calls, judged)


def _table(types: dict[str, pa.DataType], columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})


def _judge(calls: _Calls, one_clock: Flags, matched: Flags, transfer: Integers) -> _Judged:
    groups, rank = calls.groups, calls.of.rank[calls.shard]
    came = np.where(one_clock[groups.ids], calls.begin, -calls.ns)  # later: larger
    latest, earliest = groups.most(came), groups.least(came)
    is_latest = came == latest[groups.ids]
    last = groups.least(rank, is_latest)
    first = groups.least(rank, came == earliest[groups.ids])
    last[latest == earliest] = first[latest == earliest] = ABSENT
    alone = np.bincount(groups.ids[is_latest], minlength=groups.count) == 1
    before = groups.most(np.where(is_latest, -MOST, came))
    saved = np.where(alone & (before > -MOST), latest - np.maximum(before, -MOST // 2), 0)
    return _Judged(one_clock, matched, last, first, saved, transfer)


def _hops_of(calls: _Calls, judged: _Judged, steps: pa.Array) -> tuple[pa.Table, pa.Table]:
    groups, rank = calls.groups, calls.of.rank[calls.shard]
    met = judged.matched & (groups.sizes() > 1)
    kept = np.nonzero(met[groups.ids])[0]
    end = calls.begin[kept] + calls.ns[kept]
    order = _by_end(calls, kept, end)
    before = np.full(len(rank), -1)
    same = calls.shard[kept[order][1:]] == calls.shard[kept[order][:-1]]
    before[kept[order][1:][same]] = kept[order][:-1][same]
    whose = np.where(judged.last == ABSENT, groups.least(rank), judged.last)
    row = groups.least(np.arange(len(rank)), rank == whose[groups.ids])
    meeting = np.nonzero(met)[0]
    row = row[meeting]
    ahead = before[row]
    gap = np.maximum(calls.begin[row] - (calls.begin + calls.ns)[ahead], 0)
    restart = calls.of.restart[calls.shard]
    hops = _table(_HOPS, {
        "restart": restart[row], "meeting": meeting, "rank": rank[row],
        "operation": text_column(calls.rows.texts("operation"), calls.rows.codes("operation")[row]),
        "step": steps.take(pa.array(meeting)), "transfer_ns": judged.transfer[meeting],
        "saved_ns": judged.saved[meeting], "begin_ns": calls.begin[row],
        "before": column_of(np.where(ahead < 0, ABSENT, groups.ids[ahead])),
        "work_ns": column_of(np.where(ahead < 0, ABSENT, gap))})
    ends = {}
    for number in np.unique(restart[row]).tolist():
        lowest = rank[row][restart[row] == number].min()
        mine = (restart[kept] == number) & (rank[kept] == lowest)
        ends[number] = int(groups.ids[kept[mine]][end[mine] == end[mine].max()].max())
    return hops, _table(_ENDS, {"restart": list(ends), "meeting": list(ends.values())})


def _by_end(calls: _Calls, kept: Integers, end: Integers) -> Integers:
    """The order of the rows `kept` by shard and end; ties by begin and meeting."""
    shard, order = calls.shard[kept], np.arange(len(kept))
    cuts = [0, *(np.nonzero(shard[1:] != shard[:-1])[0] + 1).tolist(), len(kept)]
    falls = np.zeros(len(kept), bool)
    falls[1:] = end[1:] <= end[:-1]
    for begin, stop in zip(cuts, cuts[1:]):
        if falls[begin + 1:stop].any():
            part = kept[begin:stop]
            order[begin:stop] = begin + np.lexsort((calls.groups.ids[part], calls.begin[part],
                                                    end[begin:stop]))
    return order


def _stays_of(calls: _Calls, judged: _Judged) -> pa.Table:
    met = judged.matched & ~judged.one_clock & (calls.groups.sizes() > 1)
    boot = calls.of.boot[calls.shard]
    kept = met[calls.groups.ids] & (boot >= 0)
    if not kept.any():
        return _empty(_STAYS)
    of_boots = Groups(*together([calls.groups.ids[kept], boot[kept]]))
    first = of_boots.first()
    return _table(_STAYS, {
        "meeting": calls.groups.ids[kept][first], "boot": boot[kept][first] + 1,
        "come_ns": of_boots.most(calls.begin[kept]),
        "gone_ns": of_boots.least(calls.begin[kept] + calls.ns[kept])})


def _reasons(calls: _Calls, size: Integers, one_clock: Flags, apart: Flags) -> Integers:
    """Why each meeting is compared with nothing: the first reason that holds; "" where none does.
    `apart`: no two of its calls overlap by the stamps of one clock."""
    groups, rows = calls.groups, calls.rows
    name = rows.codes("name")
    uneven = _named(rows, lambda n: bool(_UNEVEN.search(n)))[name[groups.first()]]
    rooted = _named(rows, lambda n: bool(_ROOTED.search(n)) and not _NOT_ROOTED.search(n))
    rooted = rooted[name[groups.first()]]
    reasons = [
        (size == 1, "the group has one rank"),
        (groups.sizes() == 1, "no other rank of the group has it"),
        (groups.differ(name), "the names differ"),
        (groups.differ(rows.numbers("among")), "the ranks have different numbers of it"),
        (groups.differ(rows.numbers("bytes")) & ~uneven, "the sizes differ"),
        (one_clock & ~rooted & apart, "the ranks were not in it at the same time"),
        (rooted & ~one_clock, "it has a root, the ranks no common clock")]
    return np.select([holds for holds, _ in reasons], [reason for _, reason in reasons], "")


def _each_instant_once(calls: _Calls, until: Integers) -> Integers:
    """What each call adds to the waiting of its shard, which lasts from its begin until then: of
    waits that overlap, the earlier call counts."""
    order = None
    behind = calls.begin[1:] < calls.begin[:-1]
    if np.any(behind & (calls.shard[1:] == calls.shard[:-1])):  # not in order of time
        order = np.lexsort((until, calls.begin, calls.shard))
    begin, ends, shard = calls.begin, until, calls.shard
    if order is not None:
        begin, ends, shard = begin[order], ends[order], shard[order]
    covered = ends.copy()
    cuts = np.nonzero(shard[1:] != shard[:-1])[0] + 1
    for part in np.split(covered, cuts):  # views
        np.maximum.accumulate(part, out=part)
    before = np.empty_like(covered)
    before[1:] = covered[:-1]
    before[np.concatenate([[0], cuts])] = -MOST
    waited = np.clip(ends - np.maximum(begin, before), 0, None)
    if order is None:
        return waited
    out = np.empty_like(waited)
    out[order] = waited
    return out
