#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"
#include "src/analyze/time/critical_path.h"
#include "src/analyze/time/metrics.h"
#include "src/analyze/time/tables.h"
#include "src/analyze/time/venn.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "operations",
     .shows = Shows::kTime,
     .description = "wall time by operation, split into host, device, idle",
     .compute = OperationsTable,
     .title = "Operations",
     .explanation = "What the program was doing, as it declared or as the adapters found. Host, "
                    "overlap, device, idle, unknown and control add up to wall: overlap is time "
                    "in which host and device worked at once, host and device are only one of "
                    "them. Corrected is wall without Crosscut's cost.",
     .largest_by = "wall_ns",
     .unfolded = true},
    {.name = "operation_parts",
     .shows = Shows::kTime,
     .description = "what adapters found inside operations that the program declares",
     .compute = OperationPartsTable,
     .title = "Parts of operations",
     .explanation = "Operations that the program declares own their time. What adapters found "
                    "inside them, such as forward and backward, are parts of them. The rows of an "
                    "operation add up to its wall time; without a part: the rest of it.",
     .largest_by = "wall_ns"},
    {.name = "overlap",
     .shows = Shows::kTime,
     .description = "wall time by operation, set of layers and device: sums to the window",
     .compute = OverlapTable,
     .title = "Operations by layer",
     .explanation = "One row for every set of layers that was active at the same instant during "
                    "an operation. The rows of a process add up to its wall time, to the "
                    "nanosecond.",
     .largest_by = "ns"},
    {.name = "functions",
     .shows = Shows::kSpans,
     .description = "spans by layer and name, with percentiles",
     .compute = FunctionsTable,
     .title = "Functions",
     .explanation = "Spans by name. Self is the time in which nothing below ran; total includes "
                    "what it called.",
     .largest_by = "self_ns",
     .unfolded = true},
    {.name = "layers",
     .shows = Shows::kTime,
     .description = "wall time by set of layers and device",
     .compute = LayersTable,
     .title = "Layers",
     .explanation = "The same without operations: one row for every set of layers active at the "
                    "same instant.",
     .largest_by = "ns"},
    {.name = "layer_totals",
     .shows = Shows::kTime,
     .description = "time in which each layer was active, alone or with others",
     .compute = LayerTotalsTable,
     .title = "Layer by layer",
     .explanation = "How long each layer was active at all. Layers overlap, so these add up to "
                    "more than wall.",
     .largest_by = "ns"},
    {.name = "metrics",
     .shows = Shows::kTime,
     .description = "IML's metrics by operation: Python, framework, runtime, device",
     .compute = MetricsTable,
     .title = "Metrics",
     .explanation = "Each instant counts in one class, the first that matches: a device is busy "
                    "(GPU), its runtime is called (CUDA C++), other native code (framework C++), "
                    "Python, other. See docs/rl-metrics.md.",
     .largest_by = "total_ns"},
    {.name = "corrected_metrics",
     .shows = Shows::kTime,
     .description = "the same without Crosscut's own cost",
     .compute = CorrectedMetricsTable,
     .title = "Metrics without Crosscut's own cost",
     .explanation = "The same for the corrected times.",
     .largest_by = "total_ns"},
    {.name = "step_metric_spread",
     .shows = Shows::kBoundary,
     .description = "how each metric spreads over the steps of a kind",
     .compute = StepMetricSpreadTable,
     .title = "Metrics per step",
     .explanation = "How each metric spreads over the recorded steps of a kind, in its own unit.",
     .recorded_by = kBySteps},
    {.name = "venn",
     .shows = Shows::kTime,
     .description = "time in exactly, and in at least, each set: of layers, of host and device",
     .compute = VennTable,
     .title = "Sets that overlap in time",
     .explanation = "Time in exactly these members, and in at least these: of layers, and of host "
                    "and device."},
    {.name = "critical_path",
     .shows = Shows::kTime,
     .description = "what determined when each process ended: sums to the window",
     .compute = CriticalPathTable,
     .title = "Critical path",
     .explanation = "What determined when each process ended, followed backwards from its end. "
                    "The rows add up to the window.",
     .largest_by = "ns"},
    {.name = "samples",
     .shows = Shows::kMarks,
     .description = "what threads were seen doing: Python lines, native functions, waits",
     .compute = SamplesTable,
     .title = "What threads were seen doing",
     .explanation = "From samples of every thread: the Python line that ran, the native function "
                    "that it ran, or what the thread waited for. Each sample stands for the time "
                    "since the one before.",
     .largest_by = "ns",
     .unfolded = true,
     .recorded_by = kBySamples},
    {.name = "step_metrics",
     .shows = Shows::kTime,
     .description = "the same by step",
     .compute = StepMetricsTable,
     .long_one = true,
     .recorded_by = kBySteps},
    {.name = "transitions",
     .shows = Shows::kTime,
     .description = "changes of operation, layers and device: how often, and how long after",
     .compute = TransitionsTable,
     .long_one = true},
    {.name = "layer_entries",
     .shows = Shows::kTime,
     .description = "how often each layer was entered inside an operation",
     .compute = LayerEntriesTable,
     .long_one = true},
    {.name = "critical_path_segments",
     .shows = Shows::kTime,
     .description = "the same in order of time",
     .compute = CriticalPathSegmentsTable,
     .long_one = true},
    {.name = "function_lengths",
     .shows = Shows::kSpans,
     .description = "how many spans of a name took how long, in ranges of 0.8 %",
     .compute = FunctionLengthsTable,
     .long_one = true},
    {.name = "spans",
     .shows = Shows::kSpans,
     .description = "every span of the host's threads",
     .compute = SpansTable,
     .long_one = true},
};

}  // namespace

std::span<const TableEntry> TimeTables() { return kTables; }

}  // namespace crosscut::analyze
