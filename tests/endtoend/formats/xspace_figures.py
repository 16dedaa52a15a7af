"""Figures of tables, once from the other reader of XSpaces, once from Crosscut's."""

import collections
import re

from chrome_figures import length
from xspace_reader import Space

SENTENCES = {"far lines": r"(\d+) lines? and \d+ events? state times that no clock shows",
             "far events": r"lines? and (\d+) events? state times that no clock shows",
             "sums": r"(\d+) events? (?:is a sum|are sums) without a time",
             "no bytes": r"(\d+) events? of (?:an allocator|allocators) do(?:es)? not say how many",
             "cut steps": r"(\d+) steps? (?:is|are) not over where the next begins"}
SAME_LAUNCH = "the correlation of another launch"


def expected(space):
    """Of an xspace_reader.Space."""
    count, self_ns, total, operators = (collections.Counter() for _ in range(4))
    device = []
    for number, stream, spans in space.lanes:
        by_name = collections.defaultdict(list)
        for span in spans:
            count[span.layer, span.name] += 1
            if number is not None:
                device.append((number, stream, span))
                continue
            self_ns[span.layer, span.name] += span.end - span.begin - span.inner
            by_name[span.layer, span.name].append((span.begin, span.end))
            operators[span.layer, span.name] += span.layer in ("framework", "comm")
        for key, intervals in by_name.items():
            total[key] += length(intervals)
    figures = {"functions": count, "functions_self": +self_ns, "functions_total": +total,
               "operators": +operators}
    figures["device_events"] = launched(space, device)
    figures["busy"] = length((span.begin, span.end) for _, _, span in device)
    figures["steps"] = collections.Counter((step[2], step[0], step[1]) for step in space.steps)
    figures["windows"] = window(space)
    figures["told"] = +space.told
    figures["memory"] = memory(space)
    return figures


def memory(space):
    """By allocator: allocations, frees, their bytes, and the most that was held."""
    held, figures = {}, {}
    for _, name, size, total in sorted(space.changes, key=lambda change: change[0]):
        if size is None:
            continue
        count = figures.setdefault(name, [0, 0, 0, 0, 0])
        before = held.get(name, total - size if total is not None else 0)
        held[name] = total if total is not None else before + size
        count[size < 0] += 1
        count[2 + (size < 0)] += abs(size)
        count[4] = max(count[4], held[name], before if sum(count[:2]) == 1 else held[name])
    return {name: tuple(count) for name, count in figures.items()}


def launched(space, device):
    """Each piece of work, and the latest call of its number before it, else the first."""
    calls = collections.defaultdict(list)
    for number, _, spans in space.lanes:
        for span in spans if number is None else ():
            calls[span.number("correlation_id")].append(span)
    events = collections.Counter()
    for number, stream, span in device:
        by = calls[span.number("correlation_id")] if span.number("correlation_id") else []
        before = [call for call in by if call.begin <= span.begin]
        call = (max(before, key=lambda one: one.begin) if before
                else min(by, key=lambda one: one.begin, default=None))
        events[number, stream, span.name, span.begin, span.end, call.name if call else "",
               call.begin if call else None, call.end if call else None] += 1
    return events


def window(space):
    times = [at for _, _, spans in space.lanes for span in spans for at in (span.begin, span.end)]
    times += [change[0] for change in space.changes]
    begin, end = (min(times), max(times)) if times else (0, 0)
    base = space.start if space.start > 0 and begin < space.start // 2 else 0
    start = min(space.start - base, begin) if space.start > 0 else begin
    return start, max(space.stop - base, end) - start


def seen(run):
    """The same of a crosscut.reading.Run."""
    figures = {name: collections.Counter()
               for name in ("functions", "functions_self", "functions_total", "operators")}
    for row in run.table("functions").rows():
        key = row["layer"], row["name"]
        figures["functions"][key] += row["count"]
        if row["layer"] != "device":
            figures["functions_self"][key] += row["self_ns"]
            figures["functions_total"][key] += row["total_ns"]
    for row in run.table("operators").rows():
        figures["operators"][row["layer"], row["name"]] += row["count"]
    figures["device_events"] = collections.Counter(
        (row["device"], row["stream"], row["name"], row["begin_ns"], row["end_ns"], row["launch"],
         row["launch_begin_ns"], row["launch_end_ns"])
        for row in run.table("device_events").rows())
    figures["busy"] = sum(row["busy_ns"] for row in run.table("device_timeline").rows())
    figures["steps"] = collections.Counter((row["step"], row["begin_ns"], row["end_ns"])
                                           for row in run.table("steps").rows())
    process, = run.table("processes").rows()
    figures["windows"] = process["start_ns"], process["wall_ns"]
    figures["memory"] = {row["device"]: (row["allocations"], row["frees"], row["allocated_bytes"],
                                         row["freed_bytes"], row["peak_bytes"])
                         for row in run.table("memory").rows()}
    told = " ".join(run.gaps)
    figures["told"] = {key: int(found[1]) for key, words in SENTENCES.items()
                       if (found := re.search(words, told)) and int(found[1])}
    return {key: +value if isinstance(value, collections.Counter) else value
            for key, value in figures.items()}


def differences(path, data):
    """Figures of the file in which the readers differ and no sentence says why."""
    from crosscut import reading
    run = reading.read(path)
    ours, theirs = seen(run), expected(Space(data))
    excused = {"device_events"} if any(SAME_LAUNCH in gap for gap in run.gaps) else set()
    return {key: (ours[key], theirs[key]) for key in theirs
            if key not in excused and ours[key] != theirs[key]}
