"""The result of a reduce does not depend on how the work was cut or put together."""

import hashlib
import pathlib
import random

import pyarrow as pa
import pytest
import synthetic
from crosscut.cluster import dataset, merging, partial, sources, spec
from crosscut.cluster.finish import finish
from crosscut.cluster.spool import Spool


def digest(folder):
    """Of all files of a cluster folder, with their names."""
    root, out = pathlib.Path(folder), hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.is_file() and dataset.PARTIALS not in file.parts:
            out.update(f"{file.relative_to(root)} {file.stat().st_size}\n".encode())
            out.update(file.read_bytes())
    return out.hexdigest()


def reduced(parts, folder):
    whole = merging.merge(parts)
    dataset.write(str(folder), whole, finish(whole))
    return digest(folder)


def tree(parts, chance):
    """Merged by a random tree: random order, random fan-in, some nodes by way of a file."""
    parts = list(parts)
    chance.shuffle(parts)
    while len(parts) > 1:
        fan_in = chance.randint(2, min(8, len(parts)))
        merged = merging.merge([parts.pop(chance.randrange(len(parts))) for _ in range(fan_in)])
        if chance.random() < 0.5:
            merged = partial.from_bytes(partial.to_bytes(merged), "a file")
        parts.append(merged)
    return parts[0]


JOB = synthetic.Job(ranks=16, per_host=4, steps=6)


def test_a_hundred_random_shardings_give_the_same_bytes():
    parts = synthetic.partials_of(JOB)
    expected = hashlib.sha256(partial.to_bytes(merging.merge(parts))).hexdigest()
    for seed in range(100):
        merged = tree(parts, random.Random(seed))
        found = hashlib.sha256(partial.to_bytes(merged)).hexdigest()
        assert found == expected, f"sharding {seed}"


def test_the_cluster_folder_has_the_same_bytes_for_any_sharding(tmp_path):
    parts = synthetic.partials_of(JOB)
    expected = reduced(parts, tmp_path / "all")
    for seed in range(5):
        assert reduced([tree(parts, random.Random(seed))], tmp_path / str(seed)) == expected
    assert reduced(parts[::-1], tmp_path / "all") == expected, "written over an earlier one"


def test_what_is_there_twice_counts_once():
    parts = synthetic.partials_of(JOB)
    once = partial.to_bytes(merging.merge(parts))
    host = merging.merge(parts[:4])
    assert partial.to_bytes(merging.merge([host, *parts, parts[2], host])) == once


def test_other_bytes_of_the_same_process_are_refused():
    parts = synthetic.partials_of(JOB)
    other = synthetic.partial_of(JOB, 3, log_crc32=9999)
    with pytest.raises(partial.Conflict, match="rank 3, .* was mapped twice from different logs"):
        merging.merge([*parts, other])


def test_partials_that_cannot_be_told_apart_are_refused():
    parts = synthetic.partials_of(JOB)
    one, other = merging.merge(parts[:3]), merging.merge(parts[2:5])
    with pytest.raises(partial.Conflict, match="is in two partials that each hold other runs"):
        merging.merge([one, other])


def test_a_sum_that_does_not_fit_is_not_known_and_others_are():
    chance = random.Random(3)
    most = (1 << 63) - 1
    for _ in range(50):
        cells = [(chance.choice("fgh"), chance.choice([None, 0, 7, 1 << 60, 1 << 62, most >> 1]))
                 for _ in range(chance.randint(2, 9))]
        tables = [pa.table({"layer": ["python"], "name": [name], "count": [1],
                            "total_ns": pa.array([total], pa.int64()), "self_ns": [0],
                            "min_ns": [0], "max_ns": [0]}) for name, total in cells]
        expected = {}
        for name, total in cells:
            whole = expected.get(name, 0)
            expected[name] = None if None in (total, whole) else whole + total
        expected = {name: None if total is None or total > most else total
                    for name, total in expected.items()}
        sums, cut = spec.SUMS["functions"], chance.randint(1, len(tables) - 1)
        at_once = merging.add_up(tables, sums)
        in_turn = merging.add_up([merging.add_up(tables[:cut], sums),
                                  merging.add_up(tables[cut:], sums)], sums)
        for table in (at_once, in_turn):
            assert dict(zip(table.column("name").to_pylist(),
                            table.column("total_ns").to_pylist())) == expected


def test_a_ledger_in_a_file_gives_the_same_bytes_as_one_in_memory(tmp_path):
    """As `reduce` has it; the ranks of a host need not be neighbours."""
    parts = [merging.merge(synthetic.partials_of(JOB)[first::4]) for first in range(4)]
    expected = reduced(parts, tmp_path / "memory")
    spool = Spool(str(tmp_path))
    parts = [sources.spooled(partial.from_bytes(partial.to_bytes(part), "it"), spool)
             for part in parts]
    assert reduced(parts, tmp_path / "file") == expected
    assert not list(tmp_path.glob("tmp*")), "the file has no name"


def test_a_ledger_of_another_version_is_refused(tmp_path):
    part = synthetic.partial_of(JOB, 0)
    part.tables[spec.LEDGER] = part.tables[spec.LEDGER].drop_columns(["peer"])
    with pytest.raises(partial.Conflict, match="collective_calls has other columns"):
        sources.spooled(part, Spool(str(tmp_path)))
