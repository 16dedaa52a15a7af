"""Waiting in collectives, against a plain account of generated programs."""

import random

import pyarrow as pa
import synthetic
from crosscut.cluster import merging, spec
from crosscut.cluster.finish import finish
from crosscut.cluster.partial import SHARD

JOB = synthetic.Job(ranks=6, per_host=3, steps=4)


def ledger_of(rows):
    """The ledger of one rank from rows (group, name, step, ordinal, seq, duration, bytes, peer)."""
    names = ("group", "name", "step", "ordinal", "seq", "duration_ns", "bytes", "peer")
    columns = dict(zip(names, zip(*rows))) if rows else {name: () for name in names}
    count = len(rows)
    return pa.table({SHARD: pa.array([0] * count, pa.int32()), **{
        name: pa.array({"where": ["host"] * count, "operation": ["train"] * count,
                        "begin_ns": [0] * count, **columns}[name],
                       pa.string() if name in spec.LEDGER_TEXTS else pa.int64())
        for name in spec.LEDGER_COLUMNS}})


def finished(ledgers):
    """The tables of a job whose rank r has the ledger ledgers[r]."""
    parts = synthetic.partials_of(synthetic.Job(ranks=len(ledgers), per_host=3, steps=4))
    for part, rows in zip(parts, ledgers):
        part.tables[spec.LEDGER] = ledger_of(rows)
    return finish(merging.merge(parts)).tables


class Program:
    """A program of six ranks in groups of its own, in which ranks are late by known times; some of
    its records are lost, as by a full ring, some are disturbed."""

    GROUPS = {"world": range(6), "left": (0, 1, 2), "right": (3, 4, 5), "pairs": (1, 4)}

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.ledgers = [[] for _ in range(6)]
        self.waited, self.made, self.unmatched = [0] * 6, [0] * 6, 0
        for group, members in self.GROUPS.items():
            seq = 0
            for step in range(4):
                for ordinal in range(self.chance.randint(0, 3)):
                    self.meet(group, members, (step, ordinal, seq))
                    seq += 1

    def meet(self, group, members, key):
        """One collective of the group."""
        step, ordinal, seq = key
        transfer = self.chance.randint(1, 1000)
        late = {rank: self.chance.choice([0, 0, self.chance.randint(1, 10**6)]) for rank in members}
        latest = max(late.values())
        stays = {rank: transfer + latest - late[rank] for rank in members}
        fate = self.chance.choice(["whole", "whole", "whole", "lost", "size", "seq", "twice"])
        odd = self.chance.choice(list(members))
        if fate == "lost":
            del stays[odd]
        for rank, stay in stays.items():
            size = 8 if fate == "size" and rank == odd else 4
            number = seq + 100 if fate == "seq" and rank == odd else seq
            row = (group, "all_reduce", step, ordinal, number, stay, size, None)
            self.ledgers[rank] += [row, row] if fate == "twice" and rank == odd else [row]
        if fate in ("size", "seq", "twice") or len(stays) < 2:
            self.unmatched += len(stays) + (fate == "twice")
            return
        shortest = min(stays.values())
        for rank, stay in stays.items():
            self.waited[rank] += stay - shortest
        if max(stays.values()) > shortest:
            self.made[min(stays, key=lambda rank: (stays[rank], rank))] += sum(
                stay - shortest for stay in stays.values())


def test_waiting_is_told_exactly_and_what_does_not_match_is_counted():
    for seed in range(50):
        program = Program(seed)
        tables = finished(program.ledgers)
        rows = {row["rank"]: row for row in tables["stragglers"].to_pylist()}
        for rank in range(6):
            row = rows.get(rank, {"waited_ns": 0, "made_wait_ns": 0})
            assert (row["waited_ns"], row["made_wait_ns"]) == (
                program.waited[rank], program.made[rank]), (seed, rank)
        unmatched = sum(tables["unmatched"].column("calls").to_pylist())
        # A group all of whose other records were lost has one rank here.
        assert unmatched == program.unmatched, seed
        assert sum(program.waited) == sum(program.made)
        assert sum(tables["collectives"].column("waited_ns").to_pylist()) == sum(program.waited)
        assert sum(tables["straggler_steps"].column("waited_ns").to_pylist()) <= sum(program.waited)


def test_the_groups_of_a_rank_do_not_blame_each_other():
    """Rank 2 is late in its own group only; the other group's ranks wait for nobody."""
    late = [[("left", "all_reduce", 0, 0, 0, stay, 4, None)] for stay in (900, 900, 100)]
    prompt = [[("right", "all_reduce", 0, 0, 0, 40, 4, None)] for _ in range(3)]
    rows = finished([*late, *prompt])["stragglers"].to_pylist()
    assert {row["rank"]: (row["waited_ns"], row["made_wait_ns"]) for row in rows} == {
        0: (800, 0), 1: (800, 0), 2: (0, 1600), 3: (0, 0), 4: (0, 0), 5: (0, 0)}
    assert rows[0]["rank"] == 2 and rows[0]["share_ppm"] == 1_000_000


def test_a_rank_that_starts_late_is_not_blamed_for_what_it_was_not_in():
    early = [("world", "all_reduce", step, 0, step, 50, 4, None) for step in range(4)]
    tables = finished([early, early, early[2:]])
    [row] = tables["collectives"].to_pylist()
    assert (row["count"], row["incomplete_count"], row["waited_ns"]) == (4, 2, 0)


def test_sends_are_counted_and_not_compared():
    rows = [("world", "send", 0, 0, 0, 500, 4, 1)], [("world", "recv", 0, 0, 0, 20, 4, 0)]
    tables = finished(rows)
    assert tables["collectives"].num_rows == 0
    assert [(row["name"], row["calls"], row["reason"]) for row in
            tables["unmatched"].to_pylist()] == [
        ("recv", 1, "from rank to rank: not compared"),
        ("send", 1, "from rank to rank: not compared")]


def test_gathers_may_differ_in_size_and_reductions_may_not():
    def two(name):
        return [[("world", name, 0, 0, 0, 500, 4, None)], [("world", name, 0, 0, 0, 20, 8, None)]]

    assert finished(two("all_gather"))["collectives"].num_rows == 1
    assert finished(two("all_reduce"))["collectives"].num_rows == 0
    assert finished(two("all_reduce"))["unmatched"].to_pylist()[0]["reason"] == "the sizes differ"


def test_calls_outside_of_steps_match_each_other():
    def row(stay):
        return ("world", "broadcast", None, 0, 0, stay, 4, None)

    tables = finished([[row(70)], [row(30)]])
    assert tables["collectives"].to_pylist()[0]["waited_ns"] == 40
    assert tables["straggler_steps"].num_rows == 0
