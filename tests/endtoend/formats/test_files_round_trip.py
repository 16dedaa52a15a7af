"""Traces in Chrome's JSON format that come in and go out again: nothing of them is lost that the
format can hold, event by event and key by key. Generated traces always; real ones where
CROSSCUT_TRACE_CORPUS names a folder of them."""

import collections
import gzip
import json
import os
import pathlib
import random
from decimal import ROUND_HALF_UP, Decimal

import pytest
from runs import crosscut

CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
REAL = sorted(CORPUS.glob("kineto-*.json.gz"))


def read(path):
    """The trace, its fractions as they are written; fails where an object has a key twice."""
    text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()

    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"twice: {pairs}"
        return dict(pairs)
    trace = json.loads(text, parse_float=Decimal, object_pairs_hook=once)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def nanoseconds(us):
    return int((Decimal(str(us)) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def typed(value):
    """What tells 1 from 1.0, True and "1"."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return f"{type(value).__name__} {value}"


def told(event):
    """The event as one text: times in nanoseconds, defaults stated, no order of keys."""
    event = dict(event)
    for key in ("ts", "dur"):
        if event.get("ph") in ("X", "i", "I", "R") and key in event:
            event[key] = nanoseconds(event[key])
    if event.get("ph") in ("i", "I", "R"):
        event.setdefault("s", "t")
    if not event.get("args"):
        event.pop("args", None)
    return json.dumps(typed(event), sort_keys=True)


def with_pairs_joined(events):
    """Each begin and the end that belongs to it, as the complete event that they are."""
    out, open_events = [], collections.defaultdict(list)
    for event in events:
        row = event.get("pid"), event.get("tid")
        if event.get("ph") == "B":
            event = {**event, "ph": "X"}
            open_events[row].append(event)
        elif event.get("ph") == "E" and open_events[row]:
            begun = open_events[row].pop()
            begun["dur"] = Decimal(str(event["ts"])) - Decimal(str(begun["ts"]))
            begun["args"] = {**begun.get("args", {}), **event.get("args", {})}
            continue
        out.append(event)
    return out


def assert_same(before, after):
    ours = {"traceEvents", "crosscutGaps"}
    assert {key: typed(value) for key, value in before.items() if key not in ours} == {
        key: typed(value) for key, value in after.items() if key not in ours}
    one = collections.Counter(map(told, with_pairs_joined(before["traceEvents"])))
    other = collections.Counter(map(told, with_pairs_joined(after["traceEvents"])))
    lost, new = list((one - other).elements()), list((other - one).elements())
    assert not lost and not new, (len(lost), lost[:3], len(new), new[:3])


def there_and_back(path, folder):
    crosscut("import", path, "-o", folder / "run")
    crosscut("export", folder / "run", "--to=chrome", "-o", folder / "out.json")
    return read(folder / "out.json")


@pytest.mark.skipif(not REAL, reason="CROSSCUT_TRACE_CORPUS names no folder of traces")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_traces_come_out_as_they_went_in(path, tmp_path):
    assert_same(read(path), there_and_back(path, tmp_path))


CATEGORIES = ["cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver",
              "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync",
              "overhead", "comm", "idle", "hpu_op", "Kernel", "somebody's own", "", None]
VALUES = [0, 7, -1, 2**31, 2**53 + 1, -2**63, 2**64, 0.5, 2.048, 1.0, -0.25, 1e-9, 6.02e23, True,
          False, None, "", "7", "0.5", "true", "[1, 2]", "[]", "null", "caf\u00e9 \U0001f600",
          "\"quoted\"\\ \n\t\x01", [], [1, 2, 3], [[2, 2], []], ["a", None, 1.5], {},
          {"a": {"b": [1]}}]
KEYS = ["correlation", "stream", "device", "External id", "Ev Idx", "Record function id", "grid",
        "blocks per SM", "bytes", "unclamped_ns", "name", "\"key\"", "caf\u00e9"]


def drawn_args(draw):
    return {key: draw.choice(VALUES) for key in draw.sample(KEYS, draw.randrange(len(KEYS)))}


def drawn_span(draw, number):
    category = draw.choice(CATEGORIES)
    event = {"ph": "X", "cat": category, "name": f"name {number % 40}",
             "pid": draw.choice([0, 9, 9, "9", 10, "Spans", "9 "]),
             "tid": draw.choice([7, "7", 7.0, 9, "row"]),
             "ts": draw.randrange(0, 100_000) / 8 + draw.choice([0, -1000]),
             "dur": draw.choice([0, 1, 3, 50, 400]) + draw.choice([0, 0.125, 0.001])}
    if category is None:
        del event["cat"]
    if category == "user_annotation" and draw.random() < 0.2:
        event["name"] = f"ProfilerStep#{number}"
    if draw.random() < 0.8:
        event["args"] = drawn_args(draw)
    if draw.random() < 0.1:
        event.update(id="0x1f", tts=draw.choice(VALUES), cname="good")
    return event


def drawn_other(draw, number):
    place = {"pid": draw.choice([9, "9", 10, "Traces"]), "tid": draw.choice([7, "7", 9, "row"]),
             "ts": number * 1.5}
    return draw.choice([
        {"ph": draw.choice("st"), "cat": "ac2g", "name": "ac2g", "id": number % 7, **place},
        {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": number % 7, "bp": "e", **place},
        {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": "0xff", **place},
        {"ph": "C", "name": "power", "args": {"watt": 70.625, "other": number}, **place},
        {"ph": "M", "name": "process_labels", "args": {"labels": "GPU 0"}, **place},
        {"ph": "M", "name": "thread_name", "args": {"name": "stream 7 "}, **place},
        {"ph": "M", "name": "thread_sort_index", "args": {"sort_index": -1}, **place},
        {"ph": draw.choice("iIR"), "s": draw.choice("gpt"), "name": "mark",
         "cat": "cpu_instant_event", "args": drawn_args(draw), **place},
        {"ph": "i", "name": "Record Window End", **place},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "dur": 5, **place},
        {"ph": draw.choice("bne"), "cat": "async", "name": "work", "id": number, **place},
        {"ph": "N", "name": "object", "id": "0x1", "scope": "here", **place},
        {"ph": "X", "name": "no time", "pid": 9, "tid": 9, "args": {"a": 1}}])


def drawn_trace(seed):
    draw = random.Random(seed)
    events = [drawn_span(draw, i) if draw.random() < 0.7 else drawn_other(draw, i)
              for i in range(draw.randrange(5, 400))]
    facts = {key: draw.choice(VALUES) for key in ("schemaVersion", "trace_id", "with_stack")}
    facts["deviceProperties"] = [{"id": 0, "name": "CHIP 9", "warpSize": 32, "share": 0.5}]
    facts["distributedInfo"] = {"backend": "nccl", "rank": 3, "world_size": 8,
                                "pg_config": [{"pg_name": "0"}], "nccl_version": "2.20.5"}
    return {**facts, "traceEvents": events, "traceName": "t.json"}


@pytest.mark.parametrize("seed", range(40))
def test_generated_traces_come_out_as_they_went_in(seed, tmp_path):
    trace, path = drawn_trace(seed), tmp_path / "in.json"
    path.write_text(json.dumps(trace, ensure_ascii=seed % 2 == 0,
                               indent=1 if seed % 5 == 0 else None))
    assert_same(read(path), there_and_back(path, tmp_path))


def written_again(events, folder, **beside):
    path = folder / "in.json"
    path.write_text(events if isinstance(events, str) else
                    json.dumps({**beside, "traceEvents": events}))
    return there_and_back(path, folder)


def test_a_begin_and_its_end_become_one_event_with_the_arguments_of_both(tmp_path):
    row = {"pid": 1, "tid": 2}
    after = written_again([
        {"ph": "B", "cat": "cpu_op", "name": "outer", "ts": 1, "args": {"a": 1, "b": 2}, **row},
        {"ph": "B", "name": "inner", "ts": 2, **row}, {"ph": "E", "ts": 3.5, **row},
        {"ph": "E", "ts": 9, "args": {"b": 3, "c": [4]}, **row}], tmp_path)
    outer, inner = sorted(after["traceEvents"], key=lambda event: event["ts"])
    assert (outer["ph"], outer["dur"], outer["args"]) == ("X", 8, {"a": 1, "b": 3, "c": [4]})
    assert (inner["name"], inner["dur"]) == ("inner", Decimal("1.5"))


def test_a_step_as_a_begin_and_an_end_stays_these(tmp_path):
    row = {"cat": "user_annotation", "pid": 1, "tid": "a\"b"}
    begin = {"ph": "B", "name": "ProfilerStep#3", "ts": 1, "args": {"a": [1, "b"]}, **row}
    inside = {"ph": "X", "name": "f", "ts": 2, "dur": 3, **row}
    end = {"ph": "E", "pid": 1, "tid": "a\"b", "ts": 9.25}
    after = written_again([begin, inside, end], tmp_path)
    assert_same({"traceEvents": [begin, inside, {**end, "name": "ProfilerStep#3"}]}, after)
    assert len(crosscut("table", tmp_path / "out.json", "steps").splitlines()) == 2


def test_a_key_that_stands_twice_keeps_its_last_value_as_readers_of_json_do(tmp_path):
    after = written_again('[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1,'
                          ' "args": {"k": 1, "l": 2, "k": [3]}}]', tmp_path)
    assert after["traceEvents"][0]["args"] == {"l": 2, "k": [3]}


def test_annotations_that_cross_what_they_began_in_stay_whole(tmp_path):
    row = {"ph": "X", "pid": 1, "tid": 2}
    events = [{"cat": "python_function", "name": "f", "ts": 0, "dur": 10, **row},
              {"cat": "user_annotation", "name": "a", "ts": 5, "dur": 20, **row},
              {"cat": "python_function", "name": "g", "ts": 12, "dur": 4, **row},
              {"cat": "cpu_op", "name": "op", "ts": 30, "dur": 10, **row},
              {"cat": "cuda_runtime", "name": "late", "ts": 35, "dur": 6, **row}]
    assert_same({"traceEvents": events}, written_again(events, tmp_path))


def test_what_an_export_said_to_be_missing_is_missing_from_its_import_too(tmp_path):
    row = {"ph": "X", "pid": 1, "tid": 2, "name": "a", "ts": 1, "dur": 1}
    after = written_again([row], tmp_path, crosscutGaps=["7 events were lost."])
    assert after["crosscutGaps"] == ["7 events were lost."]
    assert "7 events were lost." in crosscut("report", tmp_path / "out.json")
