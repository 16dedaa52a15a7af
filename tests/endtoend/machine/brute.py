"""Tables by their definition (docs/accounting.md and the headers of tables), instant by instant and
span by span, of a scene (hostile.py). Slow, and nothing is shared with the reader under test."""

import collections
import itertools

from hostile import HOST, cleaned


class Nested:
    """A span where it may stand: within what it began in."""

    def __init__(self, span, begin, end, parent):
        self.span, self.begin, self.end, self.parent = span, begin, end, parent
        self.name = cleaned(span.name)
        self.calls_ns = 0  # of the calls in it that are in no other call


def nested(spans):
    """At equal begins the longer one is the parent; a child is clipped to it."""
    out, stack = [], []
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        while stack and stack[-1].end <= span.begin:
            stack.pop()
        parent = stack[-1] if stack else None
        one = Nested(span, span.begin, min(span.end, parent.end) if parent else span.end, parent)
        around = parent
        while around and around.span.operation:
            around = around.parent
        if around and not span.operation:
            around.calls_ns += one.end - one.begin
        out.append(one)
        stack.append(one)
    return out


def known(number):
    """The least number is how a cell says that it is not known."""
    return None if number == -2**63 else number


def union(ranges):
    total, until = 0, None
    for begin, end in sorted(ranges):
        begin = begin if until is None else max(begin, until)
        if end > begin:
            total, until = total + end - begin, end
    return total


class Thread:
    def __init__(self, track):
        self.track, self.spans = track, nested(track.spans)
        begins = [one.begin for one in self.spans] + [track.life[0]]
        ends = [one.end for one in self.spans] + [track.life[1]]
        ends += [at for _, _, at in track.arrows]
        self.begin, self.end = min(begins), max(ends)

    def at(self, at):
        """Its layer ("" not known), whether it waits and is in a span, its operation."""
        layer, operation, waits, inside = "", "", False, False
        for since, base in self.track.base:
            if since <= at:
                layer = base if base in HOST or base == "idle" else ""
        for one in self.spans:
            if not one.begin <= at < one.end:
                continue
            inside = True
            has = not one.span.operation and (one.span.layer in HOST or one.span.layer == "idle")
            if one.span.operation:
                operation = one.name
            if layer == "overhead":
                continue
            if has:
                layer = one.span.layer
            if has or one.span.waits:
                waits = one.span.waits
        return layer, waits, inside, operation

    def alive(self, at):
        return self.begin <= at < self.end


class Process:
    """One process of a scene, with the instants at which anything may change."""

    def __init__(self, scene):
        self.scene = scene
        self.begin, self.end = scene.window
        self.threads = [Thread(track) for ours in (False, True) for track in scene.tracks
                        if track.kind == "thread" and track.ours == ours]
        self.devices = [(track, nested(track.spans)) for track in scene.tracks
                        if track.kind == "device"]
        self.steps = [step for track in scene.tracks for step in track.steps]
        self.lead = self.choose_lead()
        edges = {self.begin, self.end}
        edges |= {edge for pause in scene.pauses for edge in pause}
        edges |= {edge for step in self.steps for edge in (step.begin, step.end)}
        for thread in self.threads:
            edges |= {thread.begin, thread.end} | {at for at, _ in thread.track.base}
        for one in itertools.chain(*(thread.spans for thread in self.threads),
                                   *(spans for _, spans in self.devices)):
            edges |= {one.begin, one.end}
        self.edges = sorted(edge for edge in edges if self.begin <= edge <= self.end)
        self.instants = [(at, until - at) for at, until in itertools.pairwise(self.edges)
                         if not self.paused(at)]
        self.wall = sum(ns for _, ns in self.instants)

    def choose_lead(self):
        flagged = [thread for thread in self.threads if thread.track.lead]
        ours = [thread for thread in self.threads if not thread.track.ours]
        first = [(min(one.begin for one in thread.spans if one.span.operation), i)
                 for i, thread in enumerate(ours) if any(s.span.operation for s in thread.spans)]
        if flagged or not ours:
            return flagged[0] if flagged else None
        return ours[min(first)[1]] if first else ours[0]

    def paused(self, at):
        return any(begin <= at < end for begin, end in self.scene.pauses)

    def step_at(self, at):
        """The step whose level is in force, since when, and whether it still goes on."""
        last = None
        for step in self.steps:
            if step.begin <= at < step.end:
                return step, max(step.begin, self.begin), True
            if step.end <= at and step.end > max(step.begin, self.begin):
                last = step, step.end, False
        return last or (None, None, False)

    def part(self, at):
        seen = [step for step in self.steps
                if max(step.begin, self.begin) < min(step.end, self.end)]
        step, _, inside = self.step_at(at)
        if not seen:
            return "whole window"
        if at < seen[0].begin:
            return "start-up"
        if at >= seen[-1].end:
            return "shutdown"
        if step.level == 0:
            return "control steps"
        if step.level == 4:
            return "left-out steps"
        return "steps" if inside else "between steps"

    def plain_key(self, at):
        states = [(thread, *thread.at(at)) for thread in self.threads
                  if thread.alive(at) and not thread.track.ours]
        others_work = any(inside and layer in HOST for thread, layer, _, inside, _ in states
                          if thread is not self.lead)
        layers = {layer for thread, layer, waits, _, _ in states if layer in HOST
                  and not (thread is self.lead and waits and others_work)}
        if not layers and states and all(layer == "idle" for _, layer, *_ in states):
            layers = {"idle"}
        device = any(self.busy(spans, at) for _, spans in self.devices)
        operation = [op for thread, _, _, _, op in states if thread is self.lead]
        return operation[0] if operation else "", "+".join(sorted(layers)), int(device)

    @staticmethod
    def busy(spans, at):
        inner = [one for one in spans if one.begin <= at < one.end]
        return bool(inner) and inner[-1].span.layer != "idle"

    def key(self, at):
        step, since, _ = self.step_at(at)
        if step and step.level == 0:
            return self.plain_key(since)[0], "control", 0
        operation, layers, device = self.plain_key(at)
        if step and step.level == 4 and (layers, device) != ("overhead", 0):
            return operation, "control", 0
        return operation, layers, device

    def thread_key(self, thread, at):
        layer, _, _, operation = thread.at(at)
        step, since, _ = self.step_at(at)
        if step and step.level == 0:
            since = max(since, thread.begin)
            return (thread.at(since)[3] if thread.alive(since) else ""), "control"
        if step and step.level == 4 and layer != "overhead":
            return operation, "control"
        return operation, layer

    def within(self, begin, end):
        """Ranges of that time in the window, without pauses."""
        begin, end = max(begin, self.begin), min(end, self.end)
        if begin >= end:
            return []
        cuts = sorted({begin, end} | {min(max(at, begin), end) for p in self.scene.pauses
                                      for at in p})
        return [(a, b) for a, b in itertools.pairwise(cuts) if a < b and not self.paused(a)]


SPLIT = ("host_ns", "overlap_ns", "device_ns", "idle_ns", "unknown_ns", "control_ns")


def part_of(layers, device):
    """Which of SPLIT an instant is."""
    if layers == "control":
        return 5
    if device:
        return 1 if layers not in ("", "idle") else 2
    return {"": 4, "idle": 3}.get(layers, 0)


class Scene:
    """All expected rows: for a table, the columns compared and a Counter of their cells. `labels`
    and `thread_labels` name processes, and the threads of each, in the order of the file."""

    def __init__(self, scene, labels, thread_labels):
        self.processes = [Process(one) for one in scene]
        self.labels, self.thread_labels = labels, thread_labels
        self.cells = [[(at, ns, *process.key(at)) for at, ns in process.instants]
                      for process in self.processes]

    def summed(self, key_of):
        """ns by key, over all processes; key_of(label, process, at, (operation, layers, device)),
        None where it does not count."""
        out = collections.Counter()
        for label, process, cells in zip(self.labels, self.processes, self.cells):
            for at, ns, *key in cells:
                found = key_of(label, process, at, key)
                if found is not None:
                    out[found] += ns
        return collections.Counter((*key, ns) for key, ns in out.items())

    def overlap(self):
        return ("process", "operation", "layers", "device", "ns"), self.summed(
            lambda label, _, at, key: (label, *key))

    def layers(self):
        return ("process", "layers", "device", "ns"), self.summed(
            lambda label, _, at, key: (label, *key[1:]))

    def layer_totals(self):
        out = collections.Counter()
        for label, cells in zip(self.labels, self.cells):
            for _, ns, _, layers, device in cells:
                for layer in [*filter(None, layers.split("+"))] + ["device"] * device:
                    out[label, layer] += ns
        return ("process", "layer", "ns"), collections.Counter(
            (*key, ns) for key, ns in out.items())

    def window_parts(self):
        return ("process", "part", "wall_ns"), self.summed(
            lambda label, process, at, _: (label, process.part(at)))

    def step_overlap(self):
        return ("process", "operation", "layers", "device", "ns"), self.summed(
            lambda label, process, at, key:
            (label, *key) if process.part(at) == "steps" else None)

    def step_layers(self):
        def key_of(label, process, at, key):
            step, _, inside = process.step_at(at)
            return (label, step.number, step.begin, *key[1:]) if inside else None
        return ("process", "step", "begin_ns", "layers", "device", "ns"), self.summed(key_of)

    def operations(self):
        out = collections.defaultdict(lambda: [0] * 6)
        for label, cells in zip(self.labels, self.cells):
            for _, ns, operation, layers, device in cells:
                out[label, operation][part_of(layers, device)] += ns
        return ("process", "operation", "wall_ns", *SPLIT), collections.Counter(
            (*key, sum(parts), *parts) for key, parts in out.items())

    def steps(self):
        out = collections.Counter()
        for label, process, cells in zip(self.labels, self.processes, self.cells):
            for step in process.steps:
                parts = [0] * 6
                for at, ns, _, layers, device in cells:
                    if step.begin <= at < step.end:
                        parts[part_of(layers, device)] += ns
                out[label, step.number, step.begin, step.end, int(step.level == 0), step.level,
                    int(step.switch), sum(parts), *parts] += 1
        return ("process", "step", "begin_ns", "end_ns", "control", "level", "after_switch",
                "wall_ns", *SPLIT), out

    def process_rows(self):
        return ("process", "pid", "start_ns", "wall_ns", "excluded_ns", "threads"), (
            collections.Counter(
                (label, known(one.scene.pid), one.begin, one.wall, one.end - one.begin - one.wall,
                 sum(not thread.track.ours for thread in one.threads))
                for label, one in zip(self.labels, self.processes)))

    def each_thread(self):
        for label, names, process in zip(self.labels, self.thread_labels, self.processes):
            for name, thread in zip(names, process.threads):
                yield label, name, process, thread

    def thread_lives(self):
        return ("process", "thread", "os_id", "lead", "ours", "begin_ns", "end_ns", "life_ns",
                "spans"), collections.Counter(
            (label, name, known(thread.track.os_id), int(thread is process.lead),
             int(thread.track.ours), thread.begin, thread.end,
             sum(b - a for a, b in process.within(thread.begin, thread.end)), len(thread.spans))
            for label, name, process, thread in self.each_thread())

    def threads(self):
        out = collections.Counter()
        for label, name, process, thread in self.each_thread():
            for at, ns in process.instants:
                if thread.alive(at):
                    out[label, name, *process.thread_key(thread, at)] += ns
        return ("process", "thread", "operation", "layer", "ns"), collections.Counter(
            (*key, ns) for key, ns in out.items())

    def all_tracks(self):
        for process in self.processes:
            yield from (thread.spans for thread in process.threads)
            yield from (spans for _, spans in process.devices)

    def functions(self):
        lengths, ranges, own = (collections.defaultdict(list), collections.defaultdict(list),
                                collections.Counter())
        for number, spans in enumerate(self.all_tracks()):
            for one in spans:
                if one.span.operation:
                    continue
                key = ("" if one.span.layer == "none" else one.span.layer, one.name)
                lengths[key].append(one.end - one.begin)
                ranges[key, number].append((one.begin, one.end))
                own[key] += one.end - one.begin - one.calls_ns
        total = collections.Counter()
        for (key, _), found in ranges.items():
            total[key] += union(found)
        out = collections.Counter()
        for key, found in lengths.items():
            found.sort()

            def nearest(percent, found=found):
                return found[max(0, -(-len(found) * percent // 100) - 1)]
            out[*key, len(found), total[key], own[key], found[0], nearest(50), nearest(99),
                found[-1]] += 1
        return ("layer", "name", "count", "total_ns", "self_ns", "min_ns", "p50_ns", "p99_ns",
                "max_ns"), out

    def spans(self):
        out = collections.Counter()
        for label, name, _, thread in self.each_thread():
            number = thread.track.os_id
            for i, one in enumerate(thread.spans):
                parent = thread.spans.index(one.parent) if one.parent else None
                layer = "" if one.span.operation or one.span.layer == "none" else one.span.layer
                out[label, name, i, parent, "operation" if one.span.operation else "span", layer,
                    one.name, one.begin, one.end, number if number > 0 else None] += 1
        return ("process", "thread", "span", "parent", "kind", "layer", "name", "begin_ns",
                "end_ns", "thread_id"), out

    def drops(self):
        out = collections.Counter()
        for label, name, _, thread in self.each_thread():
            for reason, count, begin, end in thread.track.losses:
                out[label, name, reason, count, begin, end] += 1
        return ("process", "thread", "reason", "count", "begin_ns", "end_ns"), out

    def concurrency(self):
        """Control steps, too: what goes on in them on the host and on devices."""
        columns, out = ("host_processes", "device_processes", "ns"), collections.Counter()
        named = list(zip(self.labels, self.processes))
        edges = sorted({edge for _, process in named for edge in process.edges})
        for at, until in itertools.pairwise(edges if len(named) > 1 else []):
            seen = [(label, process.plain_key(at)) for label, process in named
                    if process.begin <= at < process.end and not process.paused(at)]
            out["+".join(label for label, key in seen if key[1] not in ("", "idle")),
                "+".join(label for label, key in seen if key[2])] += until - at
        return columns, collections.Counter((*key, ns) for key, ns in out.items())


def bound(spans, at, ends_from=0):
    """The innermost of nested spans that is open at that time, its end included (1: not so)."""
    begun = [one for one in spans if one.begin <= at]
    one = begun[-1] if begun else None
    while one and one.end < at + ends_from:
        one = one.parent
    return one


def shows(spans, span, at):
    """Whether an end of an arrow at that time is taken for that of the span."""
    open_then = bound(spans, at, 1)
    return open_then is span or (not open_then and bound(spans, at) is span)


def arrows(processes):
    """(from track, span, at, to track, span, at) of each arrow; a span is None where it has none.
    An arrival belongs to the latest departure of its number before it, else to the first."""
    ends, place = [], itertools.count()
    for process in processes:
        built = {id(track): spans for track, spans in process.devices}
        built.update((id(thread.track), thread.spans) for thread in process.threads)
        for track in process.scene.tracks:
            order = next(place)
            for side, number, at in track.arrows:
                shared = number < 0
                ends.append((shared, 0 if shared else processes.index(process), number % 2**64, at,
                             side == "in", order, track, bound(built[id(track)], at)))
    ends.sort(key=lambda end: end[:6])
    out = []
    for _, group in itertools.groupby(ends, key=lambda end: end[:3]):
        group = [end[3:] for end in group]
        departures = [end for end in group if not end[1]]
        for at, arrives, _, track, span in group if departures else []:
            last = [end for end in departures if end[0] <= at]
            if arrives:
                left = (last or departures[:1])[-1]
                out.append((left[3], left[4], left[0], track, span, at))
    return out


def launches(found, process_of):
    """Which of them are launches: the first from a thread to a piece of its process's work."""
    out, launched = [], set()
    for one in found:
        start, caller, _, end, work, _ = one
        if (caller and work and start.kind != "device" and end.kind == "device"
                and work.span.layer != "idle" and id(work) not in launched
                and process_of[id(start)] == process_of[id(end)]):
            launched.add(id(work))
            out.append(one)
    return out


TABLES = {name: getattr(Scene, "process_rows" if name == "processes" else name) for name in (
    "overlap", "layers", "layer_totals", "window_parts", "step_overlap", "step_layers",
    "operations", "steps", "processes", "thread_lives", "threads", "functions", "spans", "drops",
    "concurrency")}
# From which column on a row that has nothing but 0 tells nothing.
NOTHING = {"window_parts": -1, "step_layers": -1, "operations": 2}
