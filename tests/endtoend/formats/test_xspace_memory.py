"""What allocators say in XSpaces: the table `memory` beside XProf's memory profile."""

import json
import os
import pathlib
import random
import subprocess

import pytest
import xspace_reader
from frameworks import python_with
from runs import crosscut, record, record_script, table

CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
XPROF = """
import json, pathlib, shutil, sys, tempfile
from xprof.convert import raw_to_tool_data
said = []
for file in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(file, pathlib.Path(folder) / "host.xplane.pb")
        data, _ = raw_to_tool_data.xspace_to_tool_data([copy], "memory_profile", {})
    allocators = json.loads(data).get("memoryProfilePerAllocator", {})
    said.append({name: [[one["activityMetadata"]["memoryActivity"],
                         int(one["activityMetadata"]["allocationBytes"])]
                        for one in of["sampledTimelineSnapshots"]] +
                       [["peak", int(of["profileSummary"]["peakStats"]["peakBytesInUse"])]]
                 for name, of in allocators.items()})
print("\\n" + json.dumps(said))
"""


def xprofs(*files):
    """Of each file, by allocator: allocations, frees, bytes of both, peak. XProf shows 1000 changes
    of an allocator, so no file here may have more."""
    said = subprocess.run([python_with("xprof"), "-c", XPROF, *files], check=True, timeout=600,
                          capture_output=True, text=True).stdout.splitlines()[-1]
    figures = []
    for allocators in json.loads(said):
        figures.append({})
        for name, changes in allocators.items():  # may be empty: a space without allocators
            assert len(changes) < 1000
            of = {kind: [size for what, size in changes if what == kind]
                  for kind in ("ALLOCATION", "DEALLOCATION", "peak")}
            figures[-1][name] = (len(of["ALLOCATION"]), len(of["DEALLOCATION"]),
                                 sum(of["ALLOCATION"]), sum(of["DEALLOCATION"]), *of["peak"])
    return figures


def ours(file):
    return {row["device"]: (row["allocations"], row["frees"], row["allocated_bytes"],
                            row["freed_bytes"], row["peak_bytes"])
            for row in table(file, "memory")}


KEYS = ("allocator_name", "bytes_reserved", "bytes_allocated", "bytes_available", "addr",
        "requested_bytes", "allocation_bytes", "tf_op", "device_ordinal")


def drawn(dice):
    """A space whose threads allocate and free at random, each time of one allocator, in order of
    time over all threads. The first event of an allocator allocates."""
    lines = [{"id": i + 1, "name": f"thread {i}", "timestamp_ns": 1_000, "events": []}
             for i in range(dice.randrange(1, 4))]
    names = ["MemoryAllocation", "MemoryDeallocation", "dense:MatMul"]
    held, at = {}, 0
    for _ in range(dice.randrange(120)):
        at += dice.randrange(1, 5) * 10_000_000
        which = dice.choice(("GPU_0_bfc", "cpu", 3))
        blocks = held.setdefault(which, [])
        frees = bool(blocks) and dice.random() < 0.5
        size = blocks.pop(dice.randrange(len(blocks))) if frees else dice.randrange(1, 1 << 40)
        if not frees:
            blocks.append(size)
        numbers = {"bytes_reserved": 64, "bytes_allocated": sum(blocks), "bytes_available": 1 << 50,
                   "addr": size, "requested_bytes": size - 1, "allocation_bytes": size}
        stats = [{"metadata_id": KEYS.index(key) + 1, "int64": value}
                 for key, value in numbers.items()]
        stats.append({"metadata_id": 9, "int64": which} if which == 3 else
                     {"metadata_id": 1, "text": which})
        dice.shuffle(stats)
        dice.choice(lines)["events"].append(
            {"metadata_id": frees + 1, "offset_ps": at, "stats": stats,
             "duration_ps": dice.choice((0, 5_000_000))})
        if dice.random() < 0.3:
            dice.choice(lines)["events"].append(
                {"metadata_id": 3, "offset_ps": at - 2_000_000, "duration_ps": 4_000_000})
    for line in lines:
        dice.shuffle(line["events"])
    plane = {"id": 1, "name": "/host:CPU", "lines": lines,
             "events": [{"key": i + 1, "value": {"id": i + 1, "name": name}}
                        for i, name in enumerate(names)],
             "names": [{"key": i + 1, "value": {"id": i + 1, "name": key}}
                       for i, key in enumerate(KEYS)]}
    return {"planes": [plane], "hostnames": ["host"]}


def test_drawn_spaces_have_xprofs_figures(tmp_path):
    files = []
    for seed in range(40):
        files.append(tmp_path / f"{seed}.xplane.pb")
        files[-1].write_bytes(xspace_reader.encode(drawn(random.Random(seed))))
    peers = xprofs(*files)
    assert len(peers) == 40
    for seed, (file, theirs) in enumerate(zip(files, peers)):
        named = {name.replace("device ", ""): figures for name, figures in ours(file).items()}
        assert named == theirs, seed


def test_real_spaces_have_xprofs_figures():
    files = [file for file in sorted(CORPUS.glob("*.xplane.pb"))
             if b"MemoryAllocation" in file.read_bytes()]
    if not files:
        pytest.skip("CROSSCUT_TRACE_CORPUS names no folder with such a space")
    peers = xprofs(*files)
    assert len(peers) == len(files)
    for file, theirs in zip(files, peers):
        assert theirs and ours(file) == theirs, file


def test_an_allocator_that_does_not_say_how_much_is_told(tmp_path):
    space = drawn(random.Random(1))
    events = [event for line in space["planes"][0]["lines"] for event in line["events"]
              if event["metadata_id"] != 3]
    for event in events[:3]:
        event["stats"] = [stat for stat in event["stats"] if stat["metadata_id"] != 7]
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(xspace_reader.encode(space))
    assert sum(figures[0] + figures[1] for figures in ours(file).values()) == len(events) - 3
    assert "3 events of allocators do not say how many bytes" in " ".join(
        crosscut("report", file).split())


PROFILED = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
tf.ones(8).numpy()
tf.profiler.experimental.start(sys.argv[1])
for i in range(20):
    x = tf.random.normal((256, 256))
    tf.linalg.matmul(x, x).numpy()
tf.profiler.experimental.stop()
"""


def test_tensorflows_allocator_has_xprofs_figures(tmp_path):
    """On the CPU it is asked for the allocator of its devices, which tells."""
    subprocess.run([python_with("tensorflow", "xprof"), "-c", PROFILED, tmp_path], check=True,
                   env=dict(os.environ, TF_CPU_ALLOCATOR_USE_BFC="true"), timeout=300,
                   capture_output=True)
    file, = tmp_path.glob("**/*.xplane.pb")
    theirs, = xprofs(file)
    assert theirs and ours(file) == theirs
    operators = {row["operator"] for row in table(file, "memory_operators")}
    assert any("MatMul" in name for name in operators), operators


TRAINED = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(10)])
model.compile("sgd", "mse")
model.fit(tf.random.normal((3200, 32)), tf.random.normal((3200, 10)), batch_size=32, verbose=0)
"""


def test_a_recorded_program_has_the_memory_of_its_frameworks_allocator(tmp_path):
    run, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(TRAINED)
    result = record(run, [python_with("tensorflow"), script],
                    env={"TF_CPU_ALLOCATOR_USE_BFC": "true"})
    assert result.returncode == 0, result.stderr
    memory, = [row for row in table(run, "memory") if "bfc" in row["device"]]
    assert memory["allocations"] > 100 and memory["frees"] > 100
    held = [row["bytes"] for row in table(run, "memory_peak") if row["device"] == memory["device"]]
    assert sum(held) == memory["peak_bytes"] and min(held) > 0


TORCH = """
import torch
x = torch.ones(256, 256)
for i in range(20):
    y = torch.relu(x @ x) + i
    del y
"""


def test_allocations_of_pytorch_come_back_and_stand_in_xprofs_memory_profile(tmp_path):
    pytest.importorskip("torch")
    run, space = tmp_path / "run", tmp_path / "x.xplane.pb"
    record_script(run, TORCH, "--allocations", "--control-steps=0")
    crosscut("export", run, "--to=xspace", "-o", space)
    others = ("process", "at_ns", "peak_at_ns", "begin_ns", "end_ns", "span")
    for name in ("memory", "memory_peak", "memory_operators", "memory_events", "memory_timeline"):
        was, again = (sorted(str({key: value for key, value in row.items() if key not in others})
                             for row in table(of, name)) for of in (run, space))
        assert was and again == was, name
    theirs, = xprofs(space)
    assert ours(run)["cpu"] == theirs["cpu"]
