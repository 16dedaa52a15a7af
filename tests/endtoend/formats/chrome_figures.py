"""Figures of tables, once from the other reader of Chrome traces, once from Crosscut's."""

import collections
import re

import chrome_reader

SENTENCES = {
    "timeless": r"events? of the file states? no time",
    "far": r"events? of the file states? (a time|times) far",
    "negative": r"spans? of the file states? a negative",
    "endless": r"(begin of a span|begins of spans) in the file",
    "lone_ends": r"(end of a span|ends of spans) in the file ha(s|ve) no",
    "outlive": r"spans? of the file ends? later than",
    "no_numbers": r"(value of a counter|values of counters) in the file (is no|are not)",
    "unsure": r"pieces? of device work fits? launches",
    "rounded": r"(value of a counter|values of counters) in the file ha(s|ve) decimals",
    "clamped": r"spans? of the file ends? up to 2 us later",
    "cut_steps": r"steps? in the file (is|are) not over",
    "kinds": r"events? of the file (is of a kind|are of kinds)"}


def length(intervals):
    total, until = 0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def expected(trace):
    """Of a chrome_reader.Trace."""
    work = [one for one in trace.work if one[1].kind == "work"]
    figures = {"kernels": collections.Counter(), "kernel_ns": collections.Counter()}
    for _, _, span, _ in work:
        figures["kernels"][span.name] += 1
        figures["kernel_ns"][span.name] += span.end - span.begin
    figures["device_events"] = collections.Counter(
        (row.device, row.stream, span.name, span.begin, span.end,
         call.name if call else "", call.begin if call else None,
         call.own_end if call else None)
        for _, row, span, call in trace.work)
    figures["busy"] = sorted(busy_of(work).values())
    launches = collections.defaultdict(list)
    for process, _, span, call in work:
        if call:
            launches[process, id(call)].append((call, span))
    figures["launches"] = collections.Counter()
    for (process, _), pairs in launches.items():
        call = pairs[0][0]
        for key, value in (("count", 1), ("host_ns", call.own_end - call.begin),
                           ("work_count", len(pairs)),
                           ("device_ns", sum(span.end - span.begin for _, span in pairs))):
            figures["launches"][call.name, key] += value
    figures |= functions_of(trace) | operators_of(trace, work)
    figures["steps"] = collections.Counter((step[2], step[0], step[1]) for step in trace.steps)
    first, last = trace.window or (0, 0)
    figures["windows"] = {(first, last - first)}
    figures["processes"] = len({trace.owner[pid.text].text for pid in trace.pids.values()
                                if (pid.host or pid.device) and trace.owner[pid.text]}) or 1
    figures["groups"] = groups((process, row.device, row.stream, span.name, span.begin, span.end)
                               for process, row, span, _ in work)
    figures["told"] = {key: count for key, count in trace.told.items()
                       if key in SENTENCES and count}
    bare = trace.strange["none"] if trace.known else 0
    strange = sum(trace.strange.values()) - trace.strange["none"] + bare
    figures["strange"] = strange
    return figures


def busy_of(work):
    intervals = collections.defaultdict(list)
    for process, _, span, _ in work:
        intervals[process].append((span.begin, span.end))
    return {process: length(of) for process, of in intervals.items()}


def groups(work):
    """What the processes do on devices, whatever they are called."""
    found = collections.defaultdict(list)
    for process, *rest in work:
        found[process].append(tuple(rest))
    return sorted(sorted(of) for of in found.values())


def inclusive(spans, key_of):
    """Times of one row by key: an instant once, however many spans of the key are open."""
    intervals = collections.defaultdict(list)
    for span in spans:
        intervals[key_of(span)].append((span.begin, span.end))
    return collections.Counter({key: length(of) for key, of in intervals.items()})


def functions_of(trace):
    count, self_ns, total = (collections.Counter() for _ in range(3))
    for row in trace.rows.values():
        layer = {"work": "device", "thread": None}.get(row.kind, "idle")
        spans = [span for span in row.spans if not span.operation or row.kind != "thread"]
        for span in spans:
            key = layer or span.layer, span.name
            count[key] += 1
            self_ns[key] += span.self_ns
        if row.kind == "thread":
            total += inclusive(spans, lambda span: (span.layer, span.name))
    return {"functions": count, "functions_self": +self_ns, "functions_total": +total}


def operators_of(trace, work):
    count, self_ns, device, total, by_name = (collections.Counter() for _ in range(5))
    for row in trace.rows.values():
        spans = [span for span in row.spans if row.kind == "thread" and is_operator(span)]
        for span in spans:
            count[span.layer, span.name] += 1
            self_ns[span.layer, span.name] += span.self_ns
        total += inclusive(spans, lambda span: (span.layer, span.name, *span.inputs))
        by_name += inclusive(spans, lambda span: span.name)
    for _, _, span, call in work:
        by = next((one for one in (call, *call.chain) if is_operator(one)), None) if call else None
        if by:
            device[by.layer, by.name] += span.end - span.begin
    rows = collections.Counter((layer, name, ns) for (layer, name, *_), ns in total.items())
    return {"operators": count, "operators_self": +self_ns, "operators_device": +device,
            "operators_total": rows, "operators_by_name": +by_name}


def is_operator(span):
    return span.layer in ("framework", "comm") and not span.operation


def seen(run):
    """The same of a crosscut.reading.Run."""
    def sums(table, keys, value):
        found = collections.Counter()
        for row in run.table(table).rows():
            key = tuple(row[key] for key in keys)
            found[key if len(keys) > 1 else key[0]] += row[value]
        return +found
    figures = {"kernels": sums("kernels", ["name"], "count"),
               "kernel_ns": sums("kernels", ["name"], "total_ns")}
    events = list(run.table("device_events").rows())
    figures["device_events"] = collections.Counter(
        (row["device"], row["stream"], row["name"], row["begin_ns"], row["end_ns"], row["launch"],
         row["launch_begin_ns"], row["launch_end_ns"]) for row in events)
    figures["busy"] = sorted(sums("device_timeline", ["process"], "busy_ns").values())
    figures["launches"] = collections.Counter()
    for row in run.table("launches").rows():
        for key in ("count", "host_ns", "work_count", "device_ns"):
            figures["launches"][row["launch"], key] += row[key]
    for table in ("functions", "operators"):
        figures[table] = sums(table, ["layer", "name"], "count")
        figures[table + "_self"] = sums(table, ["layer", "name"], "self_ns")
    figures["functions_total"] = sums("functions", ["layer", "name"], "total_ns")
    for figure in ("functions_self", "functions_total"):  # of work that overlaps: nothing to say
        figures[figure] = collections.Counter(
            {key: ns for key, ns in figures[figure].items() if key[0] not in ("device", "idle")})
    figures["operators_total"] = collections.Counter(
        (row["layer"], row["name"], row["total_ns"]) for row in run.table("operators").rows()
        if row["total_ns"])
    figures["operators_by_name"] = sums("operators", ["name"], "name_total_ns")
    figures["operators_device"] = sums("operators", ["layer", "name"], "self_device_ns")
    figures["steps"] = collections.Counter((row["step"], row["begin_ns"], row["end_ns"])
                                           for row in run.table("steps").rows())
    processes = list(run.table("processes").rows())
    figures["windows"] = {(row["start_ns"], row["wall_ns"]) for row in processes}
    figures["processes"] = len(processes)
    figures["groups"] = groups(
        (row["process"], row["device"], row["stream"], row["name"], row["begin_ns"], row["end_ns"])
        for row in events if row["type"] != "wait")
    figures["told"], figures["strange"] = told_of(run.gaps)
    return figures


def told_of(gaps):
    told, strange = {}, 0
    for gap in gaps:
        if gap.startswith("Spans of categories that are not known, "):
            strange = int(gap.split(", ")[1].split()[0])
        for key, words in SENTENCES.items():
            if re.match(rf"\d+ {words}", gap):
                told[key] = int(gap.split()[0])
    return told, strange


TOTALS = {"functions_total", "operators_total", "operators_by_name"}
# What a sentence speaks of: figures that may differ where it stands.
EXCUSES = {"unsure": {"device_events", "busy", "launches", "operators_device", "groups",
                      "processes"},
           "same launch": {"device_events", "launches", "operators_device"},
           "overlap too many": {"functions_self", "operators_self", "operators_device", *TOTALS},
           "cut off": {"kernel_ns", "device_events", "busy", "functions_self", "launches",
                       "operators_self", "operators_device", *TOTALS}}


def differences(path, text):
    """Figures of the file in which the readers differ and no sentence says why."""
    from crosscut import reading
    run = reading.read(path)
    ours, theirs = seen(run), expected(chrome_reader.Trace(text))
    excused = set()
    if "unsure" in ours["told"]:
        excused |= EXCUSES["unsure"]
    if any("the correlation of another launch" in gap for gap in run.gaps):
        excused |= EXCUSES["same launch"]
    for words, key in (("cut off", "cut off"), ("overlaps? too many", "overlap too many")):
        if any(re.search(words, gap) for gap in run.gaps):
            excused |= EXCUSES[key]
    return {key: (ours[key], theirs[key]) for key in theirs
            if key not in excused and ours[key] != theirs[key]}
