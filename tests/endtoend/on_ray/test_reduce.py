"""`reduce --on=ray` gives what `--on=local` gives, to the byte, whoever is killed."""

import hashlib
import os
import pathlib
import subprocess
import sys

import pytest
from ray_runs import HERE, SETTINGS, python_of
from runs import PACKAGE, ROOT

sys.path.append(str(ROOT / "tests/python/cluster"))


# Whoever runs `ray stop` beside them ends their clusters.
pytestmark = pytest.mark.skipif(not os.environ.get("CROSSCUT_TEST_RAY"),
                                reason="CROSSCUT_TEST_RAY=1 runs it: it needs Ray for itself")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Traces of four ranks."""
    pytest.importorskip("duckdb")
    import ranks

    folder = tmp_path_factory.mktemp("ranks")
    return [ranks.trace_of(folder, rank) for rank in range(4)]


def run(python, *words):
    env = {**os.environ, **SETTINGS, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([python, *map(os.fspath, words)], env=env, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def digest(folder):
    out = hashlib.sha256()
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and "partials" not in file.parts:
            out.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return out.hexdigest()


def test_ray_gives_the_bytes_that_local_processes_give(inputs, tmp_path):
    python = python_of("ray", "duckdb")
    for engine in ("local", "ray"):
        run(python, "-m", "crosscut", "reduce", *inputs, f"--on={engine}", "-o", tmp_path / engine)
    assert digest(tmp_path / "ray") == digest(tmp_path / "local")


@pytest.mark.parametrize("victim,kills", [("task", 2), ("node", 1)])
def test_what_is_killed_is_mapped_again(inputs, tmp_path, victim, kills):
    from crosscut.cluster import merging, partial, workers

    python = python_of("ray", "duckdb")
    (tmp_path / "kills").mkdir()
    said = run(python, HERE / "two_nodes.py", victim, tmp_path / "kills", tmp_path / "merged",
               *inputs)
    assert f"2 nodes, {len(inputs)} partials, gaps: []" in said
    assert len(list((tmp_path / "kills").iterdir())) == kills, "a task of each node, or the node"
    parts, _ = workers.one_by_one(workers.map_all(inputs, tmp_path))
    assert (tmp_path / "merged").read_bytes() == partial.to_bytes(merging.merge(parts))
