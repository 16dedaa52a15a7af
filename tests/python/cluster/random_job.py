"""Random jobs: missing ranks, ranks that several processes state, children, restarts, hosts of
which each has a clock, ranks without steps, calls and names of all kinds."""

import collections
import random

import pyarrow as pa
from crosscut.cluster import merging, spec
from crosscut.cluster.mapping import with_ordinals
from crosscut.cluster.partial import SHARD, Partial
from crosscut.cluster.shards import Shard, of_one_unit

CLASSES = [name for name, _ in spec.STEP_CLASSES]
NAMES = ["gloo:all_reduce", "gloo:broadcast", "gloo:all_gather", "gloo:send", "gloo:recv",
         "mpi:send", "ucc:recv", "ncclDevKernel_SendRecv", "a \"b\", 'c'; --", "\x1b[31m\n",
         "名 前"]
GROUPS = ["", "world", "left", "x" * 70, "<b>&", "None"]
OPERATIONS = ["", "train", "load", "'; DROP TABLE shards; --", "train step"]
ROLES = ["", "", "", "actor", "learner"]
FEW = (1, 2, 3, 5, 8, 100, 1000)

CALL = ("group", "name", "kind", "place", "seq", "step", "operation", "begin_ns", "ns", "bytes",
        "peer", "group_size")
COLUMNS = {
    "processes": ("pid", "name", "complete", "wall_ns", "corrected_ns"),
    "operations": ("operation", "count", "wall_ns"),
    spec.STEPS: (*spec.STEP_COLUMNS, *CLASSES),
    "functions": ("layer", "name", "count", "total_ns", "self_ns", "min_ns", "max_ns"),
    "function_lengths": ("layer", "name", "from_ns", "below_ns", "count"), spec.LEDGER: CALL,
    "gaps": ("message",)}
TEXTS = {"name", "operation", "kind", "layer", "group", "place", "message"}


def table_of(name, rows):
    """Rows of one process as a table of a partial."""
    columns = {column: pa.array([row[column] for row in rows],
                                pa.string() if column in TEXTS else pa.int64())
               for column in COLUMNS[name]}
    return pa.table({SHARD: pa.array([0] * len(rows), pa.int32()), **columns})


class Job:
    """What the processes of a job recorded: `shards` with their rows, by table."""

    def __init__(self, seed):
        self.chance, self.name = random.Random(seed), "job \x07"
        self.world = self.chance.randint(1, 5)
        self.hosts = self.some(1, 1, 2, 3)
        self.ties = self.chance.random() < 0.3  # else no two stamps of the job are the same
        self.times = set()
        self.shards, self.rows = [], collections.defaultdict(list)
        self.roles = self.chance.random() < 0.3
        for restart in range(self.chance.choice((1, 1, 1, 2))):
            for rank in range(self.world):
                if self.chance.random() < 0.85:
                    self.add_rank(restart, rank)
            if self.chance.random() < 0.2:
                self.add(restart, -1, leads=False)
        if not self.shards:
            self.add_rank(0, 0)
        self.add_calls()

    def some(self, *of):
        return self.chance.choice(of)

    def add_rank(self, restart, rank):
        for _ in range(self.some(*[1] * 19, 2)):
            self.add(restart, rank, leads=True)
        if self.chance.random() < 0.15:
            self.add(restart, rank, leads=False)

    def add(self, restart, rank, leads):
        number = len(self.shards)
        host = max(rank, 0) % self.hosts
        shard = Shard(
            host=f"host{host}", boot=self.some("", f"boot{host}") if self.some(*range(9)) == 0
            else f"boot{host}", process=f"{100 + number}-0", restart=restart, rank=rank,
            leads=leads, world=self.some(self.world, self.world, -1) if leads else -1,
            role=self.some(*ROLES) if self.roles else "", seed=self.some("7", "7", "7", "8"),
            complete=self.some(*range(9)) > 0, log_bytes=number + 1, log_crc32=number)
        self.shards.append(of_one_unit({"": shard})[""])
        wall = self.some(10**6, 1 << 50)
        self.rows["processes"].append({SHARD: number, "pid": number, "name": self.some(*NAMES),
                                       "complete": 1, "wall_ns": wall, "corrected_ns": wall - 5})
        for operation in self.chance.sample(OPERATIONS, self.some(0, 2, 4)):
            self.rows["operations"].append({
                SHARD: number, "operation": operation, "count": self.some(*FEW),
                "wall_ns": self.some(*FEW) * self.some(1, 1000, 1 << 40)})
        self.add_steps(number)
        self.add_functions(number)

    def add_steps(self, shard):
        count, begin = self.some(0, 3, 6, 6, 6, 6), 0
        for step in range(count):
            if self.chance.random() < 0.05:
                continue
            sums = {name: self.some(0, *FEW) * self.some(1, 1000) for name in CLASSES}
            number = self.some(*[step] * 9, max(step - 1, 0))
            before = {row["step"] for row in self.rows[spec.STEPS] if row[SHARD] == shard}
            row = {SHARD: shard, "step": number, "kind": self.some(*["step"] * 9, "eval"),
                   "level": self.some(*[2] * 9, 0, 1, 3, 4), "begin_ns": begin,
                   "wall_ns": sum(sums.values()), "after_switch": self.some(0, 0, 0, 1),
                   "open": self.some(*[0] * 9, 1)}
            row |= {f"corrected{of}_ns": row["wall_ns"] for of in ("", "_low", "_high")}
            # As of a map: time is not split where steps share their number.
            row |= dict.fromkeys(CLASSES) if number in before else sums
            for other in self.rows[spec.STEPS]:
                if number in before and other[SHARD] == shard and other["step"] == number:
                    other |= dict.fromkeys(CLASSES)
            self.rows[spec.STEPS].append(row)
            begin += row["wall_ns"] + 1

    def add_functions(self, shard):
        for name in self.chance.sample(NAMES, self.some(0, 2, 5)):
            lengths = sorted(self.some(0, 1, 7, *range(8000, 8060)) for _ in range(self.some(*FEW)))
            self.rows["functions"].append({
                SHARD: shard, "layer": "python", "name": name, "count": len(lengths),
                "total_ns": sum(lengths), "self_ns": self.some(None, *FEW), "min_ns": lengths[0],
                "max_ns": lengths[-1]})
            for start, count in collections.Counter(
                    ns if ns < 256 else ns // 32 * 32 for ns in lengths).items():
                self.rows["function_lengths"].append({
                    SHARD: shard, "layer": "python", "name": name, "from_ns": start,
                    "below_ns": start + (1 if start < 256 else 32), "count": count})

    def time(self, near, within):
        """A stamp; no other one is the same, unless the job has ties."""
        while True:
            at = near + self.chance.randint(-within, within)
            if self.ties or at not in self.times:
                self.times.add(at)
                return at
            within += 9

    def add_calls(self):
        now = 10**9
        for restart in {shard.restart for shard in self.shards}:
            here = [n for n, shard in enumerate(self.shards) if shard.restart == restart]
            for meeting in range(self.some(0, 4, 12, 30, 60)):
                now += self.some(300, 5_000, 50_000)
                self.meet(here, now, meeting)
        self.rows[spec.LEDGER].sort(key=lambda row: row["begin_ns"])

    def meet(self, here, now, meeting):
        """Processes that come together, more or less: what is stated of it may be wrong."""
        name, group = self.some(*NAMES[:3] * 6, *NAMES), self.some(*["world"] * 9, *GROUPS)
        kind = "rooted" if "broadcast" in name else "all"
        if "send" in name.lower() or "recv" in name.lower():
            kind = "pair"
        members = [n for n in here if self.chance.random() < 0.9]
        if kind == "pair":
            members = self.chance.sample(members, min(2, len(members)))
        step = self.some(None, *[meeting // 4] * 4)
        seq = self.some(None, meeting, meeting)
        size = self.some(None, None, len(members), self.world)
        bytes_of = self.some(None, 4096, 1 << 61)
        until = self.time(now + 2000, 200)
        for n in members:
            begin = self.time(now, 1000)
            end = max(begin + 1, self.time(until, self.some(0, 90)))
            if self.chance.random() < 0.05:
                end = begin + 1
            other = [self.shards[o].rank for o in members if o != n]
            row = {SHARD: n, "group": group, "name": name, "kind": kind,
                   "place": "host", "seq": seq, "step": step, "operation": self.some(*OPERATIONS),
                   "begin_ns": begin + (self.shards[n].rank % self.hosts) * 10**12,
                   "ns": end - begin, "bytes": bytes_of, "peer": None, "group_size": size}
            if kind == "pair":
                to = name if n == members[0] else self.some("gloo:recv", "ucc:recv", *NAMES)
                row |= {"name": to, "peer": self.some(*other * 9, None, 7, 0)}
            for odd, values in (("name", NAMES), ("place", ["device"]), ("bytes", [None, 8]),
                                ("step", [None, 1]), ("group_size", [None, 2]), ("seq", [3]),
                                ("kind", ["rooted"]), ("group", GROUPS), ("peer", [0, 1])):
                if self.chance.random() < 0.015:
                    row[odd] = self.some(*values)
            self.rows[spec.LEDGER] += [row] * (2 if self.chance.random() < 0.02 else 1)

    def partials(self):
        """One for each process; what its tables are made of is all its own."""
        out = []
        for number, shard in enumerate(self.shards):
            part = Partial(self.name, [shard])
            of_shard = {name: table_of(name, [row for row in self.rows[name]
                                              if row[SHARD] == number]) for name in COLUMNS}
            for name, table in of_shard.items():
                part.tables[name] = (
                    merging.add_up([table.drop_columns([SHARD])], spec.SUMS[name])
                    if name in spec.SUMS else spec.narrow_ledger(with_ordinals(table))
                    if name == spec.LEDGER else table)
            out.append(part)
        return out

    def dealt(self):
        """The partials, merged by some hosts or other."""
        parts = self.partials()
        self.chance.shuffle(parts)
        while parts:
            count = self.some(1, 2, 3)
            yield merging.merge(parts[:count])
            parts = parts[count:]
