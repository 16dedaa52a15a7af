"""What a partial holds: which tables of `crosscut table`, and how those of two runs become one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import pyarrow as pa

VERSION = 4  # of the partial; another one is mapped again, never mixed

BATCH_ROWS = 1 << 16  # of a member's record batches: it must not depend on what was merged


@dataclass(frozen=True)
class Sums:
    """A table without processes: rows that agree in `key` are added up, column by column."""

    key: tuple[str, ...]
    add: tuple[str, ...]
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()


# Rows of one process each, as they are, in their order. Not here, because they grow with what was
# recorded: spans, device_events, device_waits, critical_path_segments, samples, operator_stacks,
# memory_events, memory_timeline, utilization, step_metrics, step_operators, step_layers (`steps`
# has its sums), transitions, windows. Nor kernel_metrics, whose means do not add up.
UNION = (
    "processes", "operations", "operation_parts", "overlap", "layers", "layer_totals", "metrics",
    "corrected_metrics", "step_metric_spread", "venn", "critical_path", "layer_entries",
    "phases", "progress", "threads", "thread_lives", "process_waits", "drops", "clocks",
    "verdict", "step_causes", "places", "part_work", "beside_steps",
    "periodic_steps", "step_changes", "findings",
    "window_parts", "step_overlap", "outliers", "step_summary", "step_kinds", "requests",
    "overhead_check", "overhead_levels", "device_by_launch", "device_timeline",
    "temporal_breakdown", "device_utilization", "kernel_types", "comm_overlap", "idle_causes",
    "launches",
    "queue_length", "copies", "memory", "memory_peak", "memory_operators", "memory_leaks",
    "memory_failures", "memory_growth", "modules", "backward")

# Rows about all processes of a run at once: they stand with its first process.
OF_RUN = ("concurrency", "gaps")

# What the ledger of collectives is made of: the table `collective_calls`, without its process.
LEDGER = "collective_calls"
LEDGER_TEXTS = ("group", "name", "kind", "place", "operation")
LEDGER_COLUMNS = ("group", "name", "kind", "place", "seq", "step", "ordinal", "among",
                  "operation", "begin_ns", "ns", "bytes", "peer", "group_size")
# Codes of texts take less room: there are many rows. Numbers are what files state, of any size.
LEDGER_TYPES = {
    **{name: pa.int64() for name in LEDGER_COLUMNS},
    **{name: pa.dictionary(pa.int32(), pa.string()) for name in LEDGER_TEXTS}}
CLOCK_ERROR_NS = 100_000  # that stamps of two processes of one host may be apart
STEPS = "steps"
NOTES = "notes"  # sentences under the tables of a run: process, table, note

SUMS: dict[str, Sums] = {
    "functions": Sums(("layer", "name"), ("count", "total_ns", "self_ns"), ("min_ns",),
                      ("max_ns",)),
    "function_lengths": Sums(("layer", "name", "from_ns", "below_ns"), ("count",)),
    "kernels": Sums(("name", "type"), ("count", "total_ns"), ("min_ns",), ("max_ns",)),
    "operators": Sums(("layer", "name", "overload", "input_dims", "input_types"),
                      ("count", "total_ns", "self_ns", "self_device_ns", "flops",
                       "name_total_ns", "overload_total_ns", "dims_total_ns")),
    "sequences": Sums(("operator", "kernels", "length"), ("count", "host_ns", "device_ns")),
    "overhead": Sums(("probe",), ("count", "inside_ns", "outside_ns", "total_ns", "low_ns",
                                  "high_ns", "subtracted_ns")),
    "sources": Sums(("name", "version", "state", "message"), ("processes",)),
}

# The classes of a step's time: each instant is in the first one that matches. They add up to its
# wall time. A class is named by the layers of which one was active; "device" is a busy device.
STEP_CLASSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("device_ns", ()),
    ("comm_ns", ("comm",)),
    ("runtime_ns", ("runtime",)),
    ("data_ns", ("data", "simulator")),
    ("framework_ns", ("framework", "native")),
    ("python_ns", ("python",)),
    ("idle_ns", ("idle",)),
    ("other_ns", ()),
)
STEP_COLUMNS = ("step", "kind", "level", "begin_ns", "wall_ns", "corrected_ns", "corrected_low_ns",
                "corrected_high_ns", "after_switch", "open")


def narrow_ledger(table: pa.Table) -> pa.Table:
    """The ledger's columns, in their types."""
    columns = [table.column("shard")]
    for name, kind in LEDGER_TYPES.items():
        column = table.column(name)
        columns.append(column.dictionary_encode() if name in LEDGER_TEXTS else column.cast(kind))
    return pa.table(columns, names=["shard", *LEDGER_TYPES])


def text() -> str:
    """The specification as canonical JSON: what `digest` is of."""
    return json.dumps({
        "version": VERSION, "batch_rows": BATCH_ROWS, "union": sorted(UNION),
        "of_run": sorted(OF_RUN), "ledger": LEDGER,
        "ledger_columns": LEDGER_COLUMNS,
        "sums": {name: asdict(sums) for name, sums in SUMS.items()},
        "step_classes": STEP_CLASSES, "step_columns": STEP_COLUMNS,
    }, sort_keys=True, separators=(",", ":"))


def digest() -> str:
    """SHA-256 of the specification, in hexadecimal: partials of another one are not merged."""
    return hashlib.sha256(text().encode()).hexdigest()
