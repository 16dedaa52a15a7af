"""What adapters mark between processes, and where they look into awaits."""

import asyncio
import inspect
import json
import subprocess
import traceback

import crosscut
import pytest
from crosscut import _record
from recording import COMMAND, Recorder
from test_annotations import operations


def drive(awaitable, **how):
    return asyncio.run(outer(_record.awaiting(awaitable, **how)))


async def outer(awaitable):
    return await awaitable


async def value(result, *, raises=None):
    await asyncio.sleep(0)
    if raises is not None:
        raise raises
    return result


@pytest.mark.parametrize("result", [1, None, (1, 2), StopAsyncIteration("x"), [3]])
def test_it_hands_on_what_it_awaits(result):
    assert drive(value(result)) is result


def test_what_is_raised_in_it_passes_and_shows_no_frame_of_ours():
    with pytest.raises(KeyError) as caught:
        drive(value(1, raises=KeyError("x")))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["outer", "value"]


def test_what_is_thrown_into_it_reaches_what_it_awaits():
    seen = []

    async def inner():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            return "kept"

    async def main():
        task = asyncio.ensure_future(outer(_record.awaiting(inner())))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(main()) == "kept" and seen == ["cancelled"]


def test_one_that_is_closed_closes_what_it_awaits():
    closed = []

    async def inner():
        try:
            await asyncio.sleep(10)
        finally:
            closed.append(True)

    waiting = _record.awaiting(inner())
    with pytest.raises(RuntimeError):  # asyncio's sleep outside of a loop
        waiting.send(None)
    waiting.close()
    assert closed == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_begin_and_end_are_told_once_each_and_their_failures_are_not_the_programs():
    told = []

    def begins(*args):
        told.append(("begins", *args))
        raise ValueError("ours")

    assert drive(value(5), about="it", begins=begins,
                 ends=lambda *args: told.append(("ends", *args))) == 5
    with pytest.raises(KeyError):
        drive(value(5, raises=KeyError()), about="it",
              ends=lambda *args: told.append(("ends", *args)))
    assert told == [("begins", "it", None, False), ("ends", "it", 5, False),
                    ("ends", "it", None, True)]


def test_its_operation_is_open_only_while_it_runs(tmp_path):
    counts = operations(tmp_path, (
        "async def part(name):\n"
        "    with operation(name): pass\n"
        "    await asyncio.sleep(0)\n"
        "    with operation(name): pass\n"
        "async def main():\n"
        "    await asyncio.gather(*(_record.awaiting(part(n), operation('in ' + n))\n"
        "                           for n in 'ab'))\n"
        "asyncio.run(main())\n"))
    assert counts == {"in a": 2, "in b": 2, "a": 2, "b": 2}


async def counts(to):
    for i in range(to):
        await asyncio.sleep(0)
        got = yield i
        if got is not None:
            yield got


def test_an_asynchronous_generator_gives_what_it_gives(tmp_path):
    told = []

    async def main():
        make = lambda: _record.awaiting_each(  # noqa: E731
            counts(3), _record.operation("x"), lambda *args: told.append("begins"),
            lambda about, item, failed: told.append((item, failed)))
        assert inspect.isasyncgen(make()) and make().__name__ == "counts"
        assert [item async for item in make()] == [0, 1, 2]
        some = make()
        assert (await anext(some), await some.asend("sent"), await anext(some)) == (0, "sent", 1)
        with pytest.raises(KeyError):
            await some.athrow(KeyError("thrown"))
        await make().aclose()

    asyncio.run(main())
    assert told[:5] == ["begins", (0, False), (1, False), (2, False), (None, True)]
    assert operations(tmp_path, (
        "async def g():\n"
        "    for i in range(2):\n"
        "        await asyncio.sleep(0)\n"
        "        yield i\n"
        "async def main():\n"
        "    async for _ in _record.awaiting_each(g(), operation('each')):\n"
        "        with operation('between'): pass\n"
        "asyncio.run(main())\n")) == {"each": 5, "between": 2}


class Thing:
    def __await__(self):
        yield


def test_awaits_are_followed_of_a_class_of_c_and_once():
    assert _record.follow_await(int, print) is False
    task = asyncio.Future
    told = []
    assert _record.follow_await(task, lambda *args: told.append(args)) is True
    assert _record.follow_await(Thing, print) is False
    asyncio.run(value(1))  # nothing records: nobody is told
    assert told == []
    assert _record.follow_await(task, None) is True


ENDS = """
import os, sys
from crosscut import _record, operation
if len(sys.argv) > 1:
    with operation("there"):
        _record.flow_in(b"it")
    sys.exit()
with operation("here"):
    span = _record.span("asks", 6)
    with span:
        _record.arg("for", "them")
        _record.arg("objects", 2)
        _record.flow_out(b"it")
    _record.flow_out(b"another")
os.system(f"{sys.executable} {sys.argv[0]} child")
"""


def test_an_arrow_leads_to_another_process_by_its_key(tmp_path):
    recorder = Recorder(tmp_path)
    done = recorder.record("python3", recorder.script("ends.py", ENDS))
    assert done.returncode == 0, done.stderr
    out = tmp_path / "trace.json"
    subprocess.run([COMMAND, "export", recorder.run_dir, "-o", out], check=True,
                   capture_output=True)
    events = json.loads(out.read_text())["traceEvents"]
    ends = {event["ph"]: event["pid"] for event in events if event["ph"] in "sf"}
    parent, child = (p.pid for p in sorted(recorder.processes(), key=lambda p: p.parent != ""))
    assert ends == {"s": parent, "f": child}
    asks = next(event for event in events if event.get("name") == "asks")
    assert (asks["args"]["for"], asks["args"]["objects"]) == ("them", 2)


def test_what_marks_by_key_and_value_refuses_other_arguments():
    assert not crosscut.active()
    for call in (lambda: _record.flow_in("text"), lambda: _record.arg("key"),
                 lambda: _record.base("idle")):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError):
        _record.base(10)
