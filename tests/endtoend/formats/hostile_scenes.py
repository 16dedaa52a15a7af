"""What a trace may say that costs a careless reader too much: stamps far apart, deep nesting, too
many of a kind, long texts.

A scene is what happened, in no format; hostile_formats.py writes it in each. Scenes are functions
of their size (how many of what they are about) and a random.Random.
"""

import dataclasses

US = 1_000
HOUR = 3600 * 10**9
EPOCH = 1_700_000_000 * 10**9


@dataclasses.dataclass
class Span:
    name: str
    begin: int
    end: int
    kind: str = "span"  # or operation, step, kernel
    args: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Track:
    number: int
    spans: list = dataclasses.field(default_factory=list)
    device: int = -1  # of work on a stream
    instants: list = dataclasses.field(default_factory=list)  # (name, at, arguments)


@dataclasses.dataclass
class Process:
    pid: int
    tracks: list = dataclasses.field(default_factory=list)
    counters: list = dataclasses.field(default_factory=list)  # (name, at, value)
    flows: list = dataclasses.field(default_factory=list)  # (id, track, at, track, at)


def one(spans, **more):
    return [Process(7, [Track(7, spans)], **more)]


def row(count, at=1000 * US, every=10 * US, long=5 * US, name="work"):
    return [Span(name, at + i * every, at + i * every + long) for i in range(count)]


# ---- stamps ------------------------------------------------------------------------------------

def one_span_at_zero(size, random):
    return one([Span("early", 0, 1000)] + row(size, at=EPOCH))


def one_span_at_one(size, random):
    return one([Span("early", 1, 2)] + row(size, at=EPOCH))


def one_span_lasts_an_hour(size, random):
    return one([*row(size), Span("stuck", 1500 * US, 1500 * US + HOUR)])


def one_span_ends_at_2_60(size, random):
    return one([*row(size), Span("stuck", 1500 * US, 2**60)])


def one_span_ends_at_2_63(size, random):
    return one([*row(size), Span("stuck", 1500 * US, 2**63 - 1)])


def one_span_before_zero(size, random):
    return one([Span("early", -HOUR * 24 * 365, 0)] + row(size))


def stamps_at_random(size, random):
    spans = []
    for _ in range(size):
        begin = random.randrange(2 ** random.randrange(1, 63))
        spans.append(Span("work", begin, begin + random.randrange(2 ** random.randrange(1, 62))))
    return one(spans)


def steps_years_apart(size, random):
    year = 24 * 365 * HOUR
    spans = []
    for i in range(min(size, 200)):
        at = 1 + i * year
        spans += [Span(f"step#{i}", at, at + HOUR, "step"), Span("work", at, at + US)]
    return one(spans)


def a_busy_track_in_a_long_window(size, random):
    """Every track crosses the whole window, which is long."""
    tracks = [Track(i, [Span("wait", 0, 3 * HOUR), Span("work", i * US, i * US + 10)])
              for i in range(1, size // 10 + 2)]
    return [Process(7, tracks)]


# ---- depths ------------------------------------------------------------------------------------

def nested(size, name, kind="span"):
    return [Span(name(i), 1000 * US + i * 10, 1000 * US + (4 * size - i) * 10, kind)
            for i in range(size)]


def deep(size, random):
    return one(nested(size, lambda i: "f"))


def deep_with_names(size, random):
    return one(nested(size, lambda i: f"f{i}"))


def deep_operations(size, random):
    return one(nested(size, lambda i: f"o{i % 50}", "operation"))


def deep_and_wide(size, random):
    """Half of it a stack, half of it what the innermost calls."""
    spans = nested(size // 2, lambda i: f"f{i}")
    return one(spans + row(size // 2, at=spans[-1].begin + 10, every=2, long=1, name="leaf"))


def stairs(size, random):
    """Each begins within the one before and outlives it."""
    return one([Span("stair", i * 10, i * 10 + 10 * size) for i in range(size)])


def deep_steps(size, random):
    return one(nested(size, lambda i: f"step#{i}", "step"))


def spans_in_deep_operations(size, random):
    """Many spans, the innermost of many operations, with nothing else around them."""
    spans = nested(size // 2, lambda i: f"o{i % 50}", "operation")
    return one(spans + row(size // 2, at=spans[-1].begin + 10, every=2, long=1, name="leaf"))


def outlived_deep_operations(size, random):
    """Spans of the innermost of many operations go on after it."""
    spans = nested(size // 2, lambda i: f"o{i % 50}", "operation")
    last = spans[-1].end
    return one(spans + [Span("leaf", last - 20 + i % 9, last + 5 + i % 9)
                        for i in range(size // 2)])


def crossed_and_deep(size, random):
    """One span outlives another, and in it lies a deep stack."""
    stack = nested(size, lambda i: f"f{i % 7}")
    return one([Span("first", 1000, stack[-1].begin), Span("second", 2000, stack[0].end + 10),
                *stack])


def launched_deep(size, random, name=lambda i: f"f{i % 7}"):
    """Work that the innermost of a deep stack launches."""
    stack = nested(size // 2, name)
    begin = stack[-1].begin + 10
    calls = [Span("cudaLaunchKernel", begin + 2 * i, begin + 2 * i + 1, "launch",
                  {"correlation": i}) for i in range(size // 2)]
    work = [kernel(i, i, 3000 * US + 4 * i * US, f"k{i % 100}") for i in range(size // 2)]
    return [Process(7, [Track(7, stack + calls), Track(8, work, 0)])]


def launched_deep_by_modules(size, random):
    return launched_deep(size, random, lambda i: f"nn.Module: m{i % 7}" if i % 2 else "f")


def memory(i, at):
    return "[memory]", at, {"Addr": 64 * (i // 2 + 1), "Bytes": 64 if i % 2 == 0 else -64,
                            "Device Type": 1, "Device Id": 0, "Total Allocated": 64 * (i % 2)}


def memory_deep(size, random):
    """Allocations inside a deep stack, and after it."""
    stack = nested(size // 2, lambda i: f"f{i % 7}")
    inside, after = stack[-1].begin, stack[0].end + 10
    instants = [memory(i, (inside if i < size // 4 else after) + i) for i in range(size // 2)]
    return [Process(7, [Track(7, stack, instants=instants)])]


def sampled_deep(size, random):
    """The same with samples, also of a thread whose operations the first one has."""
    stack = nested(size // 2, lambda i: f"f{i % 7}")
    inside, after = stack[-1].begin, stack[0].end + 10
    instants = [("[sample]", (inside if i < size // 4 else after) + i,
                 {"covers_ns": 10, "Python stack": f"main.py:{i % 9} main"})
                for i in range(size // 2)]
    return [Process(7, [Track(7, stack, instants=instants), Track(8, row(3), instants=instants)])]


# ---- counts ------------------------------------------------------------------------------------

def processes(size, random):
    return [Process(i + 1, [Track(i + 1, row(1, at=1000 * US + i))]) for i in range(size)]


def processes_one_after_the_other(size, random):
    return [Process(i + 1, [Track(i + 1, row(2, at=i * 1000 * US))]) for i in range(size)]


def threads(size, random):
    return [Process(7, [Track(i + 1, row(1, at=1000 * US + i)) for i in range(size)])]


def threads_one_after_the_other(size, random):
    return [Process(7, [Track(i + 1, row(2, at=i * 100 * US)) for i in range(size)])]


def names(size, random):
    return one([Span(f"n{i}", i * US, i * US + 500) for i in range(size)])


def operations(size, random):
    return one([Span(f"o{i}", i * US, i * US + 500, "operation") for i in range(size)])


def operations_over_layers(size, random):
    spans = [Span(f"o{i % 3000}", i * US, i * US + 900, "operation") for i in range(size)]
    return [Process(7, [Track(7, spans), Track(8, row(size, at=0, every=700, long=300))])]


def steps(size, random):
    return one([Span(f"step#{i}", i * US, i * US + 900, "step") for i in range(size)])


def steps_with_names(size, random):
    spans = []
    for i in range(size // 2):
        spans += [Span(f"step#{i}", i * US, i * US + 900, "step"),
                  Span(f"n{i}", i * US + 10, i * US + 500)]
    return one(spans)


def steps_and_one_operation_each(size, random):
    spans = []
    for i in range(size // 2):
        spans += [Span(f"step#{i}", i * US, i * US + 900, "step"),
                  Span(f"o{i}", i * US + 10, i * US + 500, "operation")]
    return one(spans)


def counters(size, random):
    return one(row(1), counters=[(f"c{i}", 1000 * US + i, i) for i in range(size)])


def flows(size, random):
    return one(row(size), flows=[(i, 7, 1000 * US + i * 10, 7, 1001 * US + i * 10)
                                 for i in range(size)])


def flows_of_one_number(size, random):
    return one(row(size), flows=[(1, 7, 1000 * US + i * 10, 7, 1001 * US + i * 10)
                                 for i in range(size)])


def flows_out_of_one_span(size, random):
    return one([Span("source", 0, 900 * US), *row(size)],
               flows=[(i, 7, 100 * US, 7, 1001 * US + i * 10 * US) for i in range(size)])


def kernel(i, number, begin, name="kernel"):
    return Span(name, begin, begin + 3 * US, "kernel", {"correlation": number, "device": 0})


def launched(size, stream, device, every=10 * US):
    """Calls, and the work that they launch on streams and devices of these numbers."""
    calls, work = [], {}
    for i in range(size):
        at = 1000 * US + i * every
        calls.append(Span("cudaLaunchKernel", at, at + US, "launch", {"correlation": i}))
        track = work.setdefault((device(i), stream(i)), Track(stream(i), [], device(i)))
        track.spans.append(kernel(i, i, at + 2 * US, f"k{i % 100}"))
    return [Process(7, [Track(7, calls), *work.values()])]


def kernels(size, random):
    return launched(size, lambda i: 7, lambda i: 0)


def streams(size, random):
    return launched(size, lambda i: i, lambda i: 0)


def devices(size, random):
    return launched(size, lambda i: 7, lambda i: i)


def kernels_all_at_once(size, random):
    return launched(size, lambda i: 7, lambda i: 0, every=0)


def threads_by_devices(size, random):
    """As many threads as streams, all busy at once."""
    (process,) = launched(size // 4, lambda i: i, lambda i: i % 8)
    process.tracks += [Track(100 + i, row(1, long=5000 * US)) for i in range(size // 4)]
    return [process]


# ---- texts -------------------------------------------------------------------------------------

def a_long_name(size, random):
    return one(row(10, name="n" * size * 50))


def a_long_name_often(size, random):
    return one(row(size, name="n" * size))


def long_names(size, random):
    return one([Span("n" * 3000 + str(i), i * US, i * US + 500) for i in range(size // 50)])


def a_long_name_deep(size, random):
    return one(nested(size, lambda i: "n" * 1000 if i == 0 else "f"))


def many_arguments(size, random):
    return one([Span("work", 1000 * US, 2000 * US, args={f"k{i}": i for i in range(size)})])


def an_argument_of_each_name(size, random):
    return one([Span("work", i * US, i * US + 500, args={f"k{i}": f"v{i}"})
                for i in range(size)])


def a_long_argument_often(size, random):
    text = "v" * size
    return one([Span("work", i * US, i * US + 500, args={"k": text}) for i in range(size)])


SCENES = {scene.__name__: scene for scene in (
    one_span_at_zero, one_span_at_one, one_span_lasts_an_hour, one_span_ends_at_2_60,
    one_span_ends_at_2_63, one_span_before_zero, stamps_at_random, steps_years_apart,
    a_busy_track_in_a_long_window, deep, deep_with_names, deep_operations, deep_and_wide,
    stairs, deep_steps, processes, processes_one_after_the_other, threads,
    threads_one_after_the_other, names, operations, operations_over_layers, steps,
    steps_with_names, steps_and_one_operation_each, counters, flows, flows_of_one_number,
    flows_out_of_one_span, kernels, streams, devices, kernels_all_at_once, threads_by_devices,
    spans_in_deep_operations, outlived_deep_operations, crossed_and_deep, launched_deep,
    launched_deep_by_modules, memory_deep, sampled_deep, a_long_name, a_long_name_often,
    long_names, a_long_name_deep, many_arguments, an_argument_of_each_name,
    a_long_argument_often)}
