"""What HolisticTraceAnalysis (0.6) says of a trace, computed from Crosscut's tables `device_events`
and `steps`: its definitions with its quirks, so that its figures and ours can be compared to the
last digit. The quirks: only events before the last step count where there are two steps or more;
starts are rounded up and ends down to whole microseconds where the file has decimals; what the
library says of waits counts as busy; an idle gap is measured from the end of the event before, not
from the latest end so far; the bound between kernel_wait and other is 30 microseconds."""

import math
import re
import statistics

MEMORY = re.compile(r"(hip)?Memcpy|(hip)?Memset|dma")
COMMUNICATION = re.compile(r"nccl|hip|hccl|.*ncclKernel")
NO_COMPUTATION = re.compile(
    r"nccl|.*Memcpy|.*Memset|.*dma|.*Sync|Stream Wait Event|cuda.*LaunchKernel|.*runFunction|.*hip|"
    r".*job_exe|.*packet|.*pe_exe")
WAITS = ("Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event")
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync",
            "runFunction - job_prep_and_submit_for_execution")
DELAY_US = 30


def kind(name):
    if COMMUNICATION.match(name):
        return "COMMUNICATION"
    if MEMORY.match(name):
        return "MEMORY"
    return "OTHER" if NO_COMPUTATION.match(name) else "COMPUTATION"


class Figures:
    """Of one process. `decimals`: whether the file's times have any."""

    def __init__(self, events, steps, decimals):
        self.decimals = decimals
        last = max((step["begin_ns"] for step in steps), default=None) if len(steps) > 1 else None
        rows = [e for e in events if e["type"] != "wait" or
                (e["name"] in WAITS and e["stream"] >= 0)]
        if last is not None:
            rows = [e for e in rows if e["launch"] and self._us_up(e["launch_begin_ns"]) <
                    self._us_up(last)]
        self.rows = [self._rounded(e) for e in rows]
        self.rows.sort(key=lambda e: e["ts"])
        self.steps = [step["step"] for step in steps
                      if last is None or step["begin_ns"] < last]

    def _us_up(self, ns):
        return math.ceil(ns / 1000)

    def _interval(self, begin, end):
        if self.decimals:  # in doubles: absolute times have steps of 0.25 us
            return self._us_up(begin), math.floor(begin / 1000 + (end - begin) / 1000)
        return begin // 1000, end // 1000

    def _rounded(self, event):
        ts, end = self._interval(event["begin_ns"], event["end_ns"])
        row = dict(event, ts=ts, end=end, dur=end - ts)
        if event["launch"]:
            row["host_ts"], host_end = self._interval(event["launch_begin_ns"],
                                                      event["launch_end_ns"])
            row["host_dur"] = host_end - row["host_ts"]
        return row

    def temporal(self):
        spans = union((row["ts"], row["end"]) for row in self.rows)
        busy = length(spans)
        total = max(row["end"] for row in self.rows) - min(row["ts"] for row in self.rows)
        compute = length(union((row["ts"], row["end"]) for row in self.rows
                               if kind(row["name"]) == "COMPUTATION"))
        return {"idle_time(us)": total - busy, "compute_time(us)": compute,
                "non_compute_time(us)": busy - compute, "kernel_time(us)": total}

    def idle(self):
        """(stream, cause) to microseconds."""
        found = {}
        streams = {}
        for row in self.rows:
            if row["name"] not in WAITS:
                streams.setdefault(row["stream"], []).append(row)
        for stream, rows in streams.items():
            for cause in ("host_wait", "kernel_wait", "other"):
                found[stream, cause] = 0
            for before, row in zip(rows, rows[1:]):
                gap = row["ts"] - before["end"]
                if row.get("host_ts", -1) > before["end"]:
                    cause = "host_wait"
                else:
                    cause = "kernel_wait" if gap < DELAY_US else "other"
                found[stream, cause] += gap
        return found

    def kernel_types(self):
        """Combination of types to microseconds, each instant once."""
        bits = {"COMPUTATION": 1, "COMMUNICATION": 2, "MEMORY": 4}
        edges = []
        for name, bit in bits.items():
            for begin, end in union((row["ts"], row["end"]) for row in self.rows
                                    if kind(row["name"]) == name):
                edges += [(begin, bit), (end, -bit)]
        edges.sort(key=lambda edge: edge[0])
        sums, running = {}, 0
        for (at, bit), (until, _) in zip(edges, edges[1:]):
            running += bit
            if running > 0:
                key = " overlapping ".join(n for n, b in bits.items() if running & b)
                sums[key] = sums.get(key, 0) + until - at
        return {key: ns for key, ns in sums.items() if ns}

    def overlap_percent(self):
        comm = union((r["ts"], r["end"]) for r in self.rows if kind(r["name"]) == "COMMUNICATION")
        comp = union((r["ts"], r["end"]) for r in self.rows if kind(r["name"]) == "COMPUTATION")
        if not comm or not comp:
            return None
        both = length(comm) + length(comp) - length(union(comm + comp))
        return round(100 * both / length(comm), 2)

    def queue(self, ties):
        """Stream to the lengths of its queue, one per change. Of changes at one time HTA takes any
        first: here the launches (`ties` 1) or the starts (-1)."""
        lengths = {}
        for stream in dict.fromkeys(row["stream"] for row in self.rows):
            changes = []
            for row in self.rows:
                launched = row["launch"] in LAUNCHES or row["launch"].startswith("hip")
                if row["stream"] == stream and launched:
                    changes += [(row["host_ts"], 1), (row["ts"], -1)]
            now, found = 0, []
            for _, change in sorted(changes, key=lambda edge: (edge[0], -ties * edge[1])):
                now += change
                found.append(now)
            if found:
                lengths[stream] = found
        return lengths

    def bandwidth(self, ties):
        """Kind of copy to the GB/s at every change, where above 0; `ties` as in queue()."""
        found = {}
        for name in {row["name"].split(" (")[0] for row in self.rows if row["type"] == "copy"}:
            changes = []
            for row in self.rows:
                if row["name"].split(" (")[0] == name and row["bytes_per_s"] != "":
                    gb = float(row["bytes_per_s"]) / 1e9
                    changes += [(row["ts"], gb), (row["ts"] + max(row["dur"], 1), -gb)]
            now, values = 0.0, []
            for _, change in sorted(changes, key=lambda edge: (edge[0], -ties * edge[1])):
                now += change
                if now > 1e-9:
                    values.append(now)
            if values:
                found[name] = values
        return found

    def kernel_sums(self, begin):
        """Microseconds of each kernel whose name begins so."""
        sums = {}
        for row in self.rows:
            if row["name"].startswith(begin):
                sums[row["name"]] = sums.get(row["name"], 0) + row["dur"]
        return set(sums.values())

    def launches(self):
        rows = [row for row in self.rows if row["launch"] in LAUNCHES]
        delays = [max(0, r["ts"] - r["host_ts"] - r["host_dur"]) for r in rows]
        return {"n": len(rows), "cpu_sum": sum(r["host_dur"] for r in rows),
                "gpu_sum": sum(r["dur"] for r in rows), "delay_sum": sum(delays),
                "short": sum(r["dur"] < r["host_dur"] for r in rows),
                "rt_gt50": sum(r["host_dur"] > 50 for r in rows),
                "delay_gt100": sum(delay > 100 for delay in delays)}


def union(intervals):
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def summary(values):
    """As pandas describes: count, mean, standard deviation, least, quartiles, most."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    return [len(values), statistics.fmean(values), statistics.stdev(values), min(values),
            *quartiles, max(values)]
