"""The path across ranks adds up to the time that went by, and what a late rank costs is known."""

import random

from crosscut.cluster import merging
from crosscut.cluster.finish import finish
from synthetic import TRANSFER_NS, Job, partials_of
from test_collectives import call, finished


def path_of(ledgers, per_host):
    """What the path of a job says of each rank and kind."""
    rows = finished(ledgers, per_host)["cluster_path"].to_pylist()
    return {(row["rank"], row["kind"]): row["ns"] for row in rows}


def test_the_path_goes_through_the_late_rank_and_adds_up():
    job = Job(ranks=4, per_host=2, steps=20)
    whole = merging.merge(partials_of(job))
    path = finish(whole).tables["cluster_path"].to_pylist()
    calls = whole.tables["collective_calls"].to_pylist()
    of_first = [call for call in calls if call["shard"] == 0]
    shortest_of_first = TRANSFER_NS  # of the collective in which the path begins
    begin = min(call["begin_ns"] + call["ns"] for call in of_first) - shortest_of_first
    end = max(call["begin_ns"] + call["ns"] for call in of_first)
    assert sum(row["ns"] for row in path) == end - begin
    work = [row for row in path if row["kind"] == "work"]
    assert work[0]["rank"] == job.late
    assert sum(row["share_ppm"] for row in path) <= 10**6


def test_what_a_late_rank_costs_is_the_time_in_which_only_it_was_missing():
    job = Job(ranks=4, per_host=2, steps=20)
    rows = {row["rank"]: row for row in finish(merging.merge(partials_of(job)))
            .tables["stragglers"].to_pylist()}
    assert rows[job.late]["saved_in_steps_ns"] == job.steps * job.late_ns
    others = [row["saved_ns"] for rank, row in rows.items() if rank != job.late]
    assert others == [0] * (job.ranks - 1)


def in_flight(chance, hosts, lag):
    """The ledgers of four ranks, and how long their path is. All are in each collective; some begin
    while the one before is in flight, and a rank leaves up to `lag` later than others."""
    ledgers, now, first_come, last_gone = [[] for _ in range(4)], 10_000, None, None
    for seq in range(12):
        now += chance.randint(100, 3000)
        came = [now - chance.choice([chance.randint(1, 90), chance.randint(1, 2500)])
                for _ in range(4)]
        if first_come is None:
            first_come = max(came)
        for rank, rows in enumerate(ledgers):
            begin, gone = max(came[rank], first_come - 5), now + chance.randint(0, lag)
            begin = came[rank] if seq == 0 else max(begin, first_come + 1)
            clock = 77_000_000 * (rank // (4 // hosts))
            rows.append(call(seq=seq, stay=gone - begin, leave=gone + clock))
            if rank == 0:
                last_gone = gone
    return ledgers, last_gone - first_come


def test_the_path_adds_up_whatever_is_in_flight_at_once():
    for seed in range(60):
        chance = random.Random(seed)
        hosts = 1 + seed % 2
        # Clocks of two hosts are compared by nothing: there all leave together.
        ledgers, expected = in_flight(chance, hosts, lag=80 if hosts == 1 else 0)
        assert sum(path_of(ledgers, 4 // hosts).values()) == expected, seed


def test_the_path_begins_where_its_last_rank_was_in_nothing_before():
    early = call(group="two", seq=0, stay=400, leave=500)
    both = [early, call(seq=0, stay=900, leave=2000)]
    assert path_of([both, both, [call(seq=0, stay=300, leave=2000)]], per_host=3) == {
        (2, "transfer"): 300}


def test_on_one_clock_a_rank_that_leaves_late_is_on_the_path():
    first, second = [call(seq=0, stay=100, leave=100)], [call(seq=0, stay=150, leave=150)]
    first += [call(seq=1, stay=90, leave=200)]
    second += [call(seq=1, stay=40, leave=200)]
    assert path_of([first, second], per_host=2) == {
        (1, "transfer"): 40, (1, "work"): 10, (0, "transfer"): 150}


def test_the_path_of_a_pipeline_goes_through_its_slow_rank():
    """Rank 0 gives to rank 1, and that to rank 2. Rank 1 works for 70 each time, the others for 5:
    they are blocked in their transfers for the rest."""
    chance = random.Random(4)
    ranks, free, rest = [[], [], []], [0, 0, 0], 0
    for number in range(30):
        rest += (work := chance.randint(60, 80))
        for to in (1, 2):
            come = [free[to - 1] + (work if to == 2 else 5), free[to] + 5]
            gone = max(come) + 3
            for rank, other, name, begin in ((to - 1, to, "gloo:send", come[0]),
                                             (to, to - 1, "gloo:recv", come[1])):
                ranks[rank].append(call(name, kind="pair", peer=other, seq=None, step=number,
                                        stay=gone - begin, leave=gone))
                free[rank] = gone
    path = path_of(ranks, per_host=3)
    slow = path[1, "work"]
    assert slow > 0.85 * rest and slow > 10 * sum(
        ns for (rank, kind), ns in path.items() if kind == "work" and rank != 1)


def test_a_rank_that_waits_itself_is_not_the_one_that_is_missing():
    first = [call(group="pair", seq=0, stay=10, leave=1000)]
    second = [call(group="pair", seq=0, stay=900, leave=1000), call(seq=0, stay=10, leave=1040)]
    third = [call(seq=0, stay=800, leave=1040)]
    rows = finished([first + [call(seq=0, stay=780, leave=1040)], second, third], per_host=3)
    saved = {row["rank"]: row["saved_ns"] for row in rows["stragglers"].to_pylist()}
    assert saved[1] == 30
