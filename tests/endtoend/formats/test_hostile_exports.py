"""Names of any bytes, ids of any size and type, times below 0, two of everything: what an export
says, read by its format's own reader, is what came in, or a gap says what changed. By seed."""

import collections
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys

import pytest
import xspace_reader
from runs import CROSSCUT, PACKAGE, crosscut

NAMES = [b"plain", b"caf\xc3\xa9", b"\xff\xfe", b"a\nb", b"a;b c", b"=cmd|' /C calc'!A0",
         b"\x1b[2J", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"</script>&\"'", b"\xe2\x80\xae",
         b"x\x00y", b"\t", b"two, \"quotes\"", b"\xc0\x80", b"a.py:1: f"]


def drawn(draw):
    """Bytes of a name, which is not empty."""
    name = b"".join(draw.choice(NAMES) for _ in range(draw.randrange(1, 3)))
    return name + bytes(draw.randrange(256) for _ in range(draw.choice([0, 0, 3])))


def cleaned(name):
    return name.decode("utf-8", "replace")


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


def space_of(names, draw):
    """A profile: a span of each name on one thread, one after the other."""
    entries = [{"key": i + 1, "value": {"id": i + 1, "name": f"@{i:06}@"}}
               for i in range(len(names))]
    events = [{"metadata_id": i + 1, "offset_ps": i * 10_000_000, "duration_ps": 5_000_000}
              for i in range(len(names))]
    line = {"id": draw.choice([1, 2**31 + 7, 2**40, 5]), "name": "main",
            "timestamp_ns": 1_700_000_000_000_000_000, "events": events}
    plane = {"id": 1, "name": "/host:CPU", "lines": [line], "events": entries}
    # Names of any bytes: the writer takes texts alone, so each is put in by its length.
    data = xspace_reader.encode(plane, "plane")
    for i, name in enumerate(names):
        said = xspace_reader.encode({"id": i + 1, "name": f"@{i:06}@"}, "event_metadata")
        meant = said[:2 if i < 127 else 3] + b"\x12" + xspace_reader.put_varint(len(name)) + name
        entry = xspace_reader.put_varint(i + 1)
        old = b"\x08" + entry + b"\x12" + xspace_reader.put_varint(len(said)) + said
        new = b"\x08" + entry + b"\x12" + xspace_reader.put_varint(len(meant)) + meant
        data = data.replace(b"\x22" + xspace_reader.put_varint(len(old)) + old,
                            b"\x22" + xspace_reader.put_varint(len(new)) + new)
    return b"\x0a" + xspace_reader.put_varint(len(data)) + data


@pytest.fixture(params=range(4))
def profile(request, tmp_path):
    draw = random.Random(request.param)
    names = [drawn(draw) for _ in range(40)]
    path = tmp_path / "one.xplane.pb"
    path.write_bytes(space_of(names, draw))
    other = tmp_path / "two.xplane.pb"
    other.write_bytes(path.read_bytes())
    run = tmp_path / "run"
    crosscut("import", path, other, "-o", run)
    return run, collections.Counter(cleaned(name) for name in names for _ in range(2))


def test_names_of_any_bytes_are_texts_in_every_format(profile, tmp_path):
    run, names = profile
    gaps = crosscut("report", run, "--format=json")
    assert any("no UTF-8" in gap for gap in json.loads(gaps)["gaps"])
    chrome = strict(export(run, "chrome", tmp_path, ".json"))
    assert collections.Counter(e["name"] for e in chrome["traceEvents"] if e["ph"] == "X") == names
    assert any("no UTF-8" in gap for gap in chrome["crosscutGaps"])
    scope = strict(export(run, "speedscope", tmp_path, ".json"))
    assert {frame["name"] for frame in scope["shared"]["frames"]} == set(names)
    space = xspace_reader.decode(export(run, "xspace", tmp_path, ".xplane.pb").read_bytes())
    said = collections.Counter(
        next(entry["value"].get("name", "") for entry in plane["events"]
             if entry["key"] == event["metadata_id"])
        for plane in space["planes"] for line in plane["lines"] for event in line["events"])
    assert said == names
    lines = export(run, "collapsed", tmp_path, ".txt").read_bytes().decode().split("\n")
    assert lines.pop() == "" and all(line.rpartition(" ")[2].isdigit() for line in lines)
    assert len({line.rpartition(" ")[0].partition(";")[2] for line in lines}) <= len(names)
    assert all(line.count(";") == 1 for line in lines)
    gzip.decompress(export(run, "pprof", tmp_path, ".pb.gz").read_bytes())
    rows = list(csv.DictReader(io.StringIO(csv_of(run).decode(), newline="")))
    unquoted = [row["name"][1:] if row["name"][1:2] and row["name"][0] == "'" and
                row["name"][1] in "=+-@\t\r" else row["name"] for row in rows]
    assert collections.Counter(unquoted) == names


def csv_of(run):
    return subprocess.run([CROSSCUT, "table", run, "spans"], capture_output=True,
                          check=True).stdout


def test_names_of_any_bytes_are_texts_in_python(profile, tmp_path):
    run, names = profile
    pytest.importorskip("pyarrow")
    code = ("import crosscut, json, sys\nrun = crosscut.read(sys.argv[1])\n"
            "table = run.table('spans')\narrow = table.to_arrow()\narrow.validate(full=True)\n"
            "assert arrow['name'].to_pylist() == table['name']\n"
            "table._repr_html_().encode(); run._repr_html_().encode()\n"
            "print(json.dumps(table['name']))")
    # A folder of any bytes, too.
    folder = os.fsencode(tmp_path) + b"/caf\xe9\xff"
    os.rename(run, folder)
    told = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert told.returncode == 0, told.stderr
    assert collections.Counter(json.loads(told.stdout)) == names


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
