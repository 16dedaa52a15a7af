"""Every row of the fault matrix of docs/cluster.md: what goes wrong, and what becomes of it."""

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
import ranks
import synthetic
from crosscut.cluster import (
    command,
    dataset,
    merging,
    page,
    partial,
    sources,
    spec,
    store,
    workers,
)
from crosscut.cluster.shards import of_one_unit

JOB = synthetic.Job(ranks=8, per_host=2, steps=5)


def test_a_missing_rank_is_named_and_its_collectives_are_incomplete(tmp_path, capfd):
    parts = synthetic.partials_of(JOB)
    del parts[5]
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert code == 3 and cluster.facts["missing"] == [[5, 5]] and cluster.facts["incomplete"]
    assert cluster.table("missing").to_pylist() == [
        {"first_rank": 5, "last_rank": 5, "restart": 0, "world": 8}]
    [row] = cluster.table("collectives").to_pylist()
    assert row["count"] == row["incomplete_count"] == 15 and row["ranks"] == 7
    capfd.readouterr()
    assert command_report(cluster, capfd).startswith("3\n")
    assert "! rank 5 of 8 is missing" in command_report(cluster, capfd)


def command_report(cluster, capfd):
    from crosscut.cluster import reading

    code = reading.main_report([cluster.path])
    return f"{code}\n{capfd.readouterr().out}"


def test_a_rank_that_lacks_some_collectives_makes_them_incomplete(tmp_path):
    parts = synthetic.partials_of(JOB)
    parts[3].tables[spec.LEDGER] = parts[3].tables[spec.LEDGER].slice(3)  # not its first step
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    [row] = cluster.table("collectives").to_pylist()
    assert code == 0 and row["incomplete_count"] == 3 and row["count"] == 15
    waited = sum(cluster.table("stragglers").column("waited_ns").to_pylist())
    assert waited == 5 * 7 * JOB.late_ns - JOB.late_ns, "rank 3 counts in four of five steps"


def test_a_killed_process_is_mapped_to_its_last_word_and_named(tmp_path):
    parts = synthetic.partials_of(JOB)
    parts[2] = synthetic.partial_of(JOB, 2, complete=False)
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert code == 0
    assert ranks.gaps_of(cluster) == [
        "rank 2: it did not end by itself (host host00001): mapped to its last word"]
    [row] = [r for r in cluster.table("ranks").to_pylist() if r["rank"] == 2]
    assert row["complete"] is False


_DIES = "import os, sys; os.kill(os.getpid(), 9)"


def test_a_worker_that_is_always_killed_becomes_a_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_MAIN", _DIES)
    [mapped] = workers.map_all([ranks.trace_of(tmp_path, 0)], tmp_path)
    assert mapped.file is None
    assert mapped.gap.what == "it could not be mapped: SIGKILL ended the worker 4 times"


_DIES_IN_REDUCE = """
import os, sys
from crosscut.cluster import command, workers
workers._MAIN = "import os; os.kill(os.getppid(), 9)"
command.main_reduce(sys.argv[1:])
"""


def test_what_a_killed_reduce_leaves_goes_with_the_next_one(tmp_path):
    trace, cluster = ranks.trace_of(tmp_path, 0), tmp_path / "cluster"
    done = subprocess.run([sys.executable, "-c", _DIES_IN_REDUCE, trace, "-o", cluster])
    assert done.returncode == -signal.SIGKILL
    keep = cluster / dataset.PARTIALS
    [left] = keep.glob(".*")
    with store.scratch(str(keep)) as one, store.scratch(str(keep)) as other:
        assert not left.exists()
        assert os.path.isdir(one) and os.path.isdir(other), "a living one's stays"
    ranks.reduce(cluster, trace)
    assert not list(keep.glob(".*")) and len(list(keep.iterdir())) == 1


def test_a_worker_that_is_killed_is_started_again(tmp_path, monkeypatch):
    count = tmp_path / "count"
    dies_twice = (f"open({str(count)!r}, 'a').write('x')\n"
                  f"if len(open({str(count)!r}).read()) <= 2:\n    {_DIES}\n" + workers._MAIN)
    monkeypatch.setattr(workers, "_MAIN", dies_twice)
    [part], gaps = workers.one_by_one(workers.map_all([ranks.trace_of(tmp_path, 0)], tmp_path))
    assert not gaps and part.shards[0].rank == 0
    assert count.read_text() == "xxx"


def test_an_input_that_cannot_be_read_is_a_gap_and_is_not_tried_again(tmp_path):
    (tmp_path / "rank9.json").write_text("no trace at all")
    good = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    code, cluster = ranks.reduce(tmp_path / "cluster", *good, tmp_path / "rank9.json")
    assert code == 3 and cluster.facts["ranks"] == 2 and not cluster.facts["missing"]
    (gap,) = [gap for gap in ranks.gaps_of(cluster) if "rank9.json: " in gap]
    assert gap.count("rank9.json: ") == 1


def test_the_same_run_in_two_partials_counts_once(tmp_path):
    parts = synthetic.partials_of(JOB)
    paths = ranks.written(tmp_path / "parts", parts)
    code, cluster = ranks.reduce(tmp_path / "cluster", *paths, paths[0],
                                 *ranks.written(tmp_path / "more", parts[2:4]))
    assert code == 0 and cluster.facts["processes"] == 8


def test_the_same_process_with_other_bytes_is_an_error_that_names_it(tmp_path, capfd):
    parts = [*synthetic.partials_of(JOB), synthetic.partial_of(JOB, 3, log_crc32=77)]
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert code == 3 and cluster is None
    error = capfd.readouterr().err
    assert "rank 3, process 1003-0 of host host00001 was mapped twice from different logs" in error


def test_the_last_state_of_a_run_counts_in_whatever_order(tmp_path):
    """Of each run its states: logs that grow, processes that come."""
    some = random.Random(3)
    for _ in range(30):
        states, expected = [], {}
        for rank in range(JOB.ranks):
            sizes = []
            for _ in range(some.randrange(1, 4)):
                sizes = [size + some.randrange(3) for size in sizes]
                sizes += [some.randrange(1, 9)] * some.randrange(2 if sizes else 1, 3)
                shards = of_one_unit({str(number): synthetic.shard_of(
                    JOB, rank, process=f"{rank}-{number}", leads=not number, log_bytes=size,
                    log_crc32=size) for number, size in enumerate(sizes)})
                states.append(partial.Partial("job7", list(shards.values())))
            expected |= {shard.id: shard for shard in shards.values()}
        some.shuffle(states)
        assert {shard.id: shard for shard in merging.merge(states).shards} == expected


def torn(path, cut=False):
    """Cuts a partial off, or changes a byte in one of its tables."""
    content = bytearray(pathlib.Path(path).read_bytes())
    at = content.index(b"steps.arrow\0") + 600  # the header of a member has 512 bytes
    if cut:
        del content[at:]
    else:
        content[at] ^= 1
    pathlib.Path(path).write_bytes(content)


@pytest.mark.parametrize("where", ["cut", "changed", "empty"])
def test_a_torn_partial_becomes_a_gap(tmp_path, where):
    parts = ranks.host_partials(JOB, synthetic.partials_of(JOB))
    paths = ranks.written(tmp_path / "parts", parts)
    if where == "empty":
        pathlib.Path(paths[1]).write_bytes(b"")
    else:
        torn(paths[1], cut=where == "cut")
    code, cluster = ranks.reduce(tmp_path / "cluster", tmp_path / "parts")
    assert code == 3 and cluster.facts["missing"] == [[2, 3]]
    [gap] = ranks.gaps_of(cluster)
    assert gap.startswith(f"{os.path.basename(paths[1])}: ")


def test_every_changed_byte_of_a_partial_is_noticed(tmp_path):
    part = synthetic.partial_of(JOB, 0)
    content = partial.to_bytes(part)
    changed = 0
    for at in range(0, len(content), 97):
        wrong = bytearray(content)
        wrong[at] ^= 0x10
        try:
            other = partial.from_bytes(bytes(wrong), "it")
        except partial.Unusable:
            changed += 1
            continue
        # Padding of the archive, or a field of its headers that says nothing.
        assert partial.to_bytes(other) == content, at
    assert changed > 100


def test_a_torn_partial_whose_run_is_a_source_is_mapped_again(tmp_path, capfd):
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    assert command.main_map([*runs, "-o", str(tmp_path / "parts")]) == 0
    for file in store.partials_in(str(tmp_path / "parts")):
        torn(file)
    code, _ = ranks.reduce(tmp_path / "gone", tmp_path / "parts")
    assert code == 3
    assert "nothing is left to reduce" in capfd.readouterr().err
    code, cluster = ranks.reduce(tmp_path / "cluster", tmp_path / "parts", *runs)
    assert code == 0 and cluster.facts["ranks"] == 2 and not ranks.partial_gaps(cluster)


def test_a_partial_of_another_specification_is_not_mixed_in(tmp_path, monkeypatch):
    parts = synthetic.partials_of(JOB)
    with monkeypatch.context() as patch:
        patch.setattr(spec, "VERSION", spec.VERSION + 1)
        [other] = ranks.written(tmp_path / "other", parts[:1])
    code, cluster = ranks.reduce(tmp_path / "cluster", other,
                                 *ranks.written(tmp_path / "parts", parts[1:]))
    assert code == 3 and cluster.facts["missing"] == [[0, 0]]
    assert f"version {spec.VERSION + 1}, specification" in ranks.gaps_of(cluster)[0]


def test_a_partial_of_another_version_whose_run_is_a_source_is_mapped_again(tmp_path, monkeypatch):
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    parts, _ = workers.one_by_one(workers.map_all(runs, tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(spec, "VERSION", spec.VERSION + 1)
        others = ranks.written(tmp_path / "parts", parts)
    code, cluster = ranks.reduce(tmp_path / "cluster", *others, *runs)
    assert code == 0 and not ranks.partial_gaps(cluster)


def test_a_rank_without_steps_is_told_and_has_none(tmp_path):
    parts = synthetic.partials_of(JOB)
    parts[4].tables[spec.STEPS] = parts[4].tables[spec.STEPS].slice(0, 0)
    _, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert ranks.gaps_of(cluster) == [
        "ranks have 0 to 5 steps; the 0 that all have are compared"]
    row = cluster.table("ranks").to_pylist()[4]
    assert [row[name] for name in ("steps", "steps_ns", "compared_steps", "python_ns")] == [0] * 4


def test_two_steps_of_one_rank_do_not_stand_for_two_ranks(tmp_path):
    parts = synthetic.partials_of(synthetic.Job(ranks=2, steps=5))
    steps = [part.tables[spec.STEPS] for part in parts]
    at = steps[0].column_names.index("step")
    parts[0].tables[spec.STEPS] = steps[0].set_column(at, "step", pa.array([0, 1, 2, 3, 3]))
    parts[1].tables[spec.STEPS] = steps[1].slice(0, 3)
    _, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert cluster.table("ranks").column("compared_steps").to_pylist() == [3, 3]


def test_a_source_that_is_gone_is_named(tmp_path, capfd):
    paths = ranks.written(tmp_path / "parts", synthetic.partials_of(JOB))
    code, cluster = ranks.reduce(tmp_path / "cluster", *paths, "/nfs/prof/job7/node-17",
                                 tmp_path / "host9.ccp")
    assert code == 3
    assert "/nfs/prof/job7/node-17: it is not there" in ranks.gaps_of(cluster)
    assert "! /nfs/prof/job7/node-17: it is not there" in capfd.readouterr().err
    assert any(gap.startswith("host9.ccp: it cannot be read") for gap in ranks.gaps_of(cluster))


def test_a_path_that_is_no_text_can_be_told(tmp_path, capfd):
    here = ranks.trace_of(tmp_path, 0, world=1)
    code, cluster = ranks.reduce(tmp_path / "cluster", here, tmp_path / os.fsdecode(b"\xff.txt"))
    assert code == 3 and ranks.gaps_of(cluster) == [f"{tmp_path}/?.txt: it is not there"]
    assert "/?.txt: it is not there" in command_report(cluster, capfd)


def test_traces_beside_partials_are_mapped(tmp_path):
    traces = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    assert command.main_map(["-o", os.fspath(tmp_path / "both"), traces[0]]) == 0
    os.rename(traces[1], tmp_path / "both" / "rank1.json")
    code, cluster = ranks.reduce(tmp_path / "cluster", tmp_path / "both")
    assert (code, cluster.facts["ranks"]) == (0, 2)


def test_a_reduce_that_died_goes_on_with_what_was_mapped(tmp_path, monkeypatch):
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    output = tmp_path / "cluster"
    with monkeypatch.context() as patch:
        def dies(*_):
            raise KeyboardInterrupt

        patch.setattr(dataset, "_write_file", dies)
        with pytest.raises(KeyboardInterrupt):
            ranks.reduce(output, *runs)
    assert not (output / dataset.FACTS).exists()
    mapped = []
    monkeypatch.setattr(workers, "map_all", lambda paths, *_: mapped.extend(paths) or [])
    code, cluster = ranks.reduce(output, *runs)
    assert code == 0 and cluster.facts["ranks"] == 2 and mapped == []


def test_a_partial_of_more_runs_than_are_asked_for_is_not_taken(tmp_path):
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    parts, _ = workers.one_by_one(workers.map_all(runs, tmp_path))
    kept = tmp_path / "cluster" / dataset.PARTIALS / f"both{partial.SUFFIX}"
    store.write(os.fspath(kept), partial.to_bytes(merging.merge(parts)))
    assert ranks.reduce(tmp_path / "cluster", *runs)[1].facts["ranks"] == 2
    code, cluster = ranks.reduce(tmp_path / "cluster", runs[1])
    assert code == 3 and cluster.facts["missing"] == [[0, 0]]


def test_a_run_that_changed_since_it_was_mapped_is_mapped_again(tmp_path):
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    assert ranks.reduce(tmp_path / "cluster", *runs)[0] == 0
    ranks.trace_of(tmp_path, 1, world=2, steps=4)
    code, cluster = ranks.reduce(tmp_path / "cluster", *runs)
    assert code == 0 and cluster.table("steps").num_rows == 3 + 4


def test_restarts_of_an_elastic_job_are_apart(tmp_path):
    parts = synthetic.partials_of(JOB)
    again = [synthetic.partial_of(JOB, rank, restart=1) for rank in range(JOB.ranks)]
    code, cluster = ranks.reduce(tmp_path / "cluster",
                                 *ranks.written(tmp_path / "parts", [*parts, *again]))
    assert code == 0
    assert [(row["restart"], row["count"], row["ranks"])
            for row in cluster.table("collectives").to_pylist()] == [(0, 15, 8), (1, 15, 8)]
    assert cluster.table("unmatched").num_rows == 0
    assert {row["restart"] for row in cluster.table("stragglers").to_pylist()} == {0, 1}
    assert cluster.facts["ranks"] == 8 and cluster.facts["hosts"]["host00001"]["ranks"] == 2


def test_unequal_steps_and_seeds_are_told_and_common_steps_compared(tmp_path):
    parts = [synthetic.partial_of(JOB, rank) for rank in range(JOB.ranks - 1)]
    longer = synthetic.Job(ranks=8, per_host=2, steps=9)
    parts.append(synthetic.partial_of(longer, 7, seed="8"))
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert code == 0
    assert ranks.gaps_of(cluster) == [
        "ranks have 5 to 9 steps; the 5 that all have are compared",
        "the ranks have 2 seeds, so levels of steps differ between them; steps are compared where "
        "they agree"]
    rows = cluster.table("ranks").to_pylist()
    assert {row["compared_steps"] for row in rows} == {5} and rows[7]["steps"] == 9
    unmatched = cluster.table("unmatched").to_pylist()
    assert [(row["reason"], row["calls"]) for row in unmatched] == [
        ("no other rank of the group has it", 4 * JOB.collectives)]


def test_steps_that_the_budget_left_out_are_in_no_class(tmp_path):
    parts = [synthetic.partial_of(JOB, rank) for rank in range(JOB.ranks)]
    for part in parts:
        steps = part.tables[spec.STEPS]
        at = steps.column_names.index("level")
        part.tables[spec.STEPS] = steps.set_column(at, "level", pa.array([2, 4, 0, 2, 4]))
    _, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    ranks_told = cluster.table("ranks").to_pylist()
    assert len(ranks_told) == len(parts)
    for row in ranks_told:
        counts = [row[f"{which}steps"] for which in ("", "marked_", "observed_", "compared_")]
        assert counts == [5, 4, 2, 2]
        assert sum(row[name] for name, _ in spec.STEP_CLASSES) == row["observed_steps_ns"]
        assert row["observed_steps_ns"] < row["marked_steps_ns"] < row["steps_ns"]


def test_two_processes_that_state_one_rank_are_told(tmp_path):
    parts = [*synthetic.partials_of(JOB), synthetic.partial_of(JOB, 3, host="other", process="9-9")]
    _, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert "rank 3: several processes state it (restart 0)" in ranks.gaps_of(cluster)


def test_each_of_two_processes_that_state_one_rank_has_its_own_steps(tmp_path):
    first, second = (ranks.trace_of(os.makedirs(tmp_path / name) or tmp_path / name, 0, 1, steps)
                     for name, steps in (("a", 3), ("b", 5)))
    _, cluster = ranks.reduce(tmp_path / "cluster", first, second)
    steps = [(row["steps"], row["steps_ns"]) for row in cluster.table("ranks").to_pylist()]
    assert sorted(steps) == [(3, 2700), (5, 4500)]


def test_steps_that_share_their_number_are_counted_by_rank(tmp_path):
    more = "step step 3000 3900 number=2\n"
    traces = [ranks.trace_of(tmp_path, rank, 2, more=more) for rank in range(2)]
    _, cluster = ranks.reduce(tmp_path / "cluster", *traces)
    assert len([gap for gap in ranks.gaps_of(cluster) if "2 steps share their number" in gap]) == 2
    for row in cluster.table("ranks").to_pylist():  # of two of them no class is known
        assert (row["steps"], row["observed_steps_ns"], row["framework_ns"]) == (4, 2700, None)
    assert "framework" in page.render(cluster)


def test_an_error_of_a_store_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_FIRST_WAIT", 0.001)
    tries = []

    def flaky():
        tries.append(1)
        if len(tries) < 3:
            raise OSError("503 slow down")
        return "there"

    assert store._patiently("s3://bucket", flaky) == "there" and len(tries) == 3
    tries.clear()

    class OfItsLibrary(Exception):
        pass

    def always():
        tries.append(1)
        raise OfItsLibrary("no such endpoint")

    with pytest.raises(OSError, match="s3://bucket: no such endpoint"):
        store._patiently("s3://bucket", always)
    assert len(tries) == 4


def test_partials_go_to_a_store_and_come_from_it(tmp_path):
    uri = "memory://bucket/parts"
    runs = [ranks.trace_of(tmp_path, rank, world=2) for rank in range(2)]
    assert command.main_map([*runs, "-o", uri]) == 0
    code, cluster = ranks.reduce(tmp_path / "cluster", uri)
    assert code == 0 and cluster.facts["ranks"] == 2


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    file = tmp_path / "x.ccp"
    file.write_bytes(b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        with pytest.raises(OSError, match="x.ccp: File too large"):
            store.write(str(file), b"longer than that")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == b"before" and os.listdir(tmp_path) == ["x.ccp"]


def test_runs_that_are_gone_stay_among_those_that_come(tmp_path):
    traces = [ranks.trace_of(tmp_path, rank, world=3) for rank in range(3)]
    parts = str(tmp_path / "parts")
    assert command.main_map([*traces[:2], "-o", parts]) == 0
    assert command.main_map([*traces[1:], "-o", parts]) == 0
    code, cluster = ranks.reduce(tmp_path / "cluster", parts)
    assert code == 0 and cluster.table("ranks").column("rank").to_pylist() == [0, 1, 2]


def does_before(monkeypatch, place, name, meanwhile, call=1):
    """Has that call of a function, by number, do something else before."""
    function, calls = getattr(place, name), []

    def stands_in(*arguments):
        calls.append(name)
        if len(calls) == call:
            monkeypatch.setattr(place, name, function)
            meanwhile()
        return function(*arguments)

    monkeypatch.setattr(place, name, stands_in)


@pytest.mark.parametrize("where", ["store", "folder"])
def test_maps_at_once_lose_no_rank(tmp_path, monkeypatch, where):
    parts = "memory://at-once/parts" if where == "store" else str(tmp_path / "parts")
    one, two = (ranks.trace_of(tmp_path, rank, world=2) for rank in range(2))
    does_before(monkeypatch, store, "write", lambda: command.main_map([two, "-o", parts]))
    assert command.main_map([one, "-o", parts]) == 0
    assert command.main_map([one, two, "-o", parts]) == 0
    assert len(store.partials_in(parts)) == 2
    code, cluster = ranks.reduce(tmp_path / "cluster", parts)
    assert code == 0 and cluster.facts["ranks"] == 2


def is_whole(folder):
    """The job of a cluster folder, whose tables are what it states."""
    cluster = dataset.open_cluster(folder)
    assert cluster.facts["tables"]
    for name, stated in cluster.facts["tables"].items():
        assert cluster.table(name).num_rows == stated["rows"], name
    assert not [name for name in os.listdir(folder) if name.startswith(".")]
    return cluster.facts["job"]


def jobs(tmp_path):
    """Partials of two jobs; the second one has half the ranks."""
    parts = synthetic.partials_of(JOB)
    other = [synthetic.partial_of(JOB, rank) for rank in range(4)]
    for part in other:
        part.job = "job8"
    return ranks.written(tmp_path / "one", parts), ranks.written(tmp_path / "other", other)


@pytest.mark.parametrize("step,call", [("_write_file", 9), ("_put_in_place", 1)])
def test_two_reduces_into_one_folder_leave_the_whole_of_one(tmp_path, monkeypatch, step, call):
    one, other = jobs(tmp_path)
    monkeypatch.setattr(dataset, "_PATIENCE", 0)
    does_before(monkeypatch, dataset, step,
                lambda: ranks.reduce(tmp_path / "cluster", *other), call)
    assert ranks.reduce(tmp_path / "cluster", *one)[0] == 0
    assert is_whole(tmp_path / "cluster") == "job7"


@pytest.mark.parametrize("dies_at", [1, 2, 9])
def test_a_reduce_that_dies_leaves_an_earlier_result_or_none(tmp_path, monkeypatch, dies_at):
    one, other = jobs(tmp_path)
    assert ranks.reduce(tmp_path / "cluster", *one)[0] == 0
    rename, calls = os.rename, []

    def dies(old, new):
        calls.append(new)
        if len(calls) == dies_at:
            raise KeyboardInterrupt
        rename(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", dies)
        with pytest.raises(KeyboardInterrupt):
            ranks.reduce(tmp_path / "cluster", *other)
    if os.path.exists(tmp_path / "cluster" / dataset.FACTS):
        assert is_whole(tmp_path / "cluster") == "job7"
    ranks.reduce(tmp_path / "cluster", *other)
    assert is_whole(tmp_path / "cluster") == "job8"


def test_a_reader_is_told_that_another_result_came_meanwhile(tmp_path):
    one, other = jobs(tmp_path)
    _, cluster = ranks.reduce(tmp_path / "cluster", *one)
    assert cluster.table("ranks").num_rows == 8
    ranks.reduce(tmp_path / "cluster", *other)
    with pytest.raises(OSError, match="it was reduced anew while it was read"):
        cluster.table("ranks")


def test_a_run_has_one_partial_however_it_is_mapped(tmp_path):
    one, two = (ranks.trace_of(tmp_path, rank, world=2) for rank in range(2))
    for run in (one, two, two):
        assert command.main_map([run, "-o", str(tmp_path / "parts")]) == 0
    together = store.partials_in(str(tmp_path / "parts"))
    assert command.main_map([two, one, "-o", str(tmp_path / "other")]) == 0
    others = store.partials_in(str(tmp_path / "other"))
    assert [os.path.basename(path) for path in together] == list(map(os.path.basename, others))
    assert list(map(store.read, together)) == list(map(store.read, others)) and len(others) == 2


def test_two_jobs_are_not_put_together(tmp_path, capfd):
    parts = synthetic.partials_of(JOB)
    parts[0].job = "job8"
    code, cluster = ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    assert code == 3 and cluster is None
    said = capfd.readouterr().err
    assert "several jobs: job7, as rank " in said and "; job8, as rank 0, process 1000-0 of" in said


def test_a_folder_without_runs_and_partials_is_refused(tmp_path, capfd):
    (tmp_path / "empty").mkdir()
    assert ranks.reduce(tmp_path / "cluster", tmp_path / "empty") == (3, None)
    assert "there is no run in it, no partial (*.ccp) and no trace" in capfd.readouterr().err
    with pytest.raises(FileNotFoundError, match="there is no such run"):
        sources.inputs_of([str(tmp_path / "nothing")])


def test_merging_is_refused_where_columns_differ():
    parts = synthetic.partials_of(JOB)[:2]
    parts[1].tables["findings"] = parts[1].tables["findings"].drop_columns(["value_ns"])
    with pytest.raises(partial.Conflict, match="findings has other columns in some partials"):
        merging.merge(parts)


def test_a_cluster_that_names_tables_elsewhere_has_none_of_them_removed(tmp_path):
    _, other = jobs(tmp_path)
    precious = tmp_path / "precious" / "file"
    precious.parent.mkdir()
    precious.write_text("kept")
    ranks.reduce(tmp_path / "cluster", *other)
    facts = tmp_path / "cluster" / dataset.FACTS
    stated = json.loads(facts.read_text())
    stated["tables"] |= {"../precious": {"rows": 0}, str(precious.parent): {"rows": 0},
                         dataset.PARTIALS: {"rows": 0}}
    facts.write_text(json.dumps(stated))
    assert ranks.reduce(tmp_path / "cluster", *other)[0] == 3
    assert precious.read_text() == "kept" and is_whole(tmp_path / "cluster") == "job8"
    assert os.path.isdir(tmp_path / "cluster" / dataset.PARTIALS)
