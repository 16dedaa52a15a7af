"""Ids of any size and type in Chrome's JSON, words that JSON lacks, ranks of one pid: what an
export says, read by its format's own reader. tests/endtoend/machine does so for all else."""

import collections
import json
import os
import random
import subprocess

import pytest
import xspace_reader
from runs import CROSSCUT, crosscut

def strict(path):
    """JSON as the standard has it: no NaN, no half a character."""
    def refuse(word):
        raise AssertionError(f"not JSON: {word}")
    text = path.read_bytes().decode()
    found = json.loads(text, parse_constant=refuse)
    json.dumps(found, ensure_ascii=False).encode()
    return found


def export(source, form, folder, ending):
    out = folder / f"out.{form}{ending}"
    crosscut("export", source, f"--to={form}", "-o", out)
    return out


def csv_of(run):
    return subprocess.run([CROSSCUT, "table", run, "spans"], capture_output=True,
                          check=True).stdout


IDS = [1, 7, "7", 7.0, 2**31, 2**40, -1, "row", "", None, True, [1]]


def event_of(draw, number):
    event = {"ph": draw.choice("XXXiC"), "name": f"name {number}",
             "pid": draw.choice([1, 1, "1", 2**33, -5, "rank"]), "tid": draw.choice(IDS),
             "ts": draw.choice([-3, 0, 5]) + number, "cat": "cpu_op"}
    if event["ph"] == "X":
        event["dur"] = draw.choice([0, 0.5])
    if event["ph"] == "C":
        event["args"] = {"value": draw.choice([-1, 2**53 + 1, 3])}
    if event["ph"] == "i":
        event["s"] = "t"
    if event["tid"] is None:
        del event["tid"]
    return event


@pytest.mark.parametrize("seed", range(6))
def test_ids_and_times_of_any_size_come_out_as_they_were(seed, tmp_path):
    draw = random.Random(seed)
    events = [event_of(draw, number) for number in range(60)]
    source = tmp_path / "in.json"
    source.write_text(json.dumps({"traceEvents": events}))
    written = strict(export(source, "chrome", tmp_path, ".json"))

    def told(all_events):
        return collections.Counter(json.dumps(one, sort_keys=True) for one in all_events)
    assert told(written["traceEvents"]) == told(events)


def test_words_that_json_lacks_become_texts_where_ids_stand(tmp_path):
    source = tmp_path / "in.json"
    source.write_text('[{"ph":"X","name":"a","pid":NaN,"tid":Infinity,"ts":0,"dur":1},'
                      '{"ph":"i","s":"t","name":"b","pid":1,"tid":nan,"ts":0},'
                      '{"ph":"X","name":"half \\ud800 \\udc00\\ud83d\\ude00","pid":1,"tid":1,'
                      '"ts":2,"dur":1}]')
    events = {one["name"]: one for one in strict(export(source, "chrome", tmp_path, ".json"))
              ["traceEvents"]}
    assert (events["a"]["pid"], events["a"]["tid"]) == ("NaN", "Infinity")
    assert (events["b"]["pid"], events["b"]["tid"]) == (1, "nan")
    assert "half \ufffd \ufffd\U0001f600" in events
    assert "half a character" in crosscut("report", source)


def test_ranks_of_one_pid_are_processes_of_their_own_in_every_format(tmp_path):
    perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    files = []
    for rank in range(3):
        files.append(tmp_path / f"rank{rank}.json")
        files[-1].write_text(json.dumps({
            "distributedInfo": {"rank": rank}, "baseTimeNanoseconds": 0,
            "traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": f"op {rank}", "pid": 1, "tid": 2**35 + rank,
                 "ts": 5, "dur": 2},
                {"ph": "X", "cat": "cpu_op", "name": "more", "pid": 1, "tid": 9, "ts": 5, "dur": 2},
                {"ph": "C", "name": "power", "pid": 1, "ts": -7, "args": {"W": 1}}]}))
    run = tmp_path / "run"
    crosscut("import", *files, "-o", run)
    chrome = strict(export(run, "chrome", tmp_path, ".json"))
    pids = {e["name"]: e["pid"] for e in chrome["traceEvents"] if e["name"].startswith("op ")}
    assert len(set(pids.values())) == 3 and 1 in pids.values()
    assert any("has another one" in gap or "have another one" in gap
               for gap in chrome["crosscutGaps"])
    space = xspace_reader.decode(export(run, "xspace", tmp_path, ".xplane.pb").read_bytes())
    assert len({plane["name"] for plane in space["planes"]}) == 3
    trace = perfetto.Trace()
    trace.ParseFromString(export(run, "perfetto", tmp_path, ".pftrace").read_bytes())
    threads = [one.track_descriptor.thread for one in trace.packet
               if one.HasField("track_descriptor") and one.track_descriptor.HasField("thread")]
    assert len({(one.pid, one.tid) for one in threads}) == len(threads) == 6
    assert all(one.tid > 0 for one in threads)
    times = [one.timestamp for one in trace.packet if one.HasField("timestamp")]
    assert max(times) < 2**40 and min(times) == 0


def test_a_file_of_any_bytes_is_imported_and_read(tmp_path):
    source = os.fsencode(tmp_path) + b"/caf\xe9\xff.json"
    with open(source, "wb") as file:
        file.write(b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]')
    for arguments in ([b"import", source, b"-o", os.fsencode(tmp_path / "run")],
                      [b"report", source], [b"table", source, b"spans"]):
        done = subprocess.run([os.fsencode(CROSSCUT), *arguments], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert len(csv_of(tmp_path / "run").splitlines()) == 2
