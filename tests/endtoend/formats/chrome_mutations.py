"""Small traces in Chrome's format, and what befalls traces on their way: ranks that were joined,
ids that became fractions or texts, categories of other releases, orders, times and ends that are
off.

A mutation takes a list of events and a random.Random, and gives a list of events; nothing of what
it was given is changed.
"""

import copy
import json

OLD = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
       "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "python_function": "Python"}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "cuda_sync",
          "gpu_user_annotation")
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))


def small(random):
    """A program of one process that launches work, as Kineto would write it."""
    pid, base = random.randrange(1000, 9000), random.choice((0, 1700000000000000))
    events, at, correlation = [], base + random.random() * 10, random.randrange(1, 50)
    ends = {}
    for step in range(random.randrange(1, 4)):
        begin = at
        for _ in range(random.randrange(1, 6)):
            thread = pid + random.randrange(2)
            start = ends.get(thread, at) + random.random()
            start = max(start, at)
            length = nested(events, random, (pid, thread), start, 0)
            ends[thread] = start + length
            for _ in range(random.randrange(3)):
                correlation += 1
                stream = random.choice((7, 13))
                launch(events, random, (pid, thread), start + random.random(), correlation)
                work(events, random, stream, start + random.random() * 50, correlation)
            at += random.random() * 3
        at = max([at, *ends.values()])
        events.append(span("user_annotation", f"ProfilerStep#{step}", (pid, pid), begin,
                           at - begin))
    for i in range(random.randrange(3)):
        events.append({"ph": "C", "name": "power", "pid": pid, "ts": base + i,
                       "args": {"w": i, "v": random.choice((3, 4.5))}})
    events.append({"ph": "i", "name": "mark", "s": "t", "pid": pid, "tid": pid, "ts": base + 1})
    for number, label in ((pid, "CPU"), (0, "GPU 0")):
        events.append({"ph": "M", "name": "process_name", "pid": number,
                       "args": {"name": "python3"}})
        events.append({"ph": "M", "name": "process_labels", "pid": number,
                       "args": {"labels": label}})
    return events


def span(category, name, row, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": row[0], "tid": row[1],
            "ts": round(ts, 3), "dur": round(dur, 3), "args": args}


def nested(events, random, row, start, depth):
    """A call and what it calls; its length."""
    length = random.random() * 4
    at = start + random.random()
    for _ in range(random.randrange(3) if depth < 3 else 0):
        length_inside = nested(events, random, row, at, depth + 1)
        at += length_inside + random.random()
    length = max(length, at - start + random.random())
    category = random.choice(("cpu_op", "cpu_op", "python_function", "user_annotation"))
    name = random.choice(("aten::mm", "aten::add", "f.py(3): f", "nccl:all_reduce", "forward"))
    events.append(span(category, name, row, start, length))
    return length


def launch(events, random, row, at, correlation):
    name = random.choice(("cudaLaunchKernel", "cudaMemcpyAsync"))
    events.append(span("cuda_runtime", name, row, at, random.random(), correlation=correlation))


def work(events, random, stream, at, correlation):
    category = random.choice(("kernel", "kernel", "gpu_memcpy"))
    name = "Memcpy HtoD" if category == "gpu_memcpy" else random.choice(("gemm", "relu"))
    events.append(span(category, name, (0, stream), at, random.random() * 9, device=0,
                       stream=stream, correlation=correlation))


# ---- mutations ----------------------------------------------------------------------------------

def changed(events, random, share, change):
    """`change` applied to a copy of each event with that probability."""
    mutated = []
    for event in events:
        if random.random() < share:
            event = copy.deepcopy(event)
            change(event)
        mutated.append(event)
    return mutated


def spans_only(change):
    def apply(event):
        if event.get("ph") == "X" and event.get("cat") != "Trace":
            change(event)
    return apply


def shuffled(events, random):
    return random.sample(events, len(events))


def some_dropped(events, random):
    return [event for event in events if random.random() < 0.9]


def some_doubled(events, random):
    mutated = []
    for event in events:
        mutated += [event, event] if random.random() < 0.05 else [event]
    return mutated


def with_ids(events, random, form):
    def change(event):
        for key in ("pid", "tid"):
            if isinstance(event.get(key), int):
                event[key] = form(event[key])
        for key in ("correlation", "stream", "device"):
            if isinstance((event.get("args") or {}).get(key), int):
                event["args"][key] = form(event["args"][key])
    return changed(events, random, random.choice((0.3, 1)), change)


def ids_as_fractions(events, random):
    return with_ids(events, random, float)


def ids_as_texts(events, random):
    return with_ids(events, random, str)


def old_categories(events, random):
    def change(event):
        event["cat"] = OLD.get(event.get("cat"), event.get("cat", ""))
        if event["cat"] in ("Kernel", "Memcpy", "Memset") and random.random() < 0.5:
            event["tid"] = f"stream {event.get('tid')}"
    return changed(events, random, 1, lambda e: change(e) if e.get("ph") == "X" else None)


def strange_categories(events, random):
    victim = random.choice(("kernel", "cpu_op", "cuda_runtime", "python_function"))

    def change(event):
        if event["cat"] == victim:
            event["cat"] = random.choice(("gpu_op", "Foo", ""))
    return changed(events, random, 1, spans_only(change))


def no_numbers(events, random):
    def change(event):
        if event.get("ph") == "M":
            return
        where = random.choice(("args", "ts", "dur", "correlation"))
        if where == "args":
            event["args"] = {**(event.get("args") or {}), "x": random.choice(NO_NUMBERS)}
        elif where == "correlation":
            event["args"] = {**(event.get("args") or {}), where: random.choice(NO_NUMBERS)}
        else:
            event[where] = random.choice(NO_NUMBERS)
    return changed(events, random, 0.05, change)


def negative_durations(events, random):
    return changed(events, random, 0.05,
                   spans_only(lambda event: event.update(dur=-event.get("dur", 0))))


def absurd_times(events, random):
    def change(event):
        if "ts" in event and event["ph"] != "M":
            event["ts"] = random.choice((0, -1, 1e18, 3.3e15, 12345))
    return changed(events, random, 0.03, change)


def long_durations(events, random):
    return changed(events, random, 0.1, spans_only(
        lambda event: event.update(dur=round(event.get("dur", 0) * 3 + 5, 3))))


def begins_and_ends(events, random):
    named, mutated = random.random() < 0.5, []
    missing, doubled = random.choice((0, 0.05)), random.choice((0, 0.05))
    for event in events:
        device = event.get("cat") in DEVICE + ("Trace",)
        if event.get("ph") != "X" or device or random.random() < 0.3:
            mutated.append(event)
            continue
        begin = {key: value for key, value in event.items() if key != "dur"} | {"ph": "B"}
        end = {"ph": "E", "pid": event["pid"], "tid": event["tid"],
               "ts": event["ts"] + event.get("dur", 0)}
        if named:
            end["name"] = event["name"]
        for edge in (begin, end):
            mutated += [edge] * (0 if random.random() < missing else
                                 2 if random.random() < doubled else 1)
    return mutated


def graphs(events, random):
    """Some work was launched by the call that launched other work."""
    correlations = [event["args"]["correlation"] for event in events
                    if event.get("cat") == "kernel" and "correlation" in event["args"]]
    if not correlations:
        return events
    few = random.sample(correlations, min(3, len(correlations)))

    def change(event):
        if event.get("cat") == "kernel":
            event["args"]["correlation"] = random.choice(few)
    return changed(events, random, 0.3, change)


def without_places(events, random):
    """Of device rows: neither device nor stream among the arguments."""
    def change(event):
        if event.get("cat") in DEVICE:
            for key in ("device", "stream"):
                event["args"].pop(key, None)
    return changed(events, random, random.choice((0.5, 1)), spans_only(change))


def nothing_between(events, random):
    mutated = []
    for event in events:
        mutated += [random.choice((None, {})), event] if random.random() < 0.05 else [event]
    return mutated + [{}]


def joined(events, random, rename, ranks=2):
    """The events once for each rank, each at its own times."""
    mutated = []
    for rank in range(ranks):
        shift = random.random() * 5
        for event in events:
            event = copy.deepcopy(event)
            if isinstance(event.get("ts"), (int, float)) and event.get("ph") != "M":
                event["ts"] = round(event["ts"] + shift, 3)
            rename(event, rank)
            mutated.append(event)
    return mutated


def ranks_by_label(events, random):
    pattern = random.choice(("[TP0{}] {}", "rank{}_pid{}", "[DP{}-TP0 {}]"))

    def rename(event, rank):
        event["pid"] = pattern.format(rank, event.get("pid"))
    return joined(events, random, rename, random.randrange(2, 4))


def ranks_by_argument(events, random):
    def rename(event, rank):
        event["args"] = {**(event.get("args") or {}), "rank": rank}
        if isinstance(event.get("pid"), int):
            event["pid"] += rank * 100000
    return joined(events, random, rename)


def ranks_without_a_word(events, random):
    """Other pids, the same correlations: what belongs to whom may not be known."""
    def rename(event, rank):
        if isinstance(event.get("pid"), int):
            event["pid"] += rank * (1 if event["pid"] < 100 else 10000)
        if "device" in (event.get("args") or {}) and isinstance(event["args"]["device"], int):
            event["args"]["device"] += rank
    return joined(events, random, rename)


def ranks_with_one_pid(events, random):
    return joined(events, random, lambda event, rank: None)


MUTATIONS = (shuffled, some_dropped, some_doubled, ids_as_fractions, ids_as_texts, old_categories,
             strange_categories, no_numbers, negative_durations, absurd_times, long_durations,
             begins_and_ends, graphs, without_places, nothing_between, ranks_by_label,
             ranks_by_argument, ranks_without_a_word, ranks_with_one_pid)


def mutate(events, random):
    """One to three mutations, and their names."""
    chosen = random.sample(MUTATIONS, random.choice((1, 1, 2, 3)))
    for mutation in chosen:
        events = mutation([event for event in events if event], random)
    return events, [mutation.__name__ for mutation in chosen]


def text_of(events, random):
    """As a file has them: a list or a field of an object."""
    text = json.dumps(events)
    around = random.choice(("{}", '{{"traceEvents": {}}}', "\ufeff{}",
                            '{{"a": {{"traceEvents": [1]}}, "traceEvents": {}, "b": 1}}'))
    return around.format(text)
