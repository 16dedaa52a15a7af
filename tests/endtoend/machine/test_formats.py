"""What each export says of a hostile trace, by its format's own reader, and what an import of it
says again: the same. By seed."""

import collections
import subprocess

import brute
import crosscut
import draws
import pytest
import readers
import hostile
from runs import CROSSCUT


def run(*words):
    done = subprocess.run([CROSSCUT, *words], capture_output=True, timeout=60)
    assert done.returncode == 0, (words, done.returncode, done.stderr)


def moved(counter, by, times):
    return collections.Counter({(name, *(at + by for at in rest[:times]), *rest[times:]): count
                                for (name, *rest), count in counter.items()})


def difference(what, want, got):
    missing, extra = list((want - got).elements()), list((got - want).elements())
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
                              {hostile.cleaned(key): value if isinstance(value, int)
                               else hostile.cleaned(value) for key, value in one.span.args})
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

    @staticmethod
    def own_time(spans):
        return brute.union((one.begin, one.end) for one in spans)


def wrong(drawn, folder):
    source, want = folder / "trace.txt", Expected(drawn)
    source.write_bytes(hostile.text(drawn))
    for form, read in readers.SPANS.items():
        out = folder / f"out.{form}"
        run("export", source, f"--to={form}", "-o", out)
        spans, counters = read(out)
        # Perfetto's times are from 0 on. Those of a flame graph are from its own begin on.
        shift = {"perfetto": max(0, -want.earliest)}.get(form, 0)
        if form == "speedscope" and spans:
            shift = min(at for _, at, _ in spans) - min(at for _, at, _ in want.spans)
        if said := difference(f"{form}, spans", moved(want.spans, shift, 2), spans):
            return said
        if counters is not None and (
                said := difference(f"{form}, counters", moved(want.counters, shift, 1), counters)):
            return said
    for form, read in readers.ARGS.items():
        if said := difference(f"{form}, arguments", want.with_args, read(folder / f"out.{form}")):
            return said
    return stacks_wrong(want, source, folder)


def stacks_wrong(want, source, folder):
    """Own times of stacks add up to the time in which threads were in any span."""
    for form, read in (("collapsed", readers.collapsed), ("pprof-spans", readers.pprof)):
        if form == "collapsed" or readers.profile_messages():
            run("export", source, f"--to={form}", "-o", folder / form)
            got = sum(read(folder / form).values())
            if got != want.own:
                return f"{form}: {got} ns of {want.own}"
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
    source = folder / "trace.txt"
    source.write_bytes(hostile.text(drawn))
    want = all_of(crosscut.read(source))
    for form, ending in (("chrome", "json.gz"), ("xspace", "xplane.pb")):
        out, again = folder / f"out.{ending}", folder / f"run-{draws.fresh()}"
        run("export", source, f"--to={form}", "-o", out)
        run("import", out, "-o", again)
        got = all_of(crosscut.read(again))
        shift = earliest(got) - earliest(want)  # a file of Chrome's begins at a time of day
        for what, one, other in zip(("spans", "work on devices", "steps"), want, got):
            if said := difference(f"{form}, {what}", moved(one, shift, 2), other):
                return f"{said}; {list(crosscut.read(again).table('gaps')['message'])}"
        run("export", again, "--to=chrome", "-o", folder / "again.json")
        args = Expected(drawn).with_args, readers.chrome_args(folder / "again.json")
        shift = earliest(args[1:]) - earliest(args[:1])  # a run's times begin somewhere, too
        if said := difference(f"{form}, arguments", moved(args[0], shift, 2), args[1]):
            return said
    return ""


def test_imports_of_exports_say_the_same(tmp_path):
    draws.search(12, hostile.draw_plain, lambda drawn: changed_again(drawn, tmp_path), hostile.text)
