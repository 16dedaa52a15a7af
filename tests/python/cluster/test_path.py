"""The path across ranks adds up to the time that went by, and what a late rank costs is known."""

from crosscut.cluster import merging
from crosscut.cluster.finish import finish
from synthetic import TRANSFER_NS, Job, partials_of


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
    assert all(row["saved_ns"] == 0 for rank, row in rows.items() if rank != job.late)
