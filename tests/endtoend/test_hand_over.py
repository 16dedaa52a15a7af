"""Step shares in TensorBoard, Weights & Biases and MLflow, read back by their own readers."""

import json
import sys
import time
import types

import pytest

import crosscut
from runs import record_script

PROGRAM = """
import crosscut, time
for _ in range(8):
    crosscut.step()
    with crosscut.operation("load"): time.sleep(0.002)
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end: pass
crosscut.step_end()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tmp_path_factory.mktemp("hand_over") / "run"
    assert record_script(run, PROGRAM, "--plan=control=0,everything=100").returncode == 0
    return crosscut.read(run)


def expected(run):
    """{name: {step: value}} of the tables themselves."""
    walls = {row["step"]: row["wall_ns"] for row in run.table("steps").rows() if not row["open"]}
    out = {"crosscut/step_ms": {step: wall / 1e6 for step, wall in walls.items()}}
    for row in run.table("step_layers").rows():
        name = f"crosscut/share/{row['layers'] or 'unknown'}"
        shares = out.setdefault(name, dict.fromkeys(walls, 0.0))
        shares[row["step"]] = row["ns"] / walls[row["step"]]
    return out


def assert_same(found, run, precision):
    wanted = expected(run)
    assert found.keys() == wanted.keys() and len(wanted) >= 3
    for name, points in wanted.items():
        assert found[name] == pytest.approx(points, rel=precision, abs=1e-12), name


def test_the_shares_of_a_step_add_up(run):
    steps = list(crosscut.hand_over.steps(run))
    assert [step.number for step in steps] == list(range(8))
    for step in steps:
        assert sum(value for name, value in step.values.items() if "/share/" in name) == (
            pytest.approx(1))


def test_steps_of_one_number_have_shares_of_their_own(tmp_path):
    row = {"ph": "X", "pid": 1, "tid": 1}
    lengths = [100, 10, 70]
    (tmp_path / "in.json").write_text(json.dumps([
        {**row, "name": name, "cat": cat, "ts": 1000 * (i + 1), "dur": length / part}
        for i, length in enumerate(lengths)
        for name, cat, part in (("ProfilerStep#5", "user_annotation", 1), ("op", "cpu_op", 2))]))
    steps = list(crosscut.hand_over.steps(tmp_path / "in.json"))
    assert [step.number for step in steps] == [5, 5, 5]
    assert [step.values["crosscut/step_ms"] for step in steps] == [
        pytest.approx(length / 1000) for length in lengths]
    for step in steps:
        assert step.values["crosscut/share/framework"] == pytest.approx(0.5)
        assert sum(value for name, value in step.values.items() if "/share/" in name) == (
            pytest.approx(1))


def test_control_steps_are_left_out(tmp_path):
    record_script(tmp_path / "run", PROGRAM.replace("range(8)", "range(60)"),
                  "--plan=control=50,everything=50")
    rows = list(crosscut.read(tmp_path / "run").table("steps").rows())
    numbers = {step.number for step in crosscut.hand_over.steps(tmp_path / "run")}
    assert numbers == {row["step"] for row in rows if not row["control"] and not row["open"]}
    assert 0 < len(numbers) < 60


def test_processes_and_kinds_stand_in_front_where_there_are_several(tmp_path):
    program = ("import crosscut, os, time\n"
               "child = os.fork()\n"
               "for i in range(4):\n"
               "    crosscut.step('even' if i % 2 else 'odd'); time.sleep(0.002)\n"
               "crosscut.step_end()\n"
               "child and os.waitpid(child, 0)\n")
    record_script(tmp_path / "run", program, "--plan=control=0,everything=100")
    names = {name for step in crosscut.hand_over.steps(tmp_path / "run") for name in step.values}
    fronts = {name.removesuffix("/step_ms") for name in names if name.endswith("step_ms")}
    assert len(fronts) == 4
    assert all(front.startswith("crosscut/run.py (pid ") for front in fronts)
    assert {front.rsplit("/", 1)[1] for front in fronts} == {"even", "odd"}


def test_tensorboard_reads_what_it_is_given(run, tmp_path, monkeypatch):
    # TensorBoard's own switch for "without TensorFlow": tests/python/tensorflow looks like it.
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from tensorboard.util import tensor_util

    assert crosscut.hand_over.tensorboard(run, tmp_path / "logs") == 8
    events = accumulator.EventAccumulator(str(tmp_path / "logs"), size_guidance={"tensors": 0})
    events.Reload()
    found = {tag: {event.step: float(tensor_util.make_ndarray(event.tensor_proto))
                   for event in events.Tensors(tag)} for tag in events.Tags()["tensors"]}
    assert_same(found, run, 1e-6)  # its numbers have 32 bits
    metadata = events.SummaryMetadata("crosscut/step_ms")
    assert metadata.plugin_data.plugin_name == "scalars"


def wandb_records(data):
    """The records of a .wandb file: LevelDB's log, with 7 bytes in front of its first block."""
    assert data[:4] == b":W&B"
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        parts += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, last
            yield parts
            parts = b""


def wandb_history(messages, data):
    found = {}
    for record in wandb_records(data):
        items = {item.key or ".".join(item.nested_key): json.loads(item.value_json)
                 for item in messages.Record.FromString(record).history.item}
        step = items.pop("crosscut/step", None)
        for name, value in items.items():
            if name.startswith("crosscut/"):
                found.setdefault(name, {})[step] = value
    return found


def test_wandb_keeps_it_offline(run, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    messages = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    assert crosscut.hand_over.wandb(run) == 8
    assert wandb.run is None
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    deadline = time.monotonic() + 60  # its own process writes the file, and may do so later
    found = {}
    while len(found.get("crosscut/step_ms", ())) < 8 and time.monotonic() < deadline:
        time.sleep(0.05)
        found = wandb_history(messages, file.read_bytes())
    assert_same(found, run, 1e-12)


def test_mlflow_has_it_in_its_local_store(run, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as going_on:
        assert crosscut.hand_over.mlflow(run) == 8
        assert mlflow.active_run() is not None  # the program's run goes on
    client = mlflow.MlflowClient()
    found = {name.replace(" and ", "+"): {
        point.step: point.value for point in client.get_metric_history(going_on.info.run_id, name)}
        for name in client.get_run(going_on.info.run_id).data.metrics}
    assert_same(found, run, 1e-12)
    assert crosscut.hand_over.mlflow(run.path) == 8 and mlflow.active_run() is None
