"""OpenCL programs that know nothing of Crosscut, recorded on the device that every machine has."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from runs import ROOT, crosscut, record, table
from test_adds_up import check_sums

BUILD = ROOT / "build" / "release"
SAXPY = BUILD / "examples" / "opencl_saxpy"
VISIBLE = BUILD / "tests" / "opencl" / "opencl_visible"
SHOWN = 2 * 9  # kernels on the queues that VISIBLE shows: one with work and one without, on each

NESTED = """
import crosscut, numpy as np, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
flags = cl.command_queue_properties.PROFILING_ENABLE
queues = [cl.CommandQueue(context, device, flags) for _ in range(2)]
text = "kernel void add(global float* a, float b) { a[get_global_id(0)] += b; }"
add = cl.Kernel(cl.Program(context, text).build(), "add")
host = np.zeros(1 << 20, np.float32)
memory = [cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes) for _ in queues]
events = []
for _ in range(6):
    with crosscut.operation("train"):
        with crosscut.operation("upload"):
            for queue, buffer in zip(queues, memory):
                events.append(cl.enqueue_copy(queue, buffer, host))
        with crosscut.operation("compute"):
            for _ in range(3):
                for queue, buffer in zip(queues, memory):
                    events.append(add(queue, host.shape, None, buffer, np.float32(1)))
            for queue in queues:
                queue.finish()
for event in events:
    print(event.profile.start, event.profile.end)
"""


def spans_of(run, tmp_path):
    """(runtime call, device span) pairs by their arrow, from the Chrome export; us."""
    file = tmp_path / "trace.json"
    crosscut("export", run, "--to=chrome", "-o", file)
    calls, work = {}, {}
    for event in json.loads(file.read_text())["traceEvents"]:
        number = event.get("args", {}).get("correlation")
        if event["ph"] == "X" and number is not None:
            (work if event["cat"] != "cuda_runtime" else calls)[number] = event
    assert work
    return [(calls[number], span) for number, span in work.items()]


def error_us(run):
    """The error of the device's clock, as the tables state it."""
    rows = [row for row in table(run, "clocks") if row["clock"].startswith("opencl")]
    assert len(rows) == 1 and rows[0]["anchors"] >= 2
    assert rows[0]["error_ns"] < 1_000_000
    return rows[0]["error_ns"] / 1000


def covered(intervals):
    """The measure of a union of half-open intervals."""
    total, last = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, last))
        last = max(last, end)
    return total


@pytest.fixture(scope="module")
def saxpy(tmp_path_factory):
    run = tmp_path_factory.mktemp("saxpy") / "run"
    result = record(run, [SAXPY, "--events"])
    assert result.returncode == 0, result.stderr
    return run, result


def test_the_program_prints_what_it_prints_alone(saxpy):
    alone = subprocess.run([SAXPY, "--events"], capture_output=True, text=True, check=True)
    assert saxpy[1].stdout.splitlines()[0] == alone.stdout.splitlines()[0]
    assert len(saxpy[1].stderr.splitlines()) <= 10


def test_device_time_is_what_the_programs_own_events_say(saxpy):
    run, result = saxpy
    rows = {row["name"]: row for row in table(run, "functions") if row["layer"] == "device"}
    lines = [line.split(",") for line in result.stdout.splitlines()[1:]]
    assert len(lines) == 6 and len(rows) == 6
    for name, count, ns in lines:
        assert rows[name]["count"] == int(count)
        # Both read the device's own stamps; begin and end of each are rounded to ns.
        assert abs(rows[name]["total_ns"] - int(ns)) <= int(count)


def test_calls_kernels_and_copies_stand_in_overlap(saxpy):
    check_sums(saxpy[0])
    rows = table(saxpy[0], "overlap")
    assert {(row["layers"], row["device"]) for row in rows} >= {("runtime", 0), ("runtime", 1)}
    calls = {row["name"] for row in table(saxpy[0], "functions") if row["layer"] == "runtime"}
    assert calls >= {"clBuildProgram", "clEnqueueNDRangeKernel", "clEnqueueWriteBuffer",
                     "clEnqueueReadBuffer", "clEnqueueFillBuffer", "clFinish", "clFlush"}


def test_no_work_begins_before_it_is_enqueued(saxpy, tmp_path):
    pairs = spans_of(saxpy[0], tmp_path)
    assert len(pairs) == 39
    error = error_us(saxpy[0])
    for call, span in pairs:
        assert span["ts"] >= call["ts"] - error, (call, span)
        assert span["args"]["queued_to_start_ns"] >= 0
    assert {span["pid"] for _, span in pairs} != {call["pid"] for call, _ in pairs}
    assert {span["args"]["stream"] for _, span in pairs} == {1, 2}


def test_the_alignment_is_told(saxpy):
    row, = (row for row in table(saxpy[0], "sources") if row["name"] == "opencl")
    assert row["state"] == "on" and "right to +-" in row["message"]
    assert "39 commands" in row["message"]
    assert not table(saxpy[0], "drops")


def test_nested_operations_of_a_python_program_own_the_device(tmp_path):
    script = tmp_path / "nested.py"
    script.write_text(NESTED)
    run = tmp_path / "run"
    result = record(run, [sys.executable, script])
    assert result.returncode == 0, result.stderr
    events = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
    assert len(events) == 6 * (2 + 6)
    check_sums(run)
    busy = sum(row["ns"] for row in table(run, "overlap") if row["device"] == 1)
    assert abs(busy - covered(events)) <= len(events)
    launched = {row["launch_operations"]: row["ns"] for row in table(run, "device_by_launch")}
    assert {"upload", "compute"} <= set(launched)
    assert sum(launched.values()) == busy
    count = sum(row["count"] for row in table(run, "functions") if row["layer"] == "device")
    assert count == len(events)


def test_what_a_program_sees_is_the_same_as_without(tmp_path):
    alone = subprocess.run([VISIBLE], capture_output=True, text=True, check=True)
    result = record(tmp_path / "run", [VISIBLE])
    assert result.stdout == alone.stdout
    assert len(alone.stdout.splitlines()) > 50
    assert table(tmp_path / "run", "functions")


@pytest.mark.parametrize("how, code", [("_exit", 7), ("exit", 8), ("kill", -signal.SIGKILL),
                                       ("abort", -signal.SIGABRT)])
def test_a_program_that_ends_abruptly_loses_no_work_that_was_done(tmp_path, how, code):
    run = tmp_path / "run"
    ended = record(run, [VISIBLE, how])
    assert ended.returncode == code
    done = int(re.search(r"^(\d+) done$", ended.stderr, re.M)[1])
    rows = {row["name"]: row for row in table(run, "functions")}
    # What was under way has no span; what had ended before has.
    assert SHOWN - 1 + done <= rows["one"]["count"] <= SHOWN + 100


def test_a_program_that_sleeps_before_its_end_has_all_its_kernels(tmp_path):
    run = tmp_path / "run"
    assert record(run, [VISIBLE, "wait"]).returncode == 0
    rows = {row["name"]: row for row in table(run, "functions")}
    assert rows["one"]["count"] == 100 + SHOWN


def test_opencl_can_be_left_out(tmp_path):
    run = tmp_path / "run"
    assert record(run, [SAXPY], "--sources=pytorch").returncode == 0
    assert not [row for row in table(run, "sources") if row["name"] == "opencl"]


def test_the_users_own_layers_stay(tmp_path):
    code = "import os; print(os.environ['OPENCL_LAYERS'])"
    result = record(tmp_path / "run", [sys.executable, "-c", code],
                    env={"OPENCL_LAYERS": "/no/such/layer.so"})
    ours, theirs = result.stdout.strip().split(":")
    assert pathlib.Path(ours).name == "libcrosscut_opencl.so" and os.path.exists(ours)
    assert theirs == "/no/such/layer.so"
