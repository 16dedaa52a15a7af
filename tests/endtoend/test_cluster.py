"""Two ranks of a real job, each recorded into a run of its own, mapped and put together."""

import csv
import hashlib
import io
import os
import pathlib
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from runs import CROSSCUT, PACKAGE, record

pytest.importorskip("torch")
pytest.importorskip("duckdb")

STEPS, SLEEP_MS = 30, 30
PROGRAM = f"""\
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters())
for step in range({STEPS}):
    optimizer.zero_grad()
    loss = model(torch.ones(64, 64)).sum()
    if dist.get_rank() == 1:
        time.sleep({SLEEP_MS / 1000})
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The runs of both ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    script = folder / "ddp.py"
    script.write_text(PROGRAM)
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
              "CROSSCUT_SEED": "7"}

    def one(rank):
        run = folder / f"run{rank}"
        done = record(run, [sys.executable, script],
                      env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        assert done.returncode == 0, done.stderr
        return run

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(one, range(2)))


def crosscut(*words):
    """The exit code, stdout and stderr of a verb."""
    done = subprocess.run([CROSSCUT, *map(os.fspath, words)], capture_output=True, text=True,
                          timeout=1200, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    return done.returncode, done.stdout, done.stderr


def rows_of(source, name):
    code, text, error = crosscut("table", source, name)
    assert code in (0, 3), error
    return list(csv.DictReader(io.StringIO(text)))


def digest(folder):
    """Of all files of a cluster folder but the partials that it keeps."""
    out = hashlib.sha256()
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and "partials" not in file.parts:
            out.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return out.hexdigest()


@pytest.fixture(scope="module")
def cluster(runs):
    """Both ranks, mapped by one call and put together."""
    parts, path = runs[0].parent / "parts", runs[0].parent / "cluster"
    code, _, error = crosscut("map", *runs, "-o", parts)
    assert code == 0, error
    code, _, error = crosscut("reduce", parts, "-o", path)
    assert code == 0, error
    return path


def test_the_rank_that_sleeps_is_named_with_what_the_other_waited(cluster):
    first, second = rows_of(cluster, "stragglers")
    assert (first["rank"], second["rank"]) == ("1", "0")
    planted = STEPS * SLEEP_MS * 10**6
    in_steps = sum(int(row["waited_ns"]) for row in rows_of(cluster, "straggler_steps"))
    assert in_steps >= planted * 0.5 and int(first["made_wait_ns"]) >= planted * 0.5
    assert first["made_wait_ns"] == second["waited_ns"]
    assert {row["name"] for row in rows_of(cluster, "collectives")} >= {"gloo:all_reduce"}
    code, text, _ = crosscut("report", cluster)
    assert code == 0 and text.count("\n") <= 60
    assert f"Rank 1 (host {first['host']}) made the others wait" in text


def test_any_sharding_gives_the_same_bytes(runs, cluster, tmp_path):
    expected = digest(cluster)
    for rank in (1, 0):  # each into a partial of its own, in the other order
        assert crosscut("map", runs[rank], "-o", tmp_path / f"parts{rank}")[0] == 0
    apart = [tmp_path / "parts1", tmp_path / "parts0"]
    assert crosscut("reduce", *apart, "-o", tmp_path / "apart")[0] == 0
    assert crosscut("reduce", *reversed(runs), "-o", tmp_path / "unmapped")[0] == 0
    assert crosscut("reduce", runs[0], apart[0], runs[1], "-o", tmp_path / "mixed")[0] == 0
    for name in ("apart", "unmapped", "mixed"):
        assert digest(tmp_path / name) == expected, name
    together = runs[0].parent / "parts"
    before = {file.name: file.read_bytes() for file in together.glob("*.ccp")}
    assert crosscut("map", runs[1], runs[0], "-o", together)[0] == 0
    alone = [file for folder in apart for file in folder.glob("*.ccp")]
    assert {file.name: file.read_bytes() for file in alone} == before and len(before) == 2


def test_tables_of_a_rank_are_those_of_its_run(runs, cluster):
    for name in ("operations", "overlap", "step_summary", "threads"):
        assert runs
        for rank, run in enumerate(runs):
            alone = [list(row.values())[1:] for row in rows_of(run, name)]
            here = [list(row.values())[4:] for row in rows_of(cluster, name)
                    if row["rank"] == str(rank)]
            assert here == alone and alone, (name, rank)
    steps = rows_of(cluster, "steps")
    assert len(steps) == 2 * STEPS
    for row in steps:
        assert int(row["wall_ns"]) == sum(int(cell) for name, cell in row.items() if name in (
            "device_ns", "comm_ns", "runtime_ns", "data_ns", "framework_ns", "python_ns", "idle_ns",
            "other_ns"))


def test_a_rank_that_is_not_here_is_named(runs, tmp_path):
    code, _, _ = crosscut("reduce", runs[0], "-o", tmp_path / "cluster")
    assert code == 3
    code, text, _ = crosscut("report", tmp_path / "cluster")
    assert code == 3 and "! rank 1 of 2 is missing" in text
    code, text, _ = crosscut("info", tmp_path / "cluster")
    assert code == 3 and "missing ranks: 1\n" in text


def test_a_torn_log_is_mapped_as_far_as_it_can_be_read(runs, tmp_path):
    torn = tmp_path / "torn"
    shutil.copytree(runs[1], torn)
    [log] = torn.glob("*.crosscut")
    with open(log, "r+b") as file:
        file.truncate(log.stat().st_size * 3 // 4)
    code, _, error = crosscut("reduce", runs[0], torn, "-o", tmp_path / "cluster")
    assert code == 3 == crosscut("report", torn)[0], error
    assert [(row["rank"], row["complete"]) for row in rows_of(tmp_path / "cluster", "ranks")] == [
        ("0", "1"), ("1", "0")]
    code, text, _ = crosscut("info", tmp_path / "cluster")
    assert "! rank 1, process" in text and "its log is damaged at byte" in text


@pytest.mark.parametrize("verb", ["map", "reduce"])
def test_a_log_that_cannot_be_read_is_named_and_ends_with_3(runs, tmp_path, verb):
    broken = tmp_path / "broken"
    shutil.copytree(runs[1], broken)
    [log] = broken.glob("*.crosscut")
    log.write_bytes(bytes(range(256)) * 80)
    code, _, error = crosscut(verb, runs[0], broken, "-o", tmp_path / "made")
    assert code == 3
    if verb == "map":
        assert "it cannot be read whole: " in error and "not a crosscut log" in error
        code, _, error = crosscut("reduce", tmp_path / "made", "-o", tmp_path / "cluster")
        assert code == 3
    code, text, _ = crosscut("report", tmp_path / ("cluster" if verb == "map" else "made"))
    assert code == 3 and "it cannot be read whole: " in text and "to its last word" not in text
    assert "rank 1 of 2 is missing" in text


@pytest.mark.parametrize("content", [None, b"", b'{"format": 1, "jo', b"[1, 2]"])
def test_a_damaged_run_json_is_a_gap_and_the_others_are_put_together(runs, tmp_path, content):
    folder = tmp_path / "runs"
    for number, run in enumerate(runs):
        shutil.copytree(run, folder / f"run{number}")
    (folder / "run1" / "run.json").unlink()
    if content is not None:
        (folder / "run1" / "run.json").write_bytes(content)
    code, _, error = crosscut("reduce", folder, "-o", tmp_path / "cluster")
    assert code == 3, error
    code, text, _ = crosscut("info", tmp_path / "cluster")
    assert code == 3 and "missing ranks: 1\n" in text
    assert f"! {folder}/run1: run.json cannot be read" in text


def test_without_what_the_extra_brings_the_command_says_how_to_get_it(cluster, tmp_path):
    (tmp_path / "duckdb.py").write_text(
        "raise ModuleNotFoundError('No module named duckdb', name='duckdb')\n")
    done = subprocess.run([CROSSCUT, "report", cluster], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=600)
    assert done.returncode == 2
    assert "needs duckdb" in done.stderr and "pip install 'crosscut[cluster]'" in done.stderr
