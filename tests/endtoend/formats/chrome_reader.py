"""Another reader of Chrome's trace format: from the format's description and docs/chrome-json.md to
the figures of some tables, slowly and plainly. It shares nothing with the reader under test."""

import collections
import json
import re
from fractions import Fraction

HOUR, WEEK = 3600 * 10**9, 7 * 24 * 3600 * 10**9
ROUNDING = 2000  # ns that a span may end behind the one around it
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
WORK = {"kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "memcpy", "memset"}
SHADOWS = {"gpu_user_annotation", "cuda_profiler_range", "gpuuserannotation"}
WAITS = {"cuda_sync", "xpu_sync", "cuda_event"}
LAUNCHING = {"cuda_runtime", "cuda_driver", "mtia_runtime", "glow_runtime", "xpu_runtime",
             "xpu_driver", "hpu_op", "privateuse1_runtime", "privateuse1_driver", "runtime"}
LAYERS = {**dict.fromkeys(("cpu_op", "operator", "framework"), "framework"),
          **dict.fromkeys(("python_function", "pythonfunction", "python", "fee"), "python"),
          **dict.fromkeys(LAUNCHING, "runtime"), "overhead": "overhead", "simulator": "simulator",
          "data": "data", "comm": "comm", "native": "native", "idle": "idle",
          "collective_comm": "comm", "cpu_instant_event": "native", "memory": "native"}
ANNOTATIONS = {"user_annotation", "userannotation"}
KNOWN = {*LAYERS, "trace"} | WORK | SHADOWS | WAITS | ANNOTATIONS
COLLECTIVES = ("nccl:", "gloo:", "c10d::", "mpi:")


class Number(str):
    """As it is written in the file."""


class Word(str):
    """NaN, Infinity, -Infinity."""


def events_of(text):
    whole = json.loads(text.removeprefix("\ufeff"), parse_int=Number, parse_float=Number,
                       parse_constant=Word)
    return whole if isinstance(whole, list) else whole["traceEvents"]


def text_of(value):
    """An id as the file writes it, without decimals that say nothing."""
    if value is None or isinstance(value, (dict, list, bool)):
        return {None: "", True: "true", False: "false"}.get(value, "")
    return value[:value.index(".")] if re.fullmatch(r"-?\d+\.0+", value) else str(value)


def integer(value):
    text = text_of(value) if isinstance(value, str) else ""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def nanoseconds(value):
    """None: no time."""
    if not isinstance(value, str) or isinstance(value, Word) or not NUMBER.fullmatch(value):
        return None
    ns = Fraction(value) * 1000
    rounded = int(abs(ns) + Fraction(1, 2)) * (-1 if ns < 0 else 1)
    return rounded if abs(rounded) <= 4 * 10**18 else None


def number_in(text):
    """The last number in a pid, and what stands around it."""
    if re.fullmatch(r"-?\d+", text):
        return int(text), ""
    found = re.search(r"(\d+)(\D*)$", text)
    return (int(found[1]), text[:found.start()] + found[2]) if found else (-1, "")


class Span:
    """Of a row: a thread's or a device's."""

    def __init__(self, begin, end, name, category, args):
        self.begin, self.end, self.name, self.category = begin, end, name, category
        self.own_end = end
        self.correlation = integer(args.get("correlation")) or 0
        self.layer = LAYERS.get(category, "native")
        self.operation = False
        if name.startswith(COLLECTIVES) or name == "record_param_comms":
            self.layer = "comm"
        elif category in ANNOTATIONS:
            self.layer, self.operation = "", True
        self.inputs = tuple(json.dumps(args.get(key)) for key in ("Input Dims", "Input type"))
        self.chain = ()  # what it began in, innermost first
        self.self_ns = 0


class Row:
    def __init__(self, pid, kind, device=None, stream=None):
        self.pid, self.kind, self.device, self.stream = pid, kind, device, stream
        self.spans = []


class Pid:
    def __init__(self, text):
        self.text = text
        self.number, self.label = number_in(text)
        self.rank, self.names, self.labels = None, [], []
        self.host = self.device = False
        self.spans = self.python = self.operators = self.launches = 0


class Trace:
    """What the file says: rows of spans, processes, and how much of it is no good."""

    def __init__(self, text):
        self.told = collections.Counter()
        self.strange = collections.Counter()
        self.known = False  # a category is
        self.pids, self.rows, self.steps, self.counters = {}, {}, [], []
        self.windows, self.instants, self.arrows = [], [], []
        self.edges = collections.defaultdict(list)
        for event in events_of(text):
            if event:
                self.take(event)
        self.pair()
        self.drop_far()
        self.find_processes()
        for row in self.rows.values():
            if row.kind == "thread":
                self.nest(row)
        self.find_launches()
        self.end_steps()

    # ---- events -------------------------------------------------------------------------------
    def pid_of(self, event):
        text = text_of(event.get("pid"))
        if text not in self.pids:
            self.pids[text] = Pid(text)
            rank = integer((event.get("args") or {}).get("rank"))
            self.pids[text].rank = rank if rank is not None and rank >= 0 else None
        return self.pids[text]

    def row_of(self, event, category):
        pid, args, tid = self.pid_of(event), event.get("args") or {}, text_of(event.get("tid"))
        if category not in WORK | SHADOWS | WAITS:
            pid.host = True
            return self.rows.setdefault((pid.text, tid), Row(pid, "thread"))
        pid.device = True
        stream, device = integer(args.get("stream")), integer(args.get("device"))
        kind = "work" if category in WORK else "wait" if category in WAITS else "shadow"
        if stream is None:
            number = integer(tid)
            stream = number if number is not None else max(number_in(tid)[0], 0)
            key = tid
        else:
            key = str(stream)
        number = device if device is not None else max(pid.number, 0)
        return self.rows.setdefault((pid.text, key, kind, device),
                                    Row(pid, kind, number, stream))

    def take(self, event):
        phase = event.get("ph")
        taking = {"X": self.take_span, "B": self.take_edge, "E": self.take_edge,
                  "i": self.take_instant, "I": self.take_instant, "R": self.take_instant,
                  "C": self.take_counter, "M": self.take_metadata}.get(phase)
        if taking:
            taking(event)
        elif phase not in ("s", "t", "f"):
            self.told["kinds"] += 1
        elif event.get("cat") != "ac2g":
            at = nanoseconds(event.get("ts"))
            self.told["timeless"] += at is None
            self.arrows += [] if at is None else [at]

    def category_of(self, event):
        category = (event.get("cat") or "").lower()
        self.known = self.known or category in KNOWN
        return category

    def count(self, event, pid, category):
        if category not in KNOWN:
            self.strange[event.get("cat") or "none"] += 1
        if category in WORK | SHADOWS | WAITS:
            return
        pid.spans += 1
        pid.python += LAYERS.get(category) == "python"
        pid.operators += LAYERS.get(category) == "framework"
        pid.launches += category in LAUNCHING

    def take_span(self, event):
        category = self.category_of(event)
        begin, length = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
        if begin is not None and begin < -10**18:
            begin = None
        if length is not None and length > 10**18:
            length = None
        if category == "trace":
            if begin is not None and length is not None:
                self.windows.append((begin, begin + max(length, 0)))
            return
        if begin is None or length is None:
            self.told["timeless"] += 1
            return
        row, name = self.row_of(event, category), event.get("name", "")
        self.told["negative"] += length < 0
        end = begin + max(length, 0)
        self.count(event, row.pid, category)
        self.put(row, Span(begin, end, name, category, event.get("args") or {}))

    def put(self, row, span, endless=False):
        number = re.match(r"ProfilerStep#(-?\d+)", span.name)
        if number and row.kind == "thread":
            self.steps.append([span.begin, span.end, int(number[1]), row, endless])
        else:
            row.spans.append(span)

    def take_edge(self, event):
        at = nanoseconds(event.get("ts"))
        if at is None:
            self.told["timeless"] += 1
            return
        thread = self.edges[text_of(event.get("pid")), text_of(event.get("tid"))]
        if event["ph"] == "E":
            thread.append((at, None, event.get("name", ""), None))
            return
        category = self.category_of(event)
        row = self.row_of(event, category)
        self.count(event, row.pid, category)
        thread.append((at, row, event.get("name", ""), (category, event.get("args") or {})))

    def take_instant(self, event):
        of_all = event.get("name") == "Record Window End" or event.get("name", "").startswith(
            "Iteration Start: ")
        text = isinstance(event.get("pid"), str) and not isinstance(event.get("pid"), Number)
        if of_all and text and not event.get("cat"):
            return
        at = nanoseconds(event.get("ts"))
        if at is None:
            self.told["timeless"] += 1
            return
        category = self.category_of(event)
        loose = "tid" not in event
        if loose:
            self.pid_of(event)
        else:
            self.row_of(event, "" if category in WORK | SHADOWS | WAITS else category)
        self.instants.append((at, loose))

    def take_counter(self, event):
        at = nanoseconds(event.get("ts"))
        if at is None:
            self.told["timeless"] += 1
            return
        args = event.get("args") or {}
        for key, value in args.items():
            number = isinstance(value, str) and not isinstance(value, Word) and NUMBER.fullmatch(
                value)
            if not number or abs(Fraction(value)) >= Fraction("9.2e18"):
                self.told["no_numbers"] += 1
                continue
            self.told["rounded"] += Fraction(value).denominator != 1
            name = event["name"] + (" " + event["id"] if "id" in event else "")
            self.counters.append((name + ("." + key if len(args) > 1 else ""), at))

    def take_metadata(self, event):
        args = event.get("args") or {}
        if event.get("name") == "process_labels" and "labels" in args:
            self.pid_of(event).labels.append(args["labels"])
        if event.get("name") == "process_name" and "name" in args:
            self.pid_of(event).names.append(args["name"].rstrip(" "))

    # ---- begins and ends ----------------------------------------------------------------------
    def pair(self):
        self.endless = []
        for edges in self.edges.values():
            edges.sort(key=lambda edge: edge[0])
            edges[:] = [(*edge, []) for edge in edges]  # and its end
            open_, late = [], []
            for i, edge in enumerate(edges):
                if edge[1] is not None:
                    open_.append(edge)
                elif not self.close(edge, open_):
                    late.append(edge)
                if i + 1 == len(edges) or edges[i + 1][0] > edge[0]:
                    self.told["lone_ends"] += sum(not self.close(end, open_) for end in late)
                    late = []
            for at, row, name, of, end in edges:
                if end:
                    self.put(row, Span(at, end[0], name, *of))
            self.endless += [edge[:4] for edge in open_]

    @staticmethod
    def close(end, open_):
        for i in reversed(range(len(open_))):
            if not end[2] or open_[i][2] == end[2]:
                open_.pop(i)[4].append(end[0])
                return True
        return False

    # ---- times that cannot be -----------------------------------------------------------------
    def drop_far(self):
        begins = sorted([span.begin for row in self.rows.values() for span in row.spans]
                        + [at for at, loose in self.instants if not loose])
        first, last = float("-inf"), float("inf")
        extent = self.extent()
        apart = extent and extent[1] - extent[0] >= HOUR
        if begins and apart:
            outside = (len(begins) + 1) // 4
            spread = 8 * min(begins[-1 - outside] - begins[outside], 5 * 10**17)
            middle = begins[len(begins) // 2]
            first, last = middle - max(WEEK, spread), middle + max(WEEK, spread)
            if middle > max(HOUR, spread):
                first = max(first, 1)

        def near(begin, end):
            return first <= begin and first <= end and begin <= last and end <= last

        def keep(all_, times):
            kept = [one for one in all_ if near(*times(one))]
            self.told["far"] += len(all_) - len(kept)
            return kept
        for row in self.rows.values():
            row.spans = keep(row.spans, lambda span: (span.begin, span.end))
        self.steps = keep(self.steps, lambda step: step[:2])
        self.instants = keep(self.instants, lambda one: (one[0], one[0]))
        self.counters = keep(self.counters, lambda one: (one[1], one[1]))
        self.arrows = keep(self.arrows, lambda at: (at, at))
        self.windows = keep(self.windows, lambda window: window)
        self.endless = keep(self.endless, lambda edge: (edge[0], edge[0]))
        self.window = self.extent(self.windows)
        self.told["endless"] = len(self.endless)
        for at, row, name, (category, args) in self.endless:
            end = max(at, self.window[1]) if self.window else at
            self.put(row, Span(at, end, name, category, args), endless=True)

    def extent(self, windows=()):
        times = [time for row in self.rows.values() for span in row.spans
                 for time in (span.begin, span.end)]
        times += [time for step in self.steps for time in step[:2]]
        times += [at for at, _ in self.instants] + [edge[0] for edge in self.endless]
        times += [time for window in windows for time in window]
        return (min(times), max(times)) if times else None

    # ---- processes ----------------------------------------------------------------------------
    def find_processes(self):
        pids = list(self.pids.values())
        hosts = [pid for pid in pids if pid.host]
        main = max(hosts, key=lambda pid: pid.operators, default=None)

        def a_devices(pid):
            if pid is main or main.operators == 0 or pid.operators:
                return False
            label = pid.labels[0] if len(set(pid.labels)) == 1 else ""
            return (label not in ("", "CPU")
                    or pid.spans == pid.python and (pid.number == 0 or pid.device))
        self.hosts = [pid for pid in hosts if not a_devices(pid)]
        self.owner = {pid.text: pid for pid in self.hosts}
        self.unsure_pids = set()
        for pid in pids:
            if pid.text not in self.owner:
                self.find_owner(pid)

    def find_owner(self, pid):
        hosts = self.hosts
        marked = any(host.rank is not None or host.label for host in hosts)
        if pid.rank is not None:
            same = [host for host in hosts if host.rank == pid.rank]
            hosts = same if same or marked else hosts
        if pid.label:
            marked = any(host.rank is not None or host.label for host in hosts)
            same = [host for host in hosts if host.label == pid.label]
            hosts = same if same or marked else hosts
        if len(hosts) > 1 and len(set(pid.names)) == 1:
            same = [host for host in hosts if host.names and host.names[-1] == pid.names[0]]
            hosts = same if len(same) == 1 else hosts
        if not hosts:  # nothing else of its process is here
            same = [other for other in self.pids.values() if self.owner.get(other.text) is other
                    and not other.host and (other.rank, other.label) == (pid.rank, pid.label)]
            self.owner[pid.text] = same[0] if same else pid
            return
        for count in ("operators", "launches"):
            hosts = [host for host in hosts if getattr(host, count)] or hosts
        if len(hosts) == 1 or not pid.device:
            self.owner[pid.text] = hosts[0]
        else:
            self.owner[pid.text] = None
            self.unsure_pids.add(pid.text)

    # ---- nesting ------------------------------------------------------------------------------
    def nest(self, row):
        """A thread runs what it began last."""
        row.spans.sort(key=lambda span: (span.begin, -span.end))
        open_ = []  # in the order of their begins
        ends = []

        def run_until(at):
            while open_:
                next_end = min(span.end for span in open_)
                if next_end > at:
                    break
                self.pass_time(open_, ends, next_end)
                open_.remove(next(span for span in reversed(open_) if span.end == next_end))
            self.pass_time(open_, ends, at)
        for span in row.spans:
            run_until(span.begin)
            limits = [other.end for other in open_ if not other.operation]
            limit = min(limits, default=None)
            if limit is not None and not span.operation and span.end > limit:
                if span.end - limit <= ROUNDING:
                    span.end = limit
                    self.told["clamped"] += 1
                else:
                    self.told["outlive"] += 1
            span.chain = tuple(reversed(open_))
            open_.append(span)
        run_until(float("inf"))

    @staticmethod
    def pass_time(open_, ends, at):
        """`ends` holds the time that was passed last."""
        running = next((span for span in reversed(open_) if not span.operation), None)
        if running is not None and ends and at > ends[0]:
            running.self_ns += at - ends[0]
        ends[:] = [at]

    # ---- launches -----------------------------------------------------------------------------
    def find_launches(self):
        calls = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in self.rows.values():
            if row.kind == "thread":
                for span in row.spans:
                    if span.correlation > 0:
                        owner = self.owner[row.pid.text]
                        host = owner.text if owner else None
                        calls[span.correlation][host].append(span)
        self.work = []  # process, row, span, call
        for row in self.rows.values():
            if row.kind == "thread":
                continue
            for span in row.spans:
                owner = self.owner[row.pid.text]
                by = calls.get(span.correlation, {}) if span.correlation > 0 else {}
                if owner is None and len(by) == 1:
                    owner = self.pids[next(iter(by))]
                if owner is None:
                    self.told["unsure"] += row.kind == "work"
                call = None
                if owner is not None and row.kind == "work":
                    call = self.call_of(span, by.get(owner.text, []))
                self.work.append((owner and owner.text, row, span, call))

    @staticmethod
    def call_of(work, calls):
        """The latest before it, else the first."""
        before = [call for call in calls if call.begin <= work.begin]
        return (max(before, key=lambda call: call.begin) if before
                else min(calls, key=lambda call: call.begin, default=None))

    def end_steps(self):
        by_process = collections.defaultdict(list)
        for step in self.steps:
            owner = self.owner[step[3].pid.text]
            by_process[owner.text if owner else None].append(step)
        for steps in by_process.values():
            steps.sort(key=lambda step: step[0])
            for step, after in zip(steps, steps[1:]):
                if step[1] > after[0]:
                    step[1] = after[0]
                    self.told["cut_steps"] += 1
            if steps[-1][4]:
                self.end_open(*steps[-2:])

    @staticmethod
    def end_open(*steps):
        """The last one, whose end nobody states, ends with its last operation or else span. Where
        the one before it has operations and it has none, it is nothing."""
        def work(begin, end, row):
            inside = [span for span in row.spans if begin <= span.begin < end]
            of_operations = max((min(span.end, end) for span in inside if span.operation),
                                default=begin)
            all_ = max((min(span.end, end) for span in inside), default=begin)
            return of_operations > begin, of_operations if of_operations > begin else all_
        *before, step = steps
        has, end = work(*step[:2], step[3])
        had = before and work(*before[0][:2], before[0][3])[0]
        step[1] = step[0] if had and not has else end
