"""Waiting in collectives, against a plain account of generated programs."""

import random

import pyarrow as pa
import synthetic
from crosscut.cluster import ledger, merging, spec
from crosscut.cluster.finish import finish
from crosscut.cluster.mapping import with_ordinals
from crosscut.cluster.partial import SHARD


def call(name="gloo:all_reduce", group="world", stay=100, leave=10_000, kind="all", **more):
    """A row of `collective_calls`: a rank that leaves a collective at that time."""
    return {"group": group, "name": name, "kind": kind, "place": "host", "seq": 0, "step": 0,
            "operation": "train", "begin_ns": leave - stay, "ns": stay, "bytes": 4, "peer": None,
            "group_size": None, **more}


def ledger_of(rows):
    """The ledger of one rank."""
    rows = sorted(rows, key=lambda row: row["begin_ns"])
    stated = call()
    table = pa.table({SHARD: pa.array([0] * len(rows), pa.int32()), **{
        name: pa.array([row[name] for row in rows],
                       pa.string() if name in spec.LEDGER_TEXTS else pa.int64())
        for name in stated}})
    return spec.narrow_ledger(with_ordinals(table))


def finished(ledgers, per_host=1):
    """The tables of a job whose rank r has the ledger ledgers[r]."""
    parts = synthetic.partials_of(synthetic.Job(ranks=len(ledgers), per_host=per_host, steps=4))
    for part, rows in zip(parts, ledgers):
        part.tables[spec.LEDGER] = ledger_of(rows)
    return finish(merging.merge(parts)).tables


def waits_of(tables):
    """By rank: what it waited, and what the others waited for it."""
    return {row["rank"]: (row["waited_ns"], row["made_wait_ns"])
            for row in tables["stragglers"].to_pylist()}


class Program:
    """A program of six ranks on two hosts, with groups of its own, in which ranks are late by known
    times; some of its records are lost, as by a full ring, some are disturbed. Each host has a
    clock of its own. With `seqs`, ordinals in the group are stated."""

    GROUPS = {"world": range(6), "left": (0, 1, 2), "right": (3, 4, 5), "pairs": (1, 4)}

    def __init__(self, seed, seqs):
        self.chance = random.Random(seed)
        self.seqs = seqs
        self.ledgers = [[] for _ in range(6)]
        self.waited, self.made, self.unmatched, self.now = [0] * 6, [0] * 6, 0, 0
        for step in range(4):
            for number in range(self.chance.randint(0, 3)):
                for group, members in self.GROUPS.items():
                    self.meet(group, members, step, 4 * step + number)

    def meet(self, group, members, step, seq):
        """One collective of the group. Without stated ordinals nothing is lost inside a step: what
        is would be matched with something else, or not at all."""
        self.now += 10_000_000
        transfer = self.chance.randint(1, 1000)
        late = {rank: self.chance.choice([0, 0, self.chance.randint(1, 10**6)]) for rank in members}
        latest = max(late.values())
        stays = {rank: transfer + latest - late[rank] for rank in members}
        fates = ["whole"] * 3 + ["size"] + ["lost", "twice", "name"] * self.seqs
        fate, odd = self.chance.choice(fates), self.chance.choice(list(members))
        if fate == "lost":
            del stays[odd]
        for rank, stay in stays.items():
            changed = rank == odd
            row = call("gloo:broadcast" if fate == "name" and changed else "gloo:all_reduce", group,
                       stay, self.now + (rank // 3) * 77_000_000_000, step=step,
                       seq=seq if self.seqs else None,
                       bytes=8 if fate == "size" and changed else 4, group_size=len(members))
            self.ledgers[rank] += [row, row] if fate == "twice" and changed else [row]
        if fate in ("size", "name", "twice") or len(stays) < 2:
            self.unmatched += len(stays) + (fate == "twice")
            return
        shortest = min(stays.values())
        last = min(stays, key=lambda rank: (stays[rank], rank))
        for rank, stay in stays.items():
            self.waited[rank] += stay - shortest
            self.made[last] += stay - shortest


def test_waiting_is_told_exactly_and_what_does_not_match_is_counted(monkeypatch):
    for seed in range(50):
        monkeypatch.setattr(ledger, "_BLOCK_SHARDS", 1 + seed % 7)
        program = Program(seed, seqs=seed % 2 == 0)
        tables = finished(program.ledgers, per_host=3)
        told = waits_of(tables)
        for rank in range(6):
            expected = program.waited[rank], program.made[rank]
            assert told.get(rank, (0, 0)) == expected, (seed, rank)
        unmatched = sum(tables["unmatched"].column("calls").to_pylist())
        assert unmatched == program.unmatched, seed
        assert sum(program.waited) == sum(program.made)
        assert sum(tables["collectives"].column("waited_ns").to_pylist()) == sum(program.waited)
        steps = tables["straggler_steps"].column("waited_ns").to_pylist()
        assert sum(steps) == sum(program.waited)


def test_the_groups_of_a_rank_do_not_blame_each_other():
    """Rank 2 is late in its own group only; the other group's ranks wait for nobody."""
    late = [[call(group="left", stay=stay)] for stay in (900, 900, 100)]
    prompt = [[call(group="right", stay=40)] for _ in range(3)]
    tables = finished([*late, *prompt])
    assert waits_of(tables) == {0: (800, 0), 1: (800, 0), 2: (0, 1600), 3: (0, 0), 4: (0, 0),
                                5: (0, 0)}
    first = tables["stragglers"].to_pylist()[0]
    assert first["rank"] == 2 and first["share_ppm"] == 1_000_000


def test_a_rank_that_starts_late_is_not_blamed_for_what_it_was_not_in():
    early = [call(step=step, seq=step, stay=50, leave=1000 * step + 1000) for step in range(4)]
    tables = finished([early, early, early[2:]])
    [row] = tables["collectives"].to_pylist()
    assert (row["count"], row["incomplete_count"], row["waited_ns"]) == (4, 2, 0)


def test_a_group_that_states_its_size_knows_that_a_rank_is_missing():
    tables = finished([[call(group_size=5)], [call(group_size=5)]])
    [row] = tables["collectives"].to_pylist()
    assert (row["ranks"], row["group_size"], row["incomplete_count"]) == (2, 5, 1)
    part = merging.merge([synthetic.partial_of(synthetic.Job(ranks=4), rank) for rank in range(3)])
    calls = part.tables[spec.LEDGER]
    at = calls.column_names.index("group_size")
    part.tables[spec.LEDGER] = calls.set_column(at, "group_size", pa.nulls(len(calls), pa.int32()))
    [row] = finish(part).tables["collectives"].to_pylist()
    assert row["incomplete_count"] is None, "rank 3 is missing; whether it belongs is not known"


def test_waits_that_overlap_count_once():
    """Two collectives in flight at once, as buckets of gradients are: the second one's wait lies in
    the first one's but for its end."""
    waits = [call(seq=0, stay=1000, leave=2000), call(seq=1, stay=900, leave=2100)]
    late = [call(seq=0, stay=10, leave=2000), call(seq=1, stay=10, leave=2100)]
    assert waits_of(finished([waits, late])) == {0: (1090, 0), 1: (0, 1090)}


def test_on_one_host_begins_say_who_came_last():
    """Rank 1 came last, though rank 0, which left early, was in it for a shorter time."""
    tables = finished([[call(stay=300, leave=1000)], [call(stay=310, leave=1290)]], per_host=2)
    assert waits_of(tables) == {0: (280, 0), 1: (0, 280)}
    apart = finished([[call(leave=1000)], [call(leave=900_000)]], per_host=2)
    assert apart["unmatched"].to_pylist()[0]["reason"] == (
        "the ranks were not in it at the same time")


def test_of_a_root_nothing_is_told_across_hosts():
    rows = [[call("mpi4py.Comm.bcast", kind="rooted", stay=stay, leave=5000)]
            for stay in (400, 100)]
    assert finished(rows)["unmatched"].to_pylist()[0]["reason"] == (
        "it has a root, the ranks no common clock")
    assert waits_of(finished(rows, per_host=2)) == {0: (300, 0), 1: (0, 300)}


def test_without_ordinals_different_numbers_in_a_step_match_nothing():
    def rows(count):
        return [call(seq=None, leave=1000 * n + 1000) for n in range(count)]

    tables = finished([rows(3), rows(2)])
    assert tables["collectives"].num_rows == 0
    assert sum(tables["unmatched"].column("calls").to_pylist()) == 5


def test_several_kernels_of_one_collective_are_matched_in_order():
    parts = [call("ncclKernel", seq=4, stay=stay, leave=leave) for stay, leave in
             ((500, 1000), (90, 2000))]
    late = [call("ncclKernel", seq=4, stay=50, leave=leave) for leave in (1000, 2000)]
    tables = finished([parts, late])
    assert tables["collectives"].to_pylist()[0]["count"] == 2
    assert waits_of(tables) == {0: (490, 0), 1: (0, 490)}


def sent(sender, to, leaves, comes, stay=10):
    """By rank: the calls of a transfer whose sender leaves at a time, and whose receiver comes
    at one and stays for the rest."""
    return {sender: call("gloo:send", kind="pair", peer=to, seq=None, stay=stay, leave=leaves),
            to: call("gloo:recv", kind="pair", peer=sender, seq=None,
                     stay=max(leaves - comes, stay), leave=max(leaves, comes + stay))}


def test_a_receive_waits_for_its_send_and_a_send_only_where_it_stays():
    late, early = sent(0, 1, leaves=1000, comes=400), sent(0, 1, leaves=200, comes=5000)
    meets = {0: {**early[0], "ns": 4900, "begin_ns": 120}, 1: early[1]}  # leaves with the other
    for calls, waits in ((late, {0: (0, 590), 1: (590, 0)}), (early, {0: (0, 0), 1: (0, 0)}),
                         (meets, {0: (4880, 0), 1: (0, 4880)})):
        tables = finished([[calls[0]], [calls[1]]], per_host=2)
        assert [(row["name"], row["count"], row["ranks"]) for row in
                tables["collectives"].to_pylist()] == [("gloo:send", 1, 2)]
        assert waits_of(tables) == waits


def test_each_way_between_two_ranks_counts_for_itself():
    there, back = sent(0, 1, leaves=300, comes=200), sent(1, 0, leaves=900, comes=800)
    tables = finished([[there[0], back[0]], [there[1], back[1]]], per_host=2)
    assert tables["unmatched"].num_rows == 0
    assert waits_of(tables) == {0: (90, 90), 1: (90, 90)}


def test_transfers_of_which_it_is_not_known_between_whom_are_counted():
    for more in ({"peer": None}, {"group_size": 5}, {"name": "ncclDevKernel_SendRecv"}):
        calls = [{**one, **more} for one in sent(0, 1, leaves=300, comes=200).values()]
        tables = finished([[one] for one in calls], per_host=2)
        assert tables["collectives"].num_rows == 0
        assert {row["reason"] for row in tables["unmatched"].to_pylist()} == {"between two ranks"}
    calls = sent(0, 1, leaves=300, comes=200)
    before = {**calls[1], "begin_ns": calls[1]["begin_ns"] - 10**9}
    for other, reason in (([before], "the ranks were not in it at the same time"),
                          ([before, calls[1]], "the ranks have different numbers of it")):
        tables = finished([[calls[0]], other], per_host=2)
        assert tables["collectives"].num_rows == 0
        assert reason in {row["reason"] for row in tables["unmatched"].to_pylist()}


def test_gathers_may_differ_in_size_and_reductions_may_not():
    def two(name):
        return [[call(name, bytes=4)], [call(name, bytes=8)]]

    assert finished(two("gloo:all_gather"))["collectives"].num_rows == 1
    assert finished(two("gloo:all_reduce"))["collectives"].num_rows == 0
    reason = finished(two("gloo:all_reduce"))["unmatched"].to_pylist()[0]["reason"]
    assert reason == "the sizes differ"


def test_calls_outside_of_steps_match_each_other():
    tables = finished([[call(step=None, seq=None, stay=70)], [call(step=None, seq=None, stay=30)]])
    assert tables["collectives"].to_pylist()[0]["waited_ns"] == 40
    assert tables["straggler_steps"].num_rows == 0


def test_calls_that_state_no_group_are_compared_only_where_it_cannot_be_another():
    for size, compared in ((None, False), (3, True)):
        tables = finished([[call(group="", stay=stay, group_size=size)]
                           for stay in (300, 200, 100)])
        assert bool(tables["stragglers"].num_rows) == compared
        reasons = [row["reason"] for row in tables["unmatched"].to_pylist()]
        assert reasons == ([] if compared else ["group not stated"])
    two = finished([[call(group="", stay=stay)] for stay in (300, 100)])
    assert waits_of(two) == {0: (200, 0), 1: (0, 200)}


def test_who_leaves_a_broadcast_before_the_last_comes_did_not_wait_for_it():
    rows = [[call("gloo:broadcast", kind="rooted", stay=10, leave=leave)] for leave in (500, 9000)]
    tables = finished(rows, per_host=2)
    assert waits_of(tables) == {0: (0, 0), 1: (0, 0)}
    assert all(row["saved_ns"] == 0 for row in tables["stragglers"].to_pylist())


def test_waiting_in_steps_is_that_of_the_meetings_whoever_was_in_a_step():
    """Rank 1 does not mark its steps; rank 0, for which it waits, does."""
    late = [call(seq=seq, step=seq, stay=10, leave=1000 * seq + 1000) for seq in range(3)]
    waits = [{**row, "step": None, "begin_ns": row["begin_ns"] - 90, "ns": 100} for row in late]
    rows = {row["rank"]: row for row in finished([late, waits])["stragglers"].to_pylist()}
    assert [rows[rank]["waited_in_steps_ns"] for rank in (0, 1)] == [0, 270]
    assert rows[0]["made_wait_in_steps_ns"] == 270 and rows[0]["share_ppm"] == 10**6


def test_transfers_of_several_names_between_two_ranks_are_told_apart():
    there = [sent(0, 1, leaves=leaves, comes=leaves - 100) for leaves in (1000, 2000)]
    there[1][0]["name"], there[1][1]["name"] = "mpi:send", "mpi:recv"
    tables = finished([[one[0] for one in there], [one[1] for one in there]], per_host=2)
    assert [(row["name"], row["count"], row["ranks"]) for row in
            tables["collectives"].to_pylist()] == [("gloo:send", 1, 2), ("mpi:send", 1, 2)]


def test_the_ranks_between_which_a_transfer_goes_are_those_of_the_job():
    """Ranks 0 and 1 of four are here; a group of two numbers its ranks by itself."""
    for size, compared in ((4, 1), (2, 0)):
        calls = sent(0, 1, leaves=300, comes=200)
        parts = synthetic.partials_of(synthetic.Job(ranks=4, per_host=4, steps=4))[:2]
        for part, of in zip(parts, calls.values()):
            part.tables[spec.LEDGER] = ledger_of([{**of, "group_size": size}])
        assert finish(merging.merge(parts)).tables["collectives"].num_rows == compared


def test_bytes_are_known_only_where_all_collectives_state_them():
    def rows(*sizes, stay=100):
        return [call(seq=n, bytes=size, stay=stay, leave=1000 * n + 1000)
                for n, size in enumerate(sizes)]

    for sizes, expected, rate in (((4, 4), 8, 40_000_000), ((4, None), None, None),
                                  ((1 << 62, 1 << 62), None, None), ((1 << 40,), 1 << 40, None)):
        stay = 1 if rate is None else 100
        [row] = finished([rows(*sizes, stay=stay)] * 2)["collectives"].to_pylist()
        assert (row["bytes"], row["bytes_per_s"]) == (expected, rate), sizes
    one = finished([rows(4), rows(None)])
    assert one["collectives"].to_pylist()[0]["bytes"] == 4 and not one["unmatched"].num_rows


def test_a_rank_is_not_missing_while_it_is_in_what_ended_before():
    """Its last call but one is still in flight when the last one begins; one before has ended."""
    late = [call(group=group, seq=0, stay=stay, leave=leave)
            for group, stay, leave in (("a", 100, 1000), ("b", 1100, 2050), ("c", 100, 2100))]
    prompt = [call(group="c", seq=0, stay=2000, leave=2100)]
    others = [call(group=group, seq=0, stay=stay, leave=leave)
              for group, stay, leave in (("a", 90, 1000), ("b", 40, 2050))]
    rows = finished([late, prompt, others], per_host=3)["stragglers"].to_pylist()
    assert {row["rank"]: row["saved_ns"] for row in rows}[0] == 1000
