"""HolisticTraceAnalysis' TraceDiff counts the same operators and kernels as `crosscut diff`: of
traces that are made here always, of real ones where CROSSCUT_TRACE_CORPUS names a folder of
them."""

import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from runs import crosscut

HERE = pathlib.Path(__file__).parent
CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
# Traces with several steps each. HTA leaves out what lies outside the steps that it recognises,
# and knows launches by CUDA's names alone.
PAIRS = [("kineto-v100-ddp-ns", "kineto-a100-nccl-rank0"),
         ("kineto-sampled-rank0", "kineto-sampled-rank1")]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("hta") is None,
                                reason="HolisticTraceAnalysis is not installed")


def hta_counts(a, b):
    done = subprocess.run([sys.executable, HERE / "hta_diff.py", a, b], capture_output=True,
                          text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def our_counts(a, b, table):
    found = {t["table"]: t["columns"]
             for t in json.loads(crosscut("diff", a, b, "--format=json"))["tables"]}[table]
    counts = {}
    for name, x, y in zip(found["name"], found["a_count"], found["b_count"]):
        pair = counts.setdefault(name, [0, 0])
        pair[0] += x
        pair[1] += y
    return counts


def compare(a, b):
    theirs = hta_counts(a, b)
    assert our_counts(a, b, "diff_kernels") == theirs["gpu"]
    ours = our_counts(a, b, "diff_functions")
    operators = {name: pair for name, pair in theirs["cpu"].items() if name.startswith("aten::")}
    assert operators
    assert {name: ours.get(name) for name in operators} == operators


def kineto(path, operators):
    """Two steps in which each operator launches a kernel of its own."""
    events, correlation = [], 0
    for step in range(2):
        begin = 1000 * step + 100
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                       "pid": 1, "tid": 1, "ts": begin, "dur": 900})
        for place, name in enumerate(operators):
            correlation += 1
            at = begin + 10 + 50 * place
            events += [
                {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 40,
                 "args": {"External id": correlation}},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                 "ts": at + 5, "dur": 10, "args": {"correlation": correlation}},
                {"ph": "X", "cat": "kernel", "name": f"{name}_kernel", "pid": 0, "tid": 7,
                 "ts": at + 20, "dur": 25,
                 "args": {"device": 0, "stream": 7, "correlation": correlation}},
                {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": correlation, "pid": 1, "tid": 1,
                 "ts": at + 5},
                {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": correlation, "pid": 0,
                 "tid": 7, "ts": at + 20}]
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}
    path.write_text(json.dumps(trace))
    return path


def test_traces_made_here(tmp_path):
    a = kineto(tmp_path / "a.json", ["aten::mm", "aten::add", "aten::relu"])
    b = kineto(tmp_path / "b.json", ["aten::mm", "aten::mm", "aten::gelu", "aten::add"])
    compare(a, b)
    assert our_counts(a, b, "diff_kernels") == {
        "aten::mm_kernel": [2, 4], "aten::add_kernel": [2, 2], "aten::relu_kernel": [2, 0],
        "aten::gelu_kernel": [0, 2]}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="CROSSCUT_TRACE_CORPUS names no folder")
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_real_traces(pair, tmp_path):
    paths = []
    for name in pair:
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_bytes(gzip.decompress((CORPUS / f"{name}.json.gz").read_bytes()))
    compare(*paths)
