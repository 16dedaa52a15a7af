"""Compares what was recorded of the programs of program.py with their own log: Python functions,
operations and native calls.

Recorded time is compared with bounds: a call began between its thread's log entry before and its
own first one. While Python functions are recorded each call is a span of its own name, below the
one that called it; a call that runs when recording goes out or comes in is a span for the part
in between. A difference is a sentence; there are none where all is right.
"""

import bisect
import re

NATIVE = "_functools.reduce"
OPERATION = re.compile(r"o\d")
OURS = re.compile(r"(?:\S+\.)?([fg]\d) \(")
SLACK_NS = 200  # beyond the stated error of the clock: two clocks read one after the other


class Piece:
    """One span as it should be: bounds of its begin and end."""

    def __init__(self, name, parent, begin):
        self.name, self.parent, self.begin, self.end = name, parent, begin, None


class Interval:
    """In which Python functions were recorded, (begin, end) of the change that did it each."""

    def __init__(self, came, went):
        self.came, self.went = came, went


def intervals(changes):
    """`changes` in order of time, of all threads."""
    found, since = [], None
    for begun, ended, before, after, *_ in changes:
        if before and not after:
            found.append(Interval(since, (begun, ended)))
        elif after and not before:
            since = (begun, ended)
    return found


# ---- What should be there ------------------------------------------------------------------------

def replay(log):
    """[(time, calls open from then on)] of one thread: a call is (name, its number)."""
    states, stack = [], ()
    for number, (kind, at, *name) in enumerate(log):
        if kind == "B":
            stack = (*stack, (name[0], number))
        elif kind == "E":
            stack = stack[:-1]
        states.append((at, stack))
    return states


class Thread:
    def __init__(self, log):
        self.log = log
        self.times = [entry[1] for entry in log]
        self.stacks = [stack for _, stack in replay(log)]

    def disturbed(self, change):
        """It ran while the change was under way on another thread: what was seen is not known."""
        first = bisect.bisect_left(self.times, change[0])
        return first < len(self.times) and self.times[first] <= change[1]

    def pieces(self, interval, known):
        """(pieces in order of begin, whether anything was to be seen of this thread). `known`: it
        was recorded before. Else it might be younger than the change, for all that a recording
        tells: what runs on it begins with its first event."""
        first = bisect.bisect_right(self.times, interval.came[1])
        last = bisect.bisect_left(self.times, interval.went[0])
        open_now = self.stacks[first - 1] if first else ()
        found, stack, came = [], [], interval.came
        if not known:
            came = (came[0], self.times[first + 2] if first + 2 < last else interval.went[1])
        for name, _ in open_now:
            stack.append(Piece(name, stack[-1] if stack else None, came))
        found += stack
        for i in range(first, last):
            kind, at = self.log[i][:2]
            before = max(self.times[i - 1] if i else 0, interval.came[0])
            after = min(self.times[i + 1] if i + 1 < len(self.times) else at, interval.went[1])
            if kind == "B":
                stack.append(Piece(self.log[i][2], stack[-1] if stack else None, (before, at)))
                found.append(stack[-1])
            elif kind == "E":
                stack.pop().end = (at, max(after, at))
        for piece in stack:
            piece.end = interval.went
        return found, first < last


# ---- What is there -------------------------------------------------------------------------------

class Span:
    def __init__(self, row):
        self.name = OURS.match(row["name"]).group(1)
        self.begin, self.end = int(row["begin_ns"]), int(row["end_ns"])
        self.parent = None

    def __repr__(self):
        return f"{self.name} [{self.begin}, {self.end})"


def recorded(rows):
    """{thread: spans of the programs' functions in order of begin}; a span that was cut in two at
    the end of an operation is one."""
    spans = {}
    for row in rows:
        spans.setdefault(row["thread"], []).append(row)
    return {thread: _of_thread(rows) for thread, rows in spans.items()}


def _of_thread(rows):
    of_row, found, ended = {}, [], {}
    for row in rows:
        around = of_row.get(row["parent"])
        if row["layer"] != "python" or not OURS.match(row["name"]):
            of_row[row["span"]] = around
            continue
        span = Span(row)
        cut = ended.get((span.name, span.begin))
        if cut:
            before = cut.pop(0)
            before.end = span.end
            span = before
        else:
            span.parent = around
            found.append(span)
        ended.setdefault((span.name, span.end), []).append(span)
        of_row[row["span"]] = span
    return found


# ---- Operations and native calls -----------------------------------------------------------------

class Block:
    """`name` ran: bounds of its begin and end by the program's own log."""

    def __init__(self, name, begin):
        self.name, self.begin, self.end = name, begin, None


def blocks(log):
    found, stack = [], []
    for i, (kind, at, *name) in enumerate(log):
        if kind == "[":
            stack.append(Block(name[0], (at, log[i + 1][1])))
            found.append(stack[-1])
        elif kind == "]":
            stack.pop().end = (log[i - 1][1], at)
    return found


class Phases:
    """What phase recording was in, for one thread; `changes` in order of time, of all threads."""

    def __init__(self, changes, thread):
        self.thread = thread
        self.changes = [(begun, ended, *phase) for begun, ended, _, _, *phase in changes]
        self.begun = [change[0] for change in self.changes]

    def during(self, bounds):
        """The one phase from bounds[0] to bounds[1]; None where it changed meanwhile."""
        last = bisect.bisect_right(self.begun, bounds[1]) - 1
        if last < 0:
            return "off"
        return self.changes[last][2] if self.changes[last][1] <= bounds[0] else None

    def next(self, wanted, after, before):
        """Bounds of the first change in between with wanted(phase, thread); None: there is none."""
        for begun, ended, *change in self.changes[bisect.bisect_left(self.begun, after):]:
            if begun >= before:
                return None
            if wanted(*change):
                return begun, ended
        return None

    def seen(self, phase, thread):
        """What began hidden is: where recording is on, and where a step begins on its thread."""
        return phase == "on" or thread == self.thread

    def recorded(self, block):
        """(begin, end) as bounds, None where it was not recorded, "unsure" where none can tell."""
        at_begin, at_end = self.during(block.begin), self.during(block.end)
        stop = self.next(lambda phase, _: phase == "off", block.begin[1], block.end[1])
        if at_begin is None or at_end is None:
            return "unsure"
        operation = OPERATION.fullmatch(block.name)
        if not operation and stop:  # the next session is told of it where it follows all calls
            return "unsure"
        begin, end = block.begin, stop or block.end
        if at_begin == "hidden" and operation and stop:  # its thread may have marked nothing since
            return "unsure"
        if at_begin == "hidden" and operation:
            begin = self.next(self.seen, block.begin[1], end[0])
        elif at_begin != "on":
            begin = None
        return begin and (begin, end)


def whole(rows):
    """{thread: [(name, begin, end)]} of operations and native calls; parts are one."""
    parts = {}
    for row in rows:
        if row["kind"] == "operation" or row["name"] == NATIVE:
            key = (row["process"], row["thread"], row["first"])
            parts.setdefault(key, []).append((int(row["begin_ns"]), int(row["end_ns"]),
                                              row["name"]))
    found = {}
    for (_, thread, _), of in parts.items():
        of.sort()
        found.setdefault(thread, []).append((of[0][2], of[0][0], of[-1][1]))
    return found


def compare_blocks(log, found, phases, slack):
    """(differences, how many were compared) of one thread; `found` as whole() has it."""
    found, unsure, compared = sorted(found, key=lambda one: one[1]), [], 0
    differences = []
    for block in blocks(log):
        expected = phases.recorded(block)
        if expected == "unsure":
            unsure.append(block)
            continue
        if expected is None:
            continue
        compared += 1
        ours = [one for one in found if one[0] == block.name and
                within(one[1], expected[0], slack) and within(one[2], expected[1], slack)]
        if ours:
            found.remove(ours[0])
        else:
            differences.append(f"{block.name} in {expected} is missing")
    for name, begin, end in found:
        if not any(name == block.name and block.begin[0] - slack <= begin <= block.end[1] + slack
                   for block in unsure):
            differences.append(f"{name} [{begin}, {end}) where it did not run")
    return differences, compared


# ---- The comparison ------------------------------------------------------------------------------

def within(at, bounds, slack):
    return bounds[0] - slack <= at <= bounds[1] + slack


def compare(log, rows, clock_error):
    """(differences in words, how many spans were compared, how many intervals could not be)."""
    slack = clock_error + SLACK_NS
    spans, skipped, compared, differences = recorded(rows), 0, 0, []
    times = intervals(sorted(log["changes"]))
    for name, entries in log["threads"].items():
        thread, left = Thread(entries), spans.pop(name, [])
        place = 0
        for interval in times:
            begins = place
            while place < len(left) and left[place].begin <= interval.went[1] + slack:
                place += 1
            found = left[begins:place]
            if thread.disturbed(interval.came) or thread.disturbed(interval.went):
                skipped += 1
                continue
            expected, seen = thread.pieces(interval, begins > 0)
            if not seen and not found:
                continue
            compared += len(expected)
            differences += [f"{name}: {words}" for words in
                            compare_pieces(expected, found, slack)]
        differences += [f"{name}: {span!r} where nothing was recorded" for span in left[place:]]
    differences += [f"{name}: {len(more)} spans of a thread that ran nothing"
                    for name, more in spans.items() if more]
    of_threads = whole(rows)
    for name, entries in log["threads"].items():
        phases = Phases(sorted(log["changes"]), name)
        more, count = compare_blocks(entries, of_threads.get(name, []), phases, slack)
        differences += [f"{name}: {words}" for words in more]
        compared += count
    return differences, compared, skipped


def compare_pieces(expected, found, slack):
    if [p.name for p in expected] != [s.name for s in found]:
        yield (f"expected {[p.name for p in expected]} in {expected[0].begin if expected else ''}, "
               f"found {found}")
        return
    of_piece = dict(zip(map(id, expected), found))
    for piece, span in zip(expected, found):
        if not within(span.begin, piece.begin, slack):
            yield f"{span!r} begins outside {piece.begin}"
        if not within(span.end, piece.end, slack):
            yield f"{span!r} ends outside {piece.end}"
        if span.parent is not of_piece.get(id(piece.parent)):
            yield f"{span!r} is below {span.parent!r}, not {of_piece.get(id(piece.parent))!r}"
