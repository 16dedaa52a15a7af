"""Run directories that were made of other tools' files, as what is mapped and reduced."""

import json

import ranks
from crosscut.cluster import mapping, shards, workers


def imported_run(folder, processes=5):
    """One of a file in which so many processes are."""
    folder.mkdir()
    events = [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": pid, "tid": pid, "ts": pid,
               "dur": 5} for pid in range(1, processes + 1)]
    (folder / "0-trace.json").write_text(json.dumps({"traceEvents": events}))
    (folder / "run.json").write_text('{"format": 1, "imported": ["0-trace.json"]}')
    return folder


def test_its_files_are_read_once_for_all_its_processes(tmp_path, monkeypatch):
    read, whole = [], shards.crc32_of
    monkeypatch.setattr(shards, "crc32_of", lambda *of: read.append(of[0]) or whole(*of))
    run = imported_run(tmp_path / "run")
    part = mapping.map_input(str(run))
    file = run / "0-trace.json"
    assert len(part.shards) == 5 and read == [str(file)]
    crc = whole(str(file))
    assert {(one.log_bytes, one.log_crc32) for one in part.shards} == {(file.stat().st_size, crc)}
    assert all(one.process.endswith(f"@{crc:08x}") for one in part.shards)


def test_what_reduce_kept_of_it_is_taken_until_its_files_change(tmp_path, monkeypatch):
    run = imported_run(tmp_path / "run")
    mapped, whole = [], workers.map_all
    monkeypatch.setattr(workers, "map_all",
                        lambda paths, *more: mapped.append(list(paths)) or whole(paths, *more))
    for _ in range(2):
        code, cluster = ranks.reduce(tmp_path / "cluster", run)
        assert code == 0 and len(cluster.table("processes")) == 5
    (run / "0-trace.json").write_text((run / "0-trace.json").read_text() + " ")
    assert ranks.reduce(tmp_path / "cluster", run)[0] == 0
    assert mapped == [[str(run)], [], [str(run)]]
