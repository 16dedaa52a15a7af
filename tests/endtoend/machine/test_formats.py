"""What each export says of a hostile trace, by its format's own reader, and what an import of it
says again: the same. By seed."""

import collections
import re
import subprocess

import brute
import crosscut
import draws
import pytest
import readers
import hostile
from runs import CROSSCUT


def run(*words):
    done = subprocess.run([CROSSCUT, *words], capture_output=True, timeout=600)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stderr.decode()


def moved(counter, by, times):
    return collections.Counter({(name, *(at + by for at in rest[:times]), *rest[times:]): count
                                for (name, *rest), count in counter.items()})


def difference(what, want, got, may=0):
    """"" where no more than so many are others."""
    missing, extra = list((want - got).elements()), list((got - want).elements())
    if max(len(missing), len(extra)) <= may:
        return ""
    return f"{what}: missing {missing[:3]}, not expected {extra[:3]}" if missing or extra else ""


class Expected:
    """Spans and counters of a scene, and its spans' own times by stack."""

    def __init__(self, drawn):
        processes = [brute.Process(one) for one in drawn]
        self.tracks = [(spans, thread.track) for process in processes
                       for spans, thread in ((one.spans, one) for one in process.threads)]
        self.tracks += [(spans, track) for process in processes for track, spans in process.devices]
        self.spans = collections.Counter((one.name, one.begin, one.end)
                                         for spans, _ in self.tracks for one in spans)
        self.with_args = collections.Counter(
            readers.with_args(one.name, one.begin, one.end,
                              dict(map(cleaned, one.span.args)))
            for spans, _ in self.tracks for one in spans)
        self.counters = collections.Counter((hostile.cleaned(name), at, value) for process in drawn
                                            for name, at, value in process.counters)
        self.earliest = min(at for process, one in zip(processes, drawn) for at in (
            process.begin, *(thread.begin for thread in process.threads),
            *(span.begin for _, spans in process.devices for span in spans),
            *(step.begin for step in process.steps), *(at for _, at, _ in one.counters),
            *(loss[2] for track in one.tracks for loss in track.losses),
            *(at for track in one.tracks for _, at, _ in track.instants)))
        self.own = sum(self.own_time(spans) for spans, track in self.tracks
                       if track.kind == "thread")
        self.marks = collections.Counter(
            readers.with_args(hostile.cleaned(name), at, at, dict(map(cleaned, args)))
            for _, track in self.tracks for name, at, args in track.instants)
        self.losses = collections.Counter(
            readers.with_args(f"{plural(count, 'event', 'events')} missing ({reason})", at, at, {})
            for _, track in self.tracks for reason, count, at, _ in track.losses)
        self.drawn, self.found = drawn, brute.arrows(processes)
        process_of = {id(track): number for number, process in enumerate(drawn)
                      for track in process.tracks}
        whole = [one for one in self.found if one[1] and one[4]]
        self.arrows = self.ends(whole)
        spans_of = {id(track): spans for spans, track in self.tracks}
        self.elsewhere = sum(
            not any(brute.shows(spans_of[id(track)], span, when) for when in (span.begin, at))
            for one in whole for track, span, at in (one[:3], one[3:]))
        self.launches = self.ends(brute.launches(whole, process_of))

    @staticmethod
    def ends(arrows):
        return collections.Counter(((one.name, one.begin, one.end), (other.name, other.begin,
                                    other.end)) for _, one, _, _, other, _ in arrows)

    @staticmethod
    def own_time(spans):
        return brute.union((one.begin, one.end) for one in spans)

    def parts(self, holds):
        """What a format that holds no other parts has no room for, in words and in their order."""
        host, device = (sum(len(spans) for spans, track in self.tracks if track.kind == kind)
                        for kind in ("thread", "device"))
        tracks = [track for _, track in self.tracks]
        shown = [track for track in tracks
                 if ("spans of threads" if track.kind == "thread" else "spans of devices") in holds]
        memory = sum(hostile.cleaned(name) == "[memory]" for track in tracks
                     for name, *_ in track.instants)
        launches, whole = sum(self.launches.values()), sum(self.arrows.values())
        counts = {
            "span|spans of threads": host, "span|spans of devices": device,
            "span's|spans' time|times (there are sums)": sum(len(one.spans) for one in shown),
            "argument|arguments": sum(len(span.args) for one in shown for span in one.spans),
            "step|steps": sum(len(track.steps) for track in tracks),
            "change|changes of memory": memory, "mark|marks": sum(self.marks.values()) - memory,
            "value|values of counters": sum(self.counters.values()),
            "arrow|arrows to devices": launches, "arrow|arrows between threads": whole - launches,
            "arrow|arrows with an end in no span": len(self.found) - whole,
            "phase|phases": sum(len(track.phases) for track in tracks),
            "pause|pauses": sum(len(joined(process.pauses)) for process in self.drawn),
            "layer|layers outside spans": sum(len(changes(track.base)) for track in tracks),
            "place|places where events are missing": sum(len(track.losses) for track in tracks),
            "figure|figures of what Crosscut's probes cost, so that no time is corrected":
                sum(len(process.probes) for process in self.drawn)}
        return ", ".join(f"{count} {form(words, count != 1)}" for words, count in counts.items()
                         if count and form(words, True) not in holds)

    def lost(self):
        """How many events by reason, of all processes."""
        sums = collections.Counter()
        for process in self.drawn:
            for track in process.tracks:
                for reason, count, *_ in track.losses:
                    sums[reason] += count
        return sums.items()


def form(words, many):
    return re.sub(r"(\S+)\|(\S+)", r"\2" if many else r"\1", words)


SUMS = {"spans of threads"}
SHOWN = {"spans of threads", "spans of devices", "spans' times (there are sums)"}
TOLD = {*SHOWN, "arguments", "steps", "arrows to devices"}
EVENTS = {*TOLD, "changes of memory", "marks", "values of counters", "arrows between threads",
          "places where events are missing"}
HOLDS = {"chrome": EVENTS, "perfetto": EVENTS,
         "xspace": {*TOLD, "changes of memory", "pauses", "layers outside spans"},
         "speedscope": SHOWN, "collapsed": SUMS, "pprof-spans": SUMS}


def cleaned(arg):
    key, value = arg
    return hostile.cleaned(key), value if isinstance(value, int) else hostile.cleaned(value)


def plural(count, one, many):
    return f"{count} {one if count == 1 else many}"


def joined(pauses):
    """Those of them that lie apart."""
    out = []
    for begin, end in sorted(pauses):
        if begin < end and out and begin <= out[-1]:
            out[-1] = max(out[-1], end)
        elif begin < end:
            out.append(end)
    return out


def changes(base):
    """What is outside spans, where it is known."""
    kept = []
    for _, layer in base:
        if layer != (kept[-1] if kept else "none"):
            kept.append(layer)
    return [layer for layer in kept if layer != "none"]


def wrong(drawn, folder):
    source, want = folder / "trace.txt", Expected(drawn)
    source.write_bytes(hostile.text(drawn))
    said = {}
    for to in HOLDS:
        if to != "pprof-spans" or readers.profile_messages():
            said[to] = run("export", source, f"--to={to}", "-o", folder / f"out.{to}")
    # Perfetto's times are from 0 on. Those of a flame graph are from its own begin on.
    shifts = {"perfetto": max(0, -want.earliest)}
    for to, read in readers.SPANS.items():
        spans, counters = read(folder / f"out.{to}")
        if to == "speedscope" and spans:
            shifts[to] = min(at for _, at, _ in spans) - min(at for _, at, _ in want.spans)
        shift = shifts.get(to, 0)
        if wrongly := difference(f"{to}, spans", moved(want.spans, shift, 2), spans):
            return wrongly
        if counters is not None and (wrongly := difference(
                f"{to}, counters", moved(want.counters, shift, 1), counters)):
            return wrongly
    for to, read in readers.ARGS.items():
        if wrongly := difference(f"{to}, arguments", want.with_args, read(folder / f"out.{to}")):
            return wrongly
    return (beside_wrong(want, shifts["perfetto"], folder) or untold(want, said, folder)
            or stacks_wrong(want, folder))


def beside_wrong(want, shift, folder):
    """Marks and arrows."""
    marks = want.marks + want.losses
    got, arrows = readers.chrome_beside(folder / "out.chrome")
    elsewhere = told(readers.chrome_gaps(folder / "out.chrome"), "ends? of (an arrow|arrows) stand")
    if elsewhere != want.elsewhere:
        return f"chrome says that {elsewhere} ends stand elsewhere, for {want.elsewhere}"
    there, found, _ = readers.perfetto_beside(folder / "out.perfetto")
    return (difference("chrome, marks", marks, got)
            or difference("chrome, arrows", want.arrows, arrows, elsewhere)
            or difference("perfetto, marks", moved(marks, shift, 2), there)
            or difference("perfetto, arrows", moved_ends(want.arrows, shift), found)
            or difference("xspace, launches", want.launches,
                          readers.xspace_launches(folder / "out.xspace")))


def moved_ends(arrows, by):
    return collections.Counter({tuple((name, begin + by, end + by) for name, begin, end in ends):
                                count for ends, count in arrows.items()})


def told(gaps, words):
    """The count in the sentence that begins so."""
    return sum(int(found[1]) for gap in gaps if (found := re.match(rf"(\d+) {words}", gap)))


def untold(want, said, folder):
    """What a format has no room for, and its file, or its export, does not say."""
    for to, stderr in said.items():
        gaps = readers.GAPS[to](folder / f"out.{to}") if to in readers.GAPS else None
        words = want.parts(HOLDS[to])
        for text in [stderr] if gaps is None else [stderr, "\n".join(gaps)]:
            found = re.search(r"exported file has no room for (.*?)(, \d+ sentences?[^,]*)?\.\n",
                              text + "\n")
            if words != (found[1] if found else "") and not (
                    not words and found and found[1].split(" ", 1)[1].startswith("sentence")):
                return f"{to} says {found and found[1]!r} for {words!r}"
        for reason, count in want.lost() if gaps is not None else ():
            one = rf"{plural(count, 'event', 'events')} of .* (is|are) missing \({reason}\)"
            if not any(re.match(one, gap, re.DOTALL) for gap in gaps):
                return f"{to} does not say that {count} events are missing ({reason}): {gaps}"
    return ""


def stacks_wrong(want, folder):
    """Own times of stacks add up to the time in which threads were in any span."""
    for to, read in (("collapsed", readers.collapsed), ("pprof-spans", readers.pprof)):
        if to == "collapsed" or readers.profile_messages():
            got = sum(read(folder / f"out.{to}").values())
            if got != want.own:
                return f"{to}: {got} ns of {want.own}"
    return ""


def test_exports_say_what_happened(tmp_path):
    pytest.importorskip("perfetto")
    draws.search(12, hostile.draw, lambda drawn: wrong(drawn, tmp_path), hostile.text)


def all_of(run):
    """Spans, work on devices, steps and counters of a run."""
    spans, work, steps = (run.table(name) for name in ("spans", "device_events", "steps"))
    return (collections.Counter(zip(spans["name"], spans["begin_ns"], spans["end_ns"])),
            collections.Counter(zip(work["name"], work["begin_ns"], work["end_ns"])),
            collections.Counter(zip(steps["step"], steps["begin_ns"], steps["end_ns"])))


def earliest(counters):
    return min((at for counter in counters for _, at, *_ in counter), default=0)


def changed_again(drawn, folder):
    """What an import of an export has otherwise than its source."""
    source, expected = folder / "trace.txt", Expected(drawn)
    source.write_bytes(hostile.text(drawn))
    want = all_of(crosscut.read(source))
    for form, ending in (("chrome", "json.gz"), ("xspace", "xplane.pb")):
        out, again = folder / f"out.{ending}", folder / f"run-{draws.fresh()}"
        run("export", source, f"--to={form}", "-o", out)
        run("import", out, "-o", again)
        got = all_of(crosscut.read(again))
        gaps = list(crosscut.read(again).table("gaps")["message"])
        shift = earliest(got) - earliest(want)  # a file of Chrome's begins at a time of day
        for what, one, other in zip(("spans", "work on devices", "steps"), want, got):
            if said := difference(f"{form}, {what}", moved(one, shift, 2), other):
                return f"{said}; {gaps}"
        run("export", again, "--to=chrome", "-o", folder / "again.json")
        args = expected.with_args, readers.chrome_args(folder / "again.json")
        shift = earliest(args[1:]) - earliest(args[:1])  # a run's times begin somewhere, too
        if said := (difference(f"{form}, arguments", moved(args[0], shift, 2), args[1])
                    or beside_changed(form, expected, again, gaps, folder)):
            return f"{said}; {gaps}"
        for gap in readers.GAPS[form](out):
            if gap not in gaps:
                return f"{form}: {gap!r} is not in {gaps}"
    return ""


def beside_changed(form, expected, again, gaps, folder):
    """Marks, arrows and values of counters."""
    run("export", again, "--to=perfetto", "-o", folder / "again.perfetto")
    marks, arrows, _ = readers.perfetto_beside(folder / "again.perfetto")
    spans, counters = readers.perfetto(folder / "again.perfetto")
    shift = (min((at for _, at, *_ in [*spans, *marks, *counters]), default=0)
             - min((at for _, at, *_ in [*expected.spans, *expected.marks, *expected.losses,
                                         *expected.counters]), default=0))
    memory = collections.Counter({mark: count for mark, count in expected.marks.items()
                                  if mark[0] == "[memory]"})
    elsewhere = told(gaps, "ends? of (an arrow|arrows) stand")
    chrome = form == "chrome"
    return (difference(f"{form}, marks", moved(
                expected.marks + expected.losses if chrome else memory, shift, 2), marks)
            or difference(f"{form}, arrows", moved_ends(
                expected.arrows if chrome else expected.launches, shift), arrows,
                elsewhere if chrome else 0)
            or difference(f"{form}, counters", moved(
                expected.counters if chrome else collections.Counter(), shift, 1), counters))


def test_imports_of_exports_say_the_same(tmp_path):
    draws.search(36, hostile.draw_plain, lambda drawn: changed_again(drawn, tmp_path), hostile.text)
