"""The ledger of collectives: who waited in which of them for whom.

Calls are one collective (a *meeting*) if they agree in restart, group, place, and ordinal in the
group (`seq`); where ordinals are not stated, in step, name and place in the step, if all ranks have
as many. On one host begins say who came last. Elsewhere all leave together, so the rank with the
shortest stay came last, and what the others stayed beyond that is waiting: no common clock is
needed. What does not match is counted, never guessed.

A send and a receive are one meeting, too, if they agree in step and are the same of those that go
from the one rank to the other. Who sends may leave before the other comes, and did not wait then.

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
    add_least,
    add_most,
    add_sums,
    column_of,
    text_column,
    together,
)
from crosscut.cluster.partial import SHARD
from crosscut.cluster.shards import Shard, worlds
from crosscut.cluster.spool import InMemory, Spooled

# Names by which ranks may move different numbers of bytes.
_UNEVEN = re.compile("gather|scatter|all_to_all|alltoall")

PAIR = "pair"  # the kind of a call between two ranks, which one that states its peer is, too
LEAST, MOST_OF = add_least, add_most

# A send is stamped behind what it hands over, and may have lost its processor in between.
_STAMPED_LATE_NS = 200_000_000

_BLOCK_SHARDS = 256  # are looked at at once

_BETWEEN_TWO, _STATED_TWICE = "between two ranks", "several processes state the rank"

_MEETING = {"restart": pa.int64(), "group": pa.string(), "place": pa.string(),
            "name": pa.string(), "step": pa.int64(), "calls": pa.int64(), "ranks": pa.int64(),
            "group_size": pa.int64(), "size_stated": pa.bool_(), "bytes": pa.int64(),
            "transfer_ns": pa.int64(), "waited_ns": pa.int64(), "first_rank": pa.int64(),
            "last_rank": pa.int64(), "unmatched": pa.string()}
_WAITS = {SHARD: pa.int32(), "collectives": pa.int64(), "waited_ns": pa.int64(),
          "waited_in_steps_ns": pa.int64()}
_HOPS = {"restart": pa.int64(), "meeting": pa.int64(), "rank": pa.int64(),
         "operation": pa.string(), "step": pa.int64(), "saved_ns": pa.int64(), "boot": pa.int64(),
         "begin_ns": pa.int64(), "end_ns": pa.int64(), "before": pa.int64(),
         "free_ns": pa.int64()}
_ENDS = {"restart": pa.int64(), "meeting": pa.int64(), "boot": pa.int64(), "end_ns": pa.int64()}
_STAYS = {"meeting": pa.int64(), "boot": pa.int64(), "come_ns": pa.int64(), "gone_ns": pa.int64()}


@dataclass
class Folded:
    """What the ledger says. Each has no rows where there is no ledger.

    `meetings`: `unmatched` is why a meeting is compared with nothing, "" where it is compared.
    `waits`: of each shard. `hops`: of each meeting that is compared, the call of its last rank (of
    the lowest one, where none was last): the meeting before it on that rank, when the rank left
    that (`free_ns`), and the time in which only that rank was missing (`saved_ns`). `ends`: the
    meeting that the lowest rank left last, and when. `boot`: of the clock that times are on, -1
    where it is not known. `stays`: when the ranks of a boot came last and left first, of
    meetings of several; boots are numbered from 1, by text.
    """

    meetings: pa.Table = field(default_factory=lambda: _empty(_MEETING))
    waits: pa.Table = field(default_factory=lambda: _empty(_WAITS))
    hops: pa.Table = field(default_factory=lambda: _empty(_HOPS))
    ends: pa.Table = field(default_factory=lambda: _empty(_ENDS))
    stays: pa.Table = field(default_factory=lambda: _empty(_STAYS))


@dataclass
class _Shards:
    """Of each shard: rank and restart, how many ranks that restart has, and a number for its boot
    (-1: it states none)."""

    rank: Integers
    restart: Integers
    world: Integers
    boot: Integers


class _Block:
    """Calls of some shards, all of them, that may match. `ids`: the meeting of each. Columns that
    were read stay until forget()."""

    def __init__(self, rows: Rows, of: _Shards) -> None:
        self.rows, self.of = rows, of
        self.shard = rows.numbers(SHARD)
        self.ids: Integers = np.zeros(0, np.int32)
        self._read: dict[str, Integers] = {}

    def numbers(self, name: str) -> Integers:
        """A column of integers, ABSENT for those that are not known."""
        if name not in self._read:
            self._read[name] = self.rows.numbers(name)
        return self._read[name]

    def codes(self, name: str) -> Integers:
        """A column of texts, as codes."""
        if name not in self._read:
            self._read[name] = self.rows.codes(name)
        return self._read[name]

    def forget(self) -> None:
        """Gives back the memory of the columns."""
        self._read.clear()

    @property
    def begin(self) -> Integers:
        return self.numbers("begin_ns")

    @property
    def ns(self) -> Integers:
        return self.numbers("ns")

    @property
    def rank(self) -> Integers:
        return self.of.rank[self.shard]

    @property
    def boot(self) -> Integers:
        return self.of.boot[self.shard]

    @property
    def pairs(self) -> Flags:
        """Which calls are between two ranks."""
        return _pairs(self.rows)

    @property
    def sends(self) -> Flags:
        """Which of those send."""
        sends = _named(self.rows.texts("name"), lambda name: way_of(name) == "send")
        return np.asarray(sends[self.codes("name")] & self.pairs)


class _Meetings:
    """The meetings of the calls of all blocks. Of each: its restart, and codes of its group, place
    and name. A figure is made of one for each call, by `get`, block by block."""

    def __init__(self, blocks: list[_Block]) -> None:
        self.blocks = blocks
        local, keys = [], []
        for block in blocks:
            pairs, sends, name = block.pairs, block.sends, block.codes("name")
            here, there = block.rank, block.numbers("peer")
            stated = (block.numbers("seq") != ABSENT) & ~pairs
            columns = [block.of.restart[block.shard], block.codes("group"), block.codes("place"),
                       np.where(pairs, np.where(sends, here, there), -1),  # who sends
                       np.where(pairs, np.where(sends, there, here), np.where(stated, -1, name)),
                       np.where(stated, block.numbers("seq"), block.numbers("step")),
                       block.numbers("ordinal")]
            local.append(Groups(*together(columns)))
            first = local[-1].first()
            keys.append([cells[first] for cells in (*columns, name)])
            block.forget()
        columns = [np.concatenate(cells) for cells in zip(*keys)]
        every = Groups(*together(columns[:-1]))
        first, self.count = every.first(), every.count
        self.restart, self.group, self.place = (cells[first] for cells in columns[:3])
        self.name = columns[-1][first]
        self.pair = columns[3][first] >= 0
        at = 0
        for block, groups in zip(blocks, local):
            block.ids = every.ids[at:at + groups.count][groups.ids]
            at += groups.count
        self.calls = np.zeros(self.count, np.int64)
        for block in blocks:
            self.calls += np.bincount(block.ids, minlength=self.count)

    def figures(self, **wanted: tuple[Callable[..., None], Callable[[_Block], Integers]],
                ) -> dict[str, Integers]:
        """By name: what LEAST or MOST makes of a figure of each call. All of them are made of a
        block before the next one is read."""
        out = {name: np.full(self.count, MOST if how is LEAST else -MOST, np.int64)
               for name, (how, _) in wanted.items()}
        for block in self.blocks:
            for name, (how, get) in wanted.items():
                how(out[name], block.ids, get(block))
            block.forget()
        return out

    def texts(self, name: str) -> list[str]:
        """The texts behind the codes of a column."""
        return self.blocks[0].rows.texts(name)


def fold(calls: InMemory | Spooled | None, shards: list[Shard]) -> Folded:
    """Folds the merged ledger; None where there is none. OverflowError where a sum does not fit."""
    done = Folded()
    if calls is None or not calls.num_rows:
        return done
    boots = {boot: number for number, boot in enumerate(sorted({s.boot for s in shards if s.boot}))}
    world = worlds(shards)
    of = _Shards(np.array([s.rank for s in shards]), np.array([s.restart for s in shards]),
                 np.array([world[s.restart] for s in shards]),
                 np.array([boots.get(s.boot, -1) for s in shards]))
    twice = _stated_twice(calls, of)
    blocks: list[_Block] = []
    aside: list[pa.Table] = []
    for first in range(0, len(shards), _BLOCK_SHARDS):
        rows = calls.block(first, min(first + _BLOCK_SHARDS, len(shards)))
        if rows is None:
            continue
        kept = _split(rows, of, twice, aside)
        if kept.any():
            blocks.append(_Block(rows if kept.all() else rows.only(kept), of))
    if blocks:
        _fold(_Meetings(blocks), of, done)
    done.meetings = pa.concat_tables([done.meetings, *aside])
    return done


def _split(rows: Rows, of: _Shards, twice: Flags, aside: list[pa.Table]) -> Flags:
    """Which calls may match; the others of ranks are counted in `aside`."""
    shard = rows.numbers(SHARD)
    ranked = of.rank[shard] >= 0
    stated_twice = twice[shard] & ranked
    unknown = _pairs(rows) & ranked & ~stated_twice & ~_between_known(rows, of)
    for flags, reason in ((unknown, _BETWEEN_TWO), (stated_twice, _STATED_TWICE)):
        if flags.any():
            aside.append(_set_aside(rows.only(flags), of, reason))
    return ranked & ~stated_twice & ~unknown


def _pairs(rows: Rows) -> Flags:
    """Which calls are between two ranks."""
    pair = _named(rows.texts("kind"), lambda kind: kind == PAIR)[rows.codes("kind")]
    return np.asarray(pair | (rows.numbers("peer") >= 0))


def way_of(name: str) -> str:
    """"send" or "recv": what a call between two ranks does, by its name; "": that is not known."""
    ways = [way for way in ("send", "recv") if way in name.lower()]
    return ways[0] if len(ways) == 1 else ""


def _between_known(rows: Rows, of: _Shards) -> Flags:
    """Of which transfers it is known between which ranks of the job, and in which direction: groups
    of fewer ranks number these by themselves."""
    one_way = _named(rows.texts("name"), lambda name: way_of(name) != "")
    peer, size, shard = rows.numbers("peer"), rows.numbers("group_size"), rows.numbers(SHARD)
    world = of.world[shard]
    whole = (size == ABSENT) | (size == world)
    other = (peer >= 0) & (peer < world) & (peer != of.rank[shard])
    return np.asarray(one_way[rows.codes("name")] & whole & other)


def _empty(types: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(list(types.items())).empty_table()


def _table(types: dict[str, pa.DataType], columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})


def _named(texts: list[str], test: Callable[[str], bool]) -> Flags:
    """By code of a name: whether it passes the test."""
    return np.array([test(name) for name in texts], bool)


def _stated_twice(calls: InMemory | Spooled, of: _Shards) -> Flags:
    """By shard: whether another one that was in collectives states the same rank."""
    ranked = np.nonzero(of.rank >= 0)[0].tolist()
    named: dict[tuple[int, int], list[int]] = {}
    for number in ranked:
        named.setdefault((int(of.restart[number]), int(of.rank[number])), []).append(number)
    twice = np.zeros(len(of.rank), bool)
    for numbers in named.values():
        if len(numbers) > 1:
            there = [number for number in numbers if calls.block(number, number + 1) is not None]
            twice[there] = len(there) > 1
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


def _group_sizes(meetings: _Meetings, stated: Integers) -> Integers:
    """By meeting: how many ranks its group has: what they state, else those that are here."""
    code, count = together([meetings.restart, meetings.group, meetings.place])
    here = np.zeros(count, np.int64)
    for block in meetings.blocks:
        shards = len(block.of.rank)
        pairs = np.unique(code[block.ids].astype(np.int64) * shards + block.shard)
        here += np.bincount(pairs // shards, minlength=count)
    return np.where(stated > 0, stated, here[code])


@dataclass
class _Judged:
    """Of each meeting: whether its ranks share a clock; whether it has a root; whether it is
    compared; whether it is of a step; the shortest stay, the last begin; who came last and first
    (ABSENT: nobody); for how long others waited while only the last one was missing; what came
    after it."""

    one_clock: Flags
    rooted: Flags
    matched: Flags
    in_step: Flags
    shortest: Integers
    last_begin: Integers
    last: Integers
    first: Integers
    saved: Integers
    transfer: Integers


def _fold(meetings: _Meetings, of: _Shards, done: Folded) -> None:
    rooted = _named(meetings.texts("kind"), lambda kind: kind == "rooted")
    seen = meetings.figures(
        shortest=(LEAST, lambda b: b.ns), last_begin=(MOST_OF, lambda b: b.begin),
        first_end=(LEAST, lambda b: b.begin + b.ns), boot=(LEAST, lambda b: b.boot),
        last_boot=(MOST_OF, lambda b: b.boot), name=(LEAST, lambda b: b.codes("name")),
        last_name=(MOST_OF, lambda b: b.codes("name")),
        rooted=(MOST_OF, lambda b: rooted[b.codes("kind")]),
        among=(LEAST, lambda b: b.numbers("among")),
        most_among=(MOST_OF, lambda b: b.numbers("among")),
        least_bytes=(LEAST, lambda b: _or(b.numbers("bytes"), ABSENT, MOST)),
        bytes=(MOST_OF, lambda b: b.numbers("bytes")),
        group_size=(MOST_OF, lambda b: b.numbers("group_size")),
        step=(LEAST, lambda b: _or(b.numbers("step"), ABSENT, MOST)),
        lowest=(LEAST, lambda b: b.rank))
    size = np.where(meetings.pair, 2, _group_sizes(meetings, seen["group_size"]))
    if meetings.pair.any():
        _look_at_pairs(meetings, seen)
    judged, unmatched = _judge(meetings, seen, size)
    waited_of, waits = np.zeros(meetings.count, np.int64), np.zeros((3, len(of.rank)), np.int64)
    met = judged.matched & (meetings.calls > 1)
    whose = np.where(judged.last == ABSENT, seen["lowest"], judged.last)
    hops = []
    for block in meetings.blocks:
        _add_waits(block, judged, waited_of, waits)
        hops.append(_hops_of(block, met[block.ids] & ~_left(block, judged), whose))
        block.forget()
    done.waits = _table(_WAITS, {
        SHARD: np.arange(len(of.rank)), "collectives": waits[0], "waited_ns": waits[1],
        "waited_in_steps_ns": waits[2]}).filter(waits[0] > 0)
    codes = {"group": meetings.group, "place": meetings.place, "name": meetings.name}
    done.meetings = _table(_MEETING, {
        "restart": meetings.restart, "step": column_of(seen["step"], MOST),
        "calls": meetings.calls, "ranks": meetings.calls, "group_size": size,
        **{name: text_column(meetings.texts(name), code) for name, code in codes.items()},
        "size_stated": seen["group_size"] > 0, "bytes": column_of(seen["bytes"]),
        "transfer_ns": judged.transfer, "waited_ns": waited_of,
        "first_rank": column_of(judged.first), "last_rank": column_of(judged.last),
        "unmatched": unmatched})
    done.hops, done.ends = _path_tables(pa.concat_tables(hops), judged, seen["step"])
    done.stays = _stays_of(meetings, met & ~judged.one_clock)


def _look_at_pairs(meetings: _Meetings, seen: dict[str, Integers]) -> None:
    """Gives each transfer the name of its send, and notes when that began (`sent`) and its receive
    ended (`received`)."""
    more = meetings.figures(
        name=(LEAST, lambda b: np.where(b.sends, b.codes("name").astype(np.int64), MOST)),
        sent=(LEAST, lambda b: np.where(b.sends, b.begin, MOST)),
        received=(LEAST, lambda b: np.where(b.sends, MOST, b.begin + b.ns)))
    named = meetings.pair & (more["name"] != MOST)
    meetings.name = np.where(named, more["name"], meetings.name)
    seen |= {name: more[name] for name in ("sent", "received")}


def _or(cells: Integers, absent: int, instead: int) -> Integers:
    return np.where(cells == absent, instead, cells)


def _judge(meetings: _Meetings, seen: dict[str, Integers],
           size: Integers) -> tuple[_Judged, Integers]:
    """And why each meeting is compared with nothing, "" where it is compared."""
    shortest, last_begin, first_end = (seen[n] for n in ("shortest", "last_begin", "first_end"))
    one_clock = (seen["boot"] >= 0) & (seen["boot"] == seen["last_boot"])
    rooted = (seen["rooted"] > 0) | meetings.pair
    unmatched = _reasons(meetings, seen, size, one_clock, rooted)
    transfer = np.where(one_clock, np.clip(first_end - last_begin, 0, shortest), shortest)

    def came(block: _Block) -> Integers:  # later: larger
        return np.where(one_clock[block.ids], block.begin, -block.ns)

    ends = meetings.figures(latest=(MOST_OF, came), earliest=(LEAST, came))
    latest, earliest = ends["latest"], ends["earliest"]
    last, first = np.full((2, meetings.count), MOST, np.int64)
    before = np.full(meetings.count, -MOST, np.int64)
    lasts = np.zeros(meetings.count, np.int64)
    for block in meetings.blocks:
        of_block, ids, rank = came(block), block.ids, block.rank
        is_last, is_first = of_block == latest[ids], of_block == earliest[ids]
        LEAST(last, ids[is_last], rank[is_last])
        LEAST(first, ids[is_first], rank[is_first])
        MOST_OF(before, ids[~is_last], of_block[~is_last])
        lasts += np.bincount(ids[is_last], minlength=meetings.count)
        block.forget()
    last[latest == earliest] = first[latest == earliest] = ABSENT
    alone = (lasts == 1) & (before > -MOST)
    saved = np.where(alone, latest - np.where(alone, before, latest), 0)
    judged = _Judged(one_clock, rooted, unmatched == "", seen["step"] != MOST, shortest, last_begin,
                     last, first, saved, transfer)
    # Nothing is saved while nobody waits.
    most = meetings.figures(waited=(MOST_OF, lambda b: _waited(b, judged)))["waited"]
    judged.saved = np.minimum(saved, most)
    return judged, unmatched


def _waited(block: _Block, judged: _Judged) -> Integers:
    """For how long each call of a block waited. Who sends or is served at once, in a collective
    with a root, leaves without the last one, and did not wait for it."""
    ids, begin, ns = block.ids, block.begin, block.ns
    by_clock = np.where(_left(block, judged), 0, np.clip(judged.last_begin[ids] - begin, 0, ns))
    return np.where(judged.one_clock[ids], by_clock, ns - judged.shortest[ids])


def _left(block: _Block, judged: _Judged) -> Flags:
    """Which calls left before the last rank came, where that can be: who receives from one rank
    does not."""
    ids = block.ids
    early = block.begin + block.ns < judged.last_begin[ids]
    may = judged.rooted[ids] & judged.one_clock[ids] & (block.sends | ~block.pairs)
    return np.asarray(may & early)


def _reasons(meetings: _Meetings, seen: dict[str, Integers], size: Integers, one_clock: Flags,
             rooted: Flags) -> Integers:
    """Why each meeting is compared with nothing: the first reason that holds; "" where none
    does."""
    names = meetings.texts("name")
    uneven = _named(names, lambda n: bool(_UNEVEN.search(n)))[meetings.name]
    nameless = _named(meetings.texts("group"), lambda group: not group)[meetings.group]
    apart = seen["last_begin"] > seen["first_end"] + spec.CLOCK_ERROR_NS
    early = meetings.pair & (seen.get("sent", 0) > seen.get("received", 0) + _STAMPED_LATE_NS)
    reasons = [
        (nameless & (seen["group_size"] <= 0) & (size > 2), "group not stated"),
        (size == 1, "the group has one rank"),
        (meetings.calls == 1, "no other rank of the group has it"),
        ((seen["name"] != seen["last_name"]) & ~meetings.pair, "the names differ"),
        (seen["among"] != seen["most_among"], "the ranks have different numbers of it"),
        ((seen["least_bytes"] < seen["bytes"]) & ~uneven, "the sizes differ"),
        (one_clock & (early | ~rooted & apart), "the ranks were not in it at the same time"),
        (rooted & ~one_clock, "it has a root, the ranks no common clock")]
    return np.select([holds for holds, _ in reasons], [reason for _, reason in reasons], "")


def _add_waits(block: _Block, judged: _Judged, of_meetings: Integers, of_shards: Integers) -> None:
    """Adds what the calls of a block waited, to their meetings and shards (collectives, waited,
    waited in steps: those of the meetings, so that all tables have the same sum)."""
    ids, begin = block.ids, block.begin
    matched = judged.matched[ids]
    until = begin + _waited(block, judged)
    waited = each_instant_once(block.shard, begin, np.where(matched, until, begin))
    add_sums(of_meetings, ids, waited)
    of_shards[0] += np.bincount(block.shard[matched], minlength=of_shards.shape[1])
    add_sums(of_shards[1], block.shard, waited)
    add_sums(of_shards[2], block.shard, np.where(judged.in_step[ids], waited, 0))


def _hops_of(block: _Block, met: Flags, whose: Integers) -> pa.Table:
    """Of the calls of a block that `met` others: those of the ranks `whose` (`hop`), and the last
    one of each shard, with what lay before them on their rank."""
    kept = np.nonzero(met)[0]
    begin, shard, ids = block.begin[kept], block.shard[kept], block.ids[kept].astype(np.int64)
    end, rank = begin + block.ns[kept], block.rank[kept]
    order = _by_end(shard, end, begin, ids)
    before = np.full(len(kept), -1)
    same = shard[order][1:] == shard[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    wanted = rank == whose[ids]
    wanted[order[np.append(~same, True)[:len(order)]]] = True  # the last one of each shard
    rows = np.nonzero(wanted)[0]
    ahead, ended = before[rows], _ended_before(shard, begin, end, order)[rows]
    none = ahead < 0
    codes = block.codes("operation")[kept][rows]
    return pa.table({
        "restart": block.of.restart[shard[rows]], "meeting": ids[rows],
        "rank": rank[rows], "operation": text_column(block.rows.texts("operation"), codes),
        "boot": block.boot[kept][rows], "begin_ns": begin[rows], "end_ns": end[rows],
        "before": column_of(np.where(none, ABSENT, ids[ahead])),
        "free_ns": column_of(np.where(none, ABSENT, end[ahead])),
        "since_ns": np.where(ended < 0, MOST, begin[rows] - end[ended]),
        "hop": rank[rows] == whose[ids[rows]]})


def _path_tables(calls: pa.Table, judged: _Judged, step: Integers) -> tuple[pa.Table, pa.Table]:
    """`hops` and `ends` from the rows of _hops_of()."""
    hops = calls.filter(calls.column("hop"))
    hops = hops.take(pa.array(np.argsort(hops.column("meeting").to_numpy(), kind="stable")))
    meeting = hops.column("meeting").to_numpy()
    columns = {name: hops.column(name) for name in hops.column_names}
    # While a rank is in the meeting before, it is not the one that is missing.
    saved = np.minimum(judged.saved[meeting], hops.column("since_ns").to_numpy())
    columns |= {"step": column_of(step[meeting], MOST), "saved_ns": pa.array(saved)}
    ends: dict[int, tuple[int, ...]] = {}  # by restart: -rank, end, meeting, boot: the largest
    for restart, rank, *end in zip(*(calls.column(c).to_pylist() for c in (
            "restart", "rank", "end_ns", "meeting", "boot"))):
        ends[restart] = max(ends.get(restart, (-MOST,)), (-rank, *end))
    table = pa.table({name: columns[name].cast(kind) for name, kind in _HOPS.items()})
    _, end, last, boot = zip(*ends.values()) if ends else ([], [], [], [])
    return table, _table(_ENDS, {"restart": list(ends), "meeting": last, "boot": boot,
                                 "end_ns": end})


def _ended_before(shard: Integers, begin: Integers, end: Integers, order: Integers) -> Integers:
    """Of each call the last one of its shard that had ended when it began; -1: none. `order`: of
    _by_end()."""
    out, ends = np.full(len(order), -1), end[order]
    cuts = [0, *(np.nonzero(shard[1:] != shard[:-1])[0] + 1).tolist(), len(shard)]
    for first, stop in zip(cuts, cuts[1:]):
        of_shard = order[first:stop]
        place = np.searchsorted(ends[first:stop], begin[of_shard], side="right")
        place = np.minimum(place, np.arange(stop - first))  # not itself, which may take no time
        out[of_shard] = np.where(place > 0, of_shard[place - 1], -1)
    return out


def _by_end(shard: Integers, end: Integers, begin: Integers, ids: Integers) -> Integers:
    """The order of rows by shard and end; ties by begin and meeting. Requires: by shard."""
    order = np.arange(len(shard))
    cuts = [0, *(np.nonzero(shard[1:] != shard[:-1])[0] + 1).tolist(), len(shard)]
    falls = np.zeros(len(shard), bool)
    falls[1:] = end[1:] <= end[:-1]
    for first, stop in zip(cuts, cuts[1:]):
        if falls[first + 1:stop].any():
            order[first:stop] = first + np.lexsort((ids[first:stop], begin[first:stop],
                                                    end[first:stop]))
    return order


def _stays_of(meetings: _Meetings, met: Flags) -> pa.Table:
    parts = []
    for block in meetings.blocks:
        kept = met[block.ids] & (block.boot >= 0)
        if kept.any():
            begin = block.begin[kept]
            parts.append((block.ids[kept], block.boot[kept], begin, begin + block.ns[kept]))
            parts[-1] = _closest(*parts[-1])
        block.forget()
    if not parts:
        return _empty(_STAYS)
    meeting, boot, come, gone = _closest(*(np.concatenate(cells) for cells in zip(*parts)))
    return _table(_STAYS, {"meeting": meeting, "boot": boot + 1, "come_ns": come, "gone_ns": gone})


def _closest(meeting: Integers, boot: Integers, come: Integers,
             gone: Integers) -> tuple[Integers, ...]:
    """One row for each meeting and boot: the last to come, the first to leave."""
    groups = Groups(*together([meeting, boot]))
    first = groups.first()
    return meeting[first], boot[first], groups.most(come), groups.least(gone)


def each_instant_once(shard: Integers, begin: Integers, until: Integers) -> Integers:
    """What each wait, from its begin until then, adds to the waiting of its shard: of waits that
    overlap, the earlier one counts. Requires: rows are by shard."""
    order = None
    if np.any((begin[1:] < begin[:-1]) & (shard[1:] == shard[:-1])):  # not in order of time
        order = np.lexsort((until, begin, shard))
        begin, until, shard = begin[order], until[order], shard[order]
    covered = until.copy()
    cuts = np.nonzero(shard[1:] != shard[:-1])[0] + 1
    for part in np.split(covered, cuts):  # views
        np.maximum.accumulate(part, out=part)
    before = np.empty_like(covered)
    before[1:] = covered[:-1]
    before[np.concatenate([[0], cuts])] = -MOST
    waited = np.clip(until - np.maximum(begin, before), 0, None)
    if order is None:
        return waited
    out = np.empty_like(waited)
    out[order] = waited
    return out
