"""Small XSpaces, and what befalls them on their way: orders, times, names, ids and kinds of values
that are off. Spaces are messages as xspace_reader decodes them.

A mutation changes the copy that it is given.
"""

import copy

HOST_NAMES = ("PjitFunction(f)", "$train.py:3 step", "hipLaunchKernel", "cuLaunchKernel", "cumsum",
              "model/dense/Relu:MatMul", "all-reduce.3", "all-reduce-promotion", "Iterator::Map",
              "ThreadpoolListener::StartRegion", "end: dot.1", "train", "a::b", ":", "x:", "é: y",
              "MemoryAllocation", "MemoryDeallocation")
DEVICE_NAMES = ("gemm", "MemcpyD2D", "fusion.7")
STATS = ("correlation_id", "_r", "step_num", "bytes", "hlo_op", "allocation_bytes",
         "bytes_allocated", "allocator_name")


def small(random):
    """A profile of one process and its devices, as XProf's writers have it."""
    base = random.choice((0, 1_700_000_000_000_000_000))
    planes = [plane(random, "/host:CPU", HOST_NAMES,
                    [line(random, i, "python", base, HOST_NAMES) for i in range(3)])]
    for number in range(random.randrange(3)):
        lines = [line(random, 10 + i, f"Stream #{10 + i}(Kernel)", base, DEVICE_NAMES)
                 for i in range(2)]
        planes.append(plane(random, f"/device:GPU:{number}", DEVICE_NAMES, lines))
        if random.random() < 0.5:
            planes[-1]["lines"].append(line(random, 3, "XLA Modules", base, DEVICE_NAMES))
    if random.random() < 0.5:
        task = plane(random, "Task Environment", (), [])
        names = ("profile_start_time", "profile_stop_time", "process_id")
        task["names"] = [{"key": i + 1, "value": {"id": i + 1, "name": name}}
                         for i, name in enumerate(names)]
        start = 1_700_000_000_000_000_000
        task["stats"] = [{"metadata_id": 1, "uint64": start},
                         {"metadata_id": 2, "uint64": start + 5_000},
                         {"metadata_id": 3, "int64": 7}]
        planes.append(task)
    return {"planes": planes, "hostnames": ["host"]}


def plane(random, name, names, lines):
    return {"id": random.randrange(9), "name": name, "lines": lines,
            "events": [{"key": i + 1, "value": {"id": i + 1, "name": one}}
                       for i, one in enumerate(names)],
            "names": [{"key": i + 1, "value": {"id": i + 1, "name": one}}
                      for i, one in enumerate(STATS)]}


def line(random, number, name, base, names):
    events, at = [], 0
    for _ in range(random.randrange(12)):
        at += random.randrange(3_000_000)
        event = {"metadata_id": random.randrange(len(names)) + 1, "offset_ps": at,
                 "duration_ps": random.randrange(2_500_000), "stats": []}
        if random.random() < 0.6:
            event["stats"].append({"metadata_id": 1, "uint64": random.randrange(12)})
        if names is HOST_NAMES and random.random() < 0.2:
            event["stats"] += [{"metadata_id": 2, "int64": random.randrange(2)},
                               {"metadata_id": 3, "int64": random.randrange(-1, 9)}]
        if names is HOST_NAMES and random.random() < 0.7:
            event["stats"] += [{"metadata_id": 6, "int64": random.randrange(-1, 99)},
                               {"metadata_id": 7, "uint64": random.randrange(2**20)},
                               {"metadata_id": 8, "text": random.choice(("cpu", "GPU_0_bfc"))}]
        events.append(event)
    return {"id": number, "name": name, "timestamp_ns": base + random.randrange(100),
            "events": events}


# ---- mutations ---------------------------------------------------------------------------------

def lines_of(space):
    return [line for plane in space["planes"] for line in plane.get("lines", [])]


def events_of(space, random, share):
    return [event for line in lines_of(space) for event in line.get("events", [])
            if random.random() < share]


def shuffled(space, random):
    random.shuffle(space["planes"])
    for part in (*space["planes"], *lines_of(space)):
        for key in ("lines", "events", "names"):
            random.shuffle(part.get(key, []))


def some_dropped(space, random):
    for line in lines_of(space):
        line["events"] = [e for e in line.get("events", []) if random.random() < 0.9]


def some_doubled(space, random):
    for line in lines_of(space):
        line["events"] = [copy.deepcopy(e) for e in line.get("events", [])
                          for _ in range(1 + (random.random() < 0.1))]


def planes_doubled(space, random):
    space["planes"] += copy.deepcopy(random.sample(space["planes"], 1))


def long_durations(space, random):
    for event in events_of(space, random, 0.1):
        event["duration_ps"] = event.get("duration_ps", 0) * 3 + 5000


def negative_durations(space, random):
    for event in events_of(space, random, 0.05):
        event["duration_ps"] = -event.get("duration_ps", 0)


def far_times(space, random):
    for event in events_of(space, random, 0.03):
        event[random.choice(("offset_ps", "duration_ps"))] = random.choice((2**61, 2**62, -2**62))
    if random.random() < 0.3 and lines_of(space):
        random.choice(lines_of(space))["timestamp_ns"] = random.choice((2**61, -2**63))


def before_the_line(space, random):
    for event in events_of(space, random, 0.1):
        event["offset_ps"] = -event.get("offset_ps", 0) // 7


def sums(space, random):
    for event in events_of(space, random, 0.05):
        event.pop("offset_ps", None)
        event["occurrences"] = random.randrange(1, 9)


def other_kinds_of_values(space, random):
    for event in events_of(space, random, 1):
        for stat in event.get("stats", []):
            kind = next((key for key in ("int64", "uint64") if key in stat), None)
            if kind is None or random.random() < 0.8:
                continue
            value = stat.pop(kind)
            other = random.choice(("int64", "uint64", "double", "text"))
            stat[other] = {"double": float, "text": str}.get(other, int)(value)


def no_numbers(space, random):
    for event in events_of(space, random, 0.05):
        event.setdefault("stats", []).append(
            {"metadata_id": 4, "double": random.choice((float("nan"), float("inf")))})


def names_lost(space, random):
    for plane in space["planes"]:
        for key in ("events", "names"):
            plane[key] = [entry for entry in plane.get(key, []) if random.random() < 0.8]


def other_planes(space, random):
    for plane in space["planes"]:
        if random.random() < 0.4:
            plane["name"] = random.choice(("/device:CUSTOM:chip:3", "/device:TPU:1 (XLA)", "#Chip5",
                                           "/device:TPU", "/host:metadata", "", "plugin"))


def other_lines(space, random):
    for line in lines_of(space):
        if random.random() < 0.3:
            line.update(random.choice(({"name": "XLA Ops"}, {"name": "Steps"}, {"display_id": 99},
                                       {"id": 0xdeadbeef + 5}, {"name": "Stream #7"}, {"id": 0})))


def without_a_base(space, random):
    for line in lines_of(space):
        line["timestamp_ns"] = line.get("timestamp_ns", 0) % 10**9


MUTATIONS = (shuffled, some_dropped, some_doubled, planes_doubled, long_durations,
             negative_durations, far_times, before_the_line, sums, other_kinds_of_values,
             no_numbers, names_lost, other_planes, other_lines, without_a_base)


def mutate(space, random):
    """One to three mutations of a copy, and their names."""
    space = copy.deepcopy(space)
    chosen = random.sample(MUTATIONS, random.choice((1, 1, 2, 3)))
    for mutation in chosen:
        mutation(space, random)
    return space, [mutation.__name__ for mutation in chosen]
