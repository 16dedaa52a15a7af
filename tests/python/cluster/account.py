"""A plain account of what the tables of a cluster should say, by the words of docs/cluster.md:
written for being read, one call after the other, and slow."""

import collections
import re

from crosscut.cluster import spec
from crosscut.cluster.partial import SHARD
from random_job import CLASSES, COLUMNS


def is_pair(call):
    return call["kind"] == "pair" or call["peer"] is not None and call["peer"] >= 0


def way(call):
    """Whether it sends or receives; None: that is not known."""
    sends, receives = (word in call["name"].lower() for word in ("send", "recv"))
    return None if sends == receives else "send" if sends else "recv"


def rest_of(interval, taken):
    """The part of an interval that lies in none of those taken."""
    pieces = [interval]
    for begin, end in taken:
        pieces = [piece for a, b in pieces
                  for piece in ((a, min(b, begin)), (max(a, end), b)) if piece[0] < piece[1]]
    return sum(b - a for a, b in pieces)


def fits(number):
    return number if number is not None and abs(number) < 1 << 63 else None


def total(cells):
    """Their sum; None where one is not known, or it does not fit."""
    cells = list(cells)
    return None if None in cells else fits(sum(cells))


def usual(values):
    """The larger of two in the middle."""
    return sorted(values)[len(values) // 2]


class Meeting:
    """Calls that are one collective, or should be."""

    def __init__(self, calls, here):
        self.calls, self.pair = calls, is_pair(calls[0])
        self.name = next((c["name"] for c in calls if self.pair and way(c) == "send"),
                         calls[0]["name"])
        stated = max((c["group_size"] for c in calls if c["group_size"] is not None), default=0)
        self.stated = stated > 0
        self.size = 2 if self.pair else stated if self.stated else here
        boots = {c["boot"] for c in calls}
        self.one_clock = len(boots) == 1 and boots != {""}
        self.rooted = self.pair or any(c["kind"] == "rooted" for c in calls)
        self.last_begin = max(c["begin_ns"] for c in calls)
        self.first_end = min(c["end"] for c in calls)
        self.shortest = min(c["ns"] for c in calls)
        self.step = min((c["step"] for c in calls if c["step"] is not None), default=None)
        known = {c["bytes"] for c in calls} - {None}
        self.bytes = max(known, default=None)
        self.sizes_differ = len(known) > 1 and not re.search(
            "gather|scatter|all_to_all|alltoall", self.name)
        self.why = self.reason()
        came = {c["rank"]: c["begin_ns"] if self.one_clock else -c["ns"] for c in calls}
        latest, earliest = max(came.values()), min(came.values())
        apart = latest > earliest
        self.last = min(r for r in came if came[r] == latest) if apart else None
        self.first = min(r for r in came if came[r] == earliest) if apart else None
        before = sorted(came.values())[-2:][0]
        self.saved = min(latest - before, max(map(self.waits, calls)))
        self.transfer = (min(max(self.first_end - self.last_begin, 0), self.shortest)
                         if self.one_clock else self.shortest)
        self.waited = 0  # all of its ranks, each instant of a rank once

    def reason(self):
        calls = self.calls
        sent = [c["begin_ns"] for c in calls if way(c) == "send"]
        received = [c["end"] for c in calls if way(c) == "recv"]
        early = self.pair and sent and received and min(sent) > min(received) + 200_000_000
        apart = not self.rooted and self.last_begin > self.first_end + 100_000
        for holds, reason in (
                (calls[0]["group"] == "" and not self.stated and self.size > 2, "group not stated"),
                (self.size == 1, "the group has one rank"),
                (len(calls) == 1, "no other rank of the group has it"),
                (not self.pair and len({c["name"] for c in calls}) > 1, "the names differ"),
                (len({c["among"] for c in calls}) > 1, "the ranks have different numbers of it"),
                (self.sizes_differ, "the sizes differ"),
                (self.one_clock and (early or apart),
                 "the ranks were not in it at the same time"),
                (self.rooted and not self.one_clock,
                 "it has a root, the ranks no common clock")):
            if holds:
                return reason
        return ""

    def left(self, call):
        """Whether it went before the last one came, as who sends may, or has a root."""
        may = self.rooted and self.one_clock and not (self.pair and way(call) == "recv")
        return may and call["end"] < self.last_begin

    def waits(self, call):
        if not self.one_clock:
            return call["ns"] - self.shortest
        return 0 if self.left(call) else min(max(self.last_begin - call["begin_ns"], 0), call["ns"])

    @property
    def whose(self):
        """The rank on which the path goes on."""
        return self.last if self.last is not None else min(c["rank"] for c in self.calls)


class Account:
    """The tables of a job, by the words of docs/cluster.md."""

    def __init__(self, job):
        order = sorted(range(len(job.shards)), key=lambda n: job.shards[n].order)
        self.job, self.shards = job, [job.shards[n] for n in order]
        self.rows = {name: [{**row, SHARD: at} for at, n in enumerate(order)
                            for row in job.rows[name] if row[SHARD] == n] for name in COLUMNS}
        self.leads = [n for n, shard in enumerate(self.shards) if shard.leads]
        self.restarts = sorted({shard.restart for shard in self.shards})
        self.world = {restart: max([1, *(max(s.world, s.rank + 1) for s in self.shards
                                         if s.restart == restart)]) for restart in self.restarts}
        self.aside, self.meetings = [], []
        self.match()
        self.known = [m for m in self.meetings if not m.why]
        self.wait()

    def match(self):
        by_shard = collections.defaultdict(list)
        for row in self.rows[spec.LEDGER]:
            shard = self.shards[row[SHARD]]
            by_shard[row[SHARD]].append({**row, "restart": shard.restart, "rank": shard.rank,
                                         "boot": shard.boot, "end": row["begin_ns"] + row["ns"]})
        states = collections.Counter((self.shards[n].restart, self.shards[n].rank)
                                     for n in by_shard)
        met, here = collections.defaultdict(list), collections.defaultdict(set)
        for number, calls in sorted(by_shard.items()):
            calls.sort(key=lambda call: call["begin_ns"])
            keys = [self.key(call) for call in calls]
            for at, call in enumerate(calls):
                call["among"] = keys.count(keys[at])
                reason = ("" if call["rank"] < 0 else "several processes state the rank"
                          if states[call["restart"], call["rank"]] > 1 else "between two ranks"
                          if is_pair(call) and not self.between_known(call) else None)
                if reason is None:
                    ordinal = keys[:at].count(keys[at])
                    met[call["restart"], *self.among_all(call), ordinal].append(call)
                    here[call["restart"], call["group"], call["place"]].add(number)
                elif reason:
                    self.aside.append((call, reason))
        for calls in met.values():
            place = calls[0]["restart"], calls[0]["group"], calls[0]["place"]
            self.meetings.append(Meeting(calls, len(here[place])))

    def key(self, call):
        """What tells a call from others of its process, but for its ordinal among them."""
        if is_pair(call):
            return call["group"], call["place"], call["step"], way(call), call["peer"]
        return self.among_all(call)

    def among_all(self, call):
        """The same across processes."""
        if is_pair(call):
            ends = call["rank"], call["peer"]
            route = ends if way(call) == "send" else ends[::-1]
            return call["group"], call["place"], "pair", route, call["step"]
        if call["seq"] is not None:
            return call["group"], call["place"], "seq", call["seq"]
        return call["group"], call["place"], call["name"], "step", call["step"]

    def between_known(self, call):
        world = self.world[call["restart"]]
        return (way(call) is not None and call["peer"] is not None
                and 0 <= call["peer"] < world and call["peer"] != call["rank"]
                and call["group_size"] in (None, world))

    def wait(self):
        """What ranks waited: each instant counts once, for the earlier collective."""
        self.waits = collections.defaultdict(lambda: [0, 0, 0])  # collectives, waited, in steps
        of_shard = collections.defaultdict(list)
        for meeting in self.known:
            for call in meeting.calls:
                of_shard[call[SHARD]].append((call["begin_ns"], call["end"], call, meeting))
        for calls in of_shard.values():
            taken = []
            for begin, _, call, meeting in sorted(calls, key=lambda c: c[0]):
                wait = begin, begin + meeting.waits(call)
                ns = rest_of(wait, taken)
                taken.append(wait)
                meeting.waited += ns
                row = self.waits[call["restart"], call["rank"]]
                row[0] += 1
                row[1] += ns
                row[2] += ns if meeting.step is not None else 0

    def made(self, restart, rank):
        """The collectives in which it came last."""
        return [m for m in self.known if m.calls[0]["restart"] == restart and m.last == rank]

    def met(self, restart, rank):
        """The calls of a rank that met others until the end, each with its meeting, by end."""
        out = [(call, m) for m in self.known if len(m.calls) > 1 for call in m.calls
               if (call["restart"], call["rank"]) == (restart, rank) and not m.left(call)]
        return sorted(out, key=lambda one: (one[0]["end"], one[0]["begin_ns"]))

    def saved(self, restart, rank):
        """The time in which only it was missing; and that of collectives in steps."""
        spans, calls = [], self.met(restart, rank)
        for call, meeting in calls:
            if meeting.whose != rank:
                continue
            before = [c["end"] for c, _ in calls if c["end"] <= call["begin_ns"]]
            since = max([call["begin_ns"] - meeting.saved, *before])
            if since < call["begin_ns"]:
                spans.append((since, call["begin_ns"], meeting.step is not None))
        taken, sums = [], [0, 0]
        for begin, end, in_step in sorted(spans):
            ns = rest_of((begin, end), taken)
            taken.append((begin, end))
            sums[0] += ns
            sums[1] += ns * in_step
        return sums

    # The tables.

    def ranks(self):
        for number in self.leads:
            shard = self.shards[number]
            [process] = [row for row in self.rows["processes"] if row[SHARD] == number]
            steps = [row for row in self.rows[spec.STEPS] if row[SHARD] == number]
            kinds = {"": steps, "observed_": [r for r in steps if 1 <= r["level"] <= 3],
                     "marked_": [r for r in steps if r["level"] > 0],
                     "compared_": [r for r in self.compared() if r[SHARD] == number]}
            waits = self.waits.get((shard.restart, shard.rank))
            made = sum(m.waited for m in self.made(shard.restart, shard.rank))
            yield {
                "rank": shard.rank, "restart": shard.restart, "host": shard.host,
                "process": shard.process, "world": None if shard.world < 0 else shard.world,
                "role": shard.role, "pid": process["pid"], "name": process["name"],
                "wall_ns": process["wall_ns"], "corrected_ns": process["corrected_ns"],
                "complete": shard.complete,
                **{f"{kind}steps": len(of) for kind, of in kinds.items()},
                **{f"{kind}{'' if kind == 'compared_' else 'steps_'}ns":
                   sum(r["wall_ns"] for r in of) for kind, of in kinds.items()},
                **{name: total(r[name] for r in kinds["observed_"]) for name in CLASSES},
                "collectives": waits and waits[0], "waited_ns": waits and waits[1],
                "made_wait_ns": waits and made}

    def compared(self):
        """The steps that all ranks of a role have."""
        out = []
        for restart, role in {(self.shards[n].restart, self.shards[n].role) for n in self.leads}:
            those = [n for n in self.leads
                     if (self.shards[n].restart, self.shards[n].role) == (restart, role)]
            every = sorted({self.shards[n].rank for n in those})
            common = collections.defaultdict(list)
            for row in self.rows[spec.STEPS]:
                if row[SHARD] in those:
                    common[row["step"], row["kind"]].append(row)
            alike = [rows for rows in common.values()
                     if sorted(self.shards[r[SHARD]].rank for r in rows) == every
                     and len({r["level"] for r in rows}) == 1 and 1 <= rows[0]["level"] <= 3
                     and not any(r["open"] or r["device_ns"] is None for r in rows)]
            usual_ones = [rows for rows in alike if not any(r["after_switch"] for r in rows)]
            out += [row for rows in usual_ones or alike for row in rows]
        return out

    def excesses(self):
        """(restart, rank, kind, name, ns, median of the others, whether it is unusual)."""
        of_role = collections.defaultdict(set)
        figures = collections.defaultdict(collections.Counter)
        for n in self.leads:
            shard = self.shards[n]
            of_role[shard.restart, shard.role].add(shard.rank)
        for row in self.compared():
            shard = self.shards[row[SHARD]]
            for name in ("wall_ns", *CLASSES):
                kind = "wall" if name == "wall_ns" else "class"
                figures[shard.restart, shard.role, kind, name.removesuffix("_ns")][
                    shard.rank] += row[name]
        for row in self.rows["operations"]:
            shard = self.shards[row[SHARD]]
            if shard.leads and row["operation"]:
                figures[shard.restart, shard.role, "operation", row["operation"]][
                    shard.rank] += row["wall_ns"]
        for (restart, role, kind, name), by_rank in figures.items():
            everyone = of_role[restart, role]
            every = [by_rank[rank] for rank in everyone]
            spread = usual([abs(ns - usual(every)) for ns in every])
            for rank in everyone:
                others = [by_rank[other] for other in everyone if other != rank]
                if others and by_rank[rank] > 0:
                    median = usual(others)
                    limit = median + 5 * spread + median // 10
                    yield (restart, rank, kind, name, by_rank[rank], median,
                           len(every) >= 3 and by_rank[rank] > limit)

    def stragglers(self):
        hosts = {}
        for n in self.leads:
            shard = self.shards[n]
            key = shard.restart, shard.rank
            hosts[key] = min(hosts.get(key, (shard.host, shard.role)), (shard.host, shard.role))
        grew = {}
        for restart, rank, kind, name, ns, median, _ in self.excesses():
            if kind != "wall" and ns > median:
                best = grew.setdefault((restart, rank, kind), (ns - median, name))
                grew[restart, rank, kind] = min(best, (ns - median, name),
                                                key=lambda one: (-one[0], one[1]))
        rows = []
        for (restart, rank), (count, waited, in_steps) in self.waits.items():
            made = self.made(restart, rank)
            saved, saved_in_steps = self.saved(restart, rank)
            sums = [sum(row[at] for key, row in self.waits.items() if key[0] == restart)
                    for at in (1, 2)]
            made_ns = [sum(m.waited for m in made),
                       sum(m.waited for m in made if m.step is not None)]
            at = 1 if sums[1] else 0
            of_class = grew.get((restart, rank, "class"), (None, None))
            of_operation = grew.get((restart, rank, "operation"), (None, None))
            host, role = hosts.get((restart, rank), (None, None))
            rows.append({
                "rank": rank, "restart": restart, "host": host, "role": role, "collectives": count,
                "waited_ns": waited, "waited_in_steps_ns": in_steps, "last_count": len(made),
                "made_wait_ns": made_ns[0], "made_wait_in_steps_ns": made_ns[1],
                "saved_ns": saved, "saved_in_steps_ns": saved_in_steps,
                "share_ppm": made_ns[at] * 10**6 // sums[at] if sums[at] else 0,
                "grew_class": of_class[1], "grew_class_ns": of_class[0],
                "grew_operation": of_operation[1], "grew_operation_ns": of_operation[0]})
        return sorted(rows, key=lambda r: (-r["made_wait_in_steps_ns"], -r["made_wait_ns"],
                                           r["restart"], r["rank"]))

    def straggler_steps(self):
        steps = collections.defaultdict(collections.Counter)
        for m in self.known:
            if m.step is not None and m.last is not None:
                steps[m.step, m.calls[0]["restart"]][m.last] += m.waited
        for (step, restart), made in sorted(steps.items()):
            most, rank = min((-ns, rank) for rank, ns in made.items())
            if most:
                yield {"step": step, "rank": rank, "restart": restart, "made_wait_ns": -most,
                       "waited_ns": sum(made.values())}

    def collectives(self):
        lacking = {restart for _, _, restart, _ in self.missing_rows()}
        groups = collections.defaultdict(list)
        for m in self.known:
            first = m.calls[0]
            groups[first["restart"], first["group"], first["place"], m.name].append(m)
        rows = []
        for (restart, group, place, name), of in groups.items():
            firsts = collections.Counter(m.first for m in of if m.first is not None)
            lasts = collections.Counter(m.last for m in of if m.last is not None)
            often = [min(((-n, rank) for rank, n in some.items()), default=(None, None))
                     for some in (firsts, lasts)]
            known = all(m.stated for m in of) or restart not in lacking
            bytes_of, transfer = total(m.bytes for m in of), sum(m.transfer for m in of)
            rows.append({
                "restart": restart, "group": group, "place": place, "name": name, "count": len(of),
                "ranks": max(len(m.calls) for m in of), "group_size": max(m.size for m in of),
                "incomplete_count": sum(len(m.calls) < m.size for m in of) if known else None,
                "bytes": bytes_of, "transfer_ns": transfer, "waited_ns": sum(m.waited for m in of),
                "first_rank": often[0][1], "last_rank": often[1][1],
                "last_count": often[1][0] and -often[1][0],
                "bytes_per_s": fits(bytes_of * 10**9 // transfer)
                if transfer and bytes_of is not None else None})
        return sorted(rows, key=lambda r: (-r["waited_ns"], r["restart"], r["group"], r["place"],
                                           r["name"]))

    def unmatched(self):
        counts = collections.defaultdict(lambda: [None, 0])
        for call, reason in self.aside:
            counts[call["restart"], call["group"], call["place"], call["name"], reason][1] += 1
        for m in self.meetings:
            if m.why:
                first = m.calls[0]
                row = counts[first["restart"], first["group"], first["place"], m.name, m.why]
                row[0] = (row[0] or 0) + 1
                row[1] += len(m.calls)
        return [dict(zip(("restart", "group", "place", "name", "reason", "collectives", "calls"),
                         (*key, *row))) for key, row in sorted(counts.items())]

    def cluster_path(self):
        rows = collections.defaultdict(lambda: [0, 0])
        for restart in self.restarts:
            self.walk(restart, rows)
        hosts = {}
        for n in self.leads:
            shard = self.shards[n]
            key = shard.restart, shard.rank
            hosts[key] = min(hosts.get(key, shard.host), shard.host)
        whole = collections.Counter()
        for key, (_, ns) in rows.items():
            whole[key[0]] += ns
        return [{"restart": key[0], "rank": key[1], "host": hosts.get(key[:2]), "kind": key[2],
                 "operation": key[3], "count": count, "ns": ns,
                 "share_ppm": ns * 10**6 // max(whole[key[0]], 1)}
                for key, (count, ns) in sorted(rows.items(),
                                               key=lambda r: (r[0][0], -r[1][1], r[0]))]

    def walk(self, restart, rows):
        """Back from the collective that the lowest rank left last."""
        there = sorted({c["rank"] for m in self.known if len(m.calls) > 1 for c in m.calls
                        if c["restart"] == restart and not m.left(c)})
        if not there:
            return
        call, meeting = self.met(restart, there[0])[-1]
        now = left = call["end"]
        boot, seen = call["boot"], []
        while meeting not in seen:
            seen.append(meeting)
            rank = meeting.whose
            calls = self.met(restart, rank)
            [at] = [n for n, (_, m) in enumerate(calls) if m is meeting]
            call = calls[at][0]
            if boot == "" or boot != call["boot"]:
                now += call["end"] - left
            before = calls[at - 1] if at else None
            steps = [("transfer", call["begin_ns"])]
            if before:
                steps.append(("work", before[0]["end"]))
            for kind, until in steps:
                row = rows[restart, rank, kind, call["operation"]]
                row[0] += 1
                row[1] += max(now - until, 0)
                now = min(now, until)
            if not before:
                return
            boot, left, meeting = call["boot"], before[0]["end"], before[1]

    def operation_spread(self):
        by_rank = collections.defaultdict(lambda: [0, 0])
        for row in self.rows["operations"]:
            shard = self.shards[row[SHARD]]
            if shard.leads:
                of = by_rank[shard.restart, row["operation"], shard.rank, shard.host]
                of[0] += row["count"]
                of[1] += row["wall_ns"]
        groups = collections.defaultdict(list)
        for (restart, operation, rank, host), (count, ns) in by_rank.items():
            groups[restart, operation].append((ns, rank, host, count))
        rows = []
        for (restart, operation), of in groups.items():
            each = sorted(ns for ns, *_ in of)
            worst = min(of, key=lambda one: (-one[0], one[1], one[2]))
            rows.append({
                "restart": restart, "operation": operation, "ranks": len(of),
                "count": sum(one[3] for one in of), "total_ns": sum(each), "min_ns": each[0],
                "p50_ns": each[(len(of) + 1) // 2 - 1], "p99_ns": each[-(len(of) // 100) - 1],
                "max_ns": each[-1], "worst_rank": worst[1], "worst_host": worst[2]})
        rows.sort(key=lambda r: (-r["total_ns"], r["restart"], r["operation"]))
        return [{**row, "total_ns": fits(row["total_ns"])} for row in rows]

    def rank_outliers(self):
        hosts = {(self.shards[n].restart, self.shards[n].rank): self.shards[n].host
                 for n in reversed(self.leads)}
        rows = sorted((-(ns - median), restart, rank, kind, name, ns, median)
                      for restart, rank, kind, name, ns, median, unusual in self.excesses()
                      if unusual)
        return [{"rank": rank, "restart": restart, "host": hosts[restart, rank], "kind": kind,
                 "name": name, "ns": ns, "median_ns": median, "more_ns": -more}
                for more, restart, rank, kind, name, ns, median in rows[:50]]

    def missing_rows(self):
        for restart in self.restarts:
            there = {self.shards[n].rank for n in self.leads
                     if self.shards[n].restart == restart}
            absent = [r for r in range(self.world[restart]) if r not in there] if there else []
            while absent:
                first = last = absent.pop(0)
                while absent and absent[0] == last + 1:
                    last = absent.pop(0)
                yield first, last, restart, self.world[restart]

    def missing(self):
        return [dict(zip(("first_rank", "last_rank", "restart", "world"), row))
                for row in self.missing_rows()]

    def functions(self):
        sums, lengths = {}, collections.defaultdict(collections.Counter)
        for row in self.rows["functions"]:
            of = sums.setdefault((row["layer"], row["name"]), {
                "count": [], "total_ns": [], "self_ns": [], "min_ns": [], "max_ns": []})
            for name, cells in of.items():
                cells.append(row[name])
        for row in self.rows["function_lengths"]:
            middle = row["from_ns"] + (row["below_ns"] - row["from_ns"] - 1) // 2
            lengths[row["layer"], row["name"]][middle] += row["count"]
        for (layer, name), of in sums.items():
            each = sorted(lengths[layer, name].elements())
            least, most = min(of["min_ns"]), max(of["max_ns"])
            of_rank = {50: (len(each) + 1) // 2, 99: (len(each) * 99 + 99) // 100}
            yield {"layer": layer, "name": name, **{
                column: total(of[column]) for column in ("count", "total_ns", "self_ns")},
                "min_ns": least, "max_ns": most,
                **{f"p{part}_ns": min(max(each[at - 1], least), most)
                   for part, at in of_rank.items()}}

    def gaps(self):
        """What only shows when all ranks are together."""
        leads = [self.shards[n] for n in self.leads]
        out = [] if leads else ["no process states a rank: nothing is compared"]
        states = collections.Counter((shard.restart, shard.rank) for shard in leads)
        out += [f"rank {rank}: several processes state it (restart {restart})"
                for (restart, rank), count in states.items() if count > 1]
        seeds = {shard.seed for shard in leads}
        if len(seeds) > 1:
            out.append(f"the ranks have {len(seeds)} seeds, so levels of steps differ between "
                       "them; steps are compared where they agree")
        out += [f"{f'rank {s.rank}' if s.leads else f'process {s.process}'}: it did not end by "
                f"itself (host {s.host}): mapped to its last word"
                for s in self.shards if not s.complete]
        compared = self.compared()
        for restart, role in {(shard.restart, shard.role) for shard in leads}:
            those = [n for n in self.leads
                     if (self.shards[n].restart, self.shards[n].role) == (restart, role)]
            of_rank = collections.Counter({self.shards[n].rank: 0 for n in those})
            for row in self.rows[spec.STEPS]:
                if row[SHARD] in those:
                    of_rank[self.shards[row[SHARD]].rank] += 1
            least, most = min(of_rank.values()), max(of_rank.values())
            common = len({row["step"] for row in compared if row[SHARD] in those})
            if least != most:
                out.append(f"ranks{f' of {role}' if role else ''} have {least} to {most} steps; "
                           f"the {common} that all have are compared")
        return sorted(set(out))
