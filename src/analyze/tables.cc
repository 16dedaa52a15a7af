#include "src/analyze/tables.h"

#include "src/analyze/collective_table.h"
#include "src/analyze/columns.h"
#include "src/analyze/concurrency.h"
#include "src/analyze/critical_path.h"
#include "src/analyze/device_tables.h"
#include "src/analyze/device_utilization.h"
#include "src/analyze/device_waits.h"
#include "src/analyze/findings.h"
#include "src/analyze/functions.h"
#include "src/analyze/launch_tables.h"
#include "src/analyze/launches.h"
#include "src/analyze/memory_operators.h"
#include "src/analyze/memory_table.h"
#include "src/analyze/metrics.h"
#include "src/analyze/module_tables.h"
#include "src/analyze/operator_stacks.h"
#include "src/analyze/operator_table.h"
#include "src/analyze/overhead_tables.h"
#include "src/analyze/overlap_tables.h"
#include "src/analyze/phases.h"
#include "src/analyze/process_tables.h"
#include "src/analyze/sample_table.h"
#include "src/analyze/sequence_table.h"
#include "src/analyze/span_table.h"
#include "src/analyze/step_operators.h"
#include "src/analyze/step_summary.h"
#include "src/analyze/step_tables.h"
#include "src/analyze/table_notes.h"
#include "src/analyze/thread_tables.h"
#include "src/analyze/transitions.h"
#include "src/analyze/utilization.h"
#include "src/analyze/venn.h"

namespace crosscut::analyze {
namespace {

Table GapsTable(const trace::Trace& trace, const Context& context) {
  Texts message;
  for (const std::string& sentence : Gaps(trace, context)) message.push_back(sentence);
  return MakeTable("gaps", MakeColumn("message", message));
}

constexpr TableEntry kTables[] = {
    {"gaps", Shows::kFacts, "what is missing, repaired or unchecked, in sentences", GapsTable},
    {"findings", Shows::kFacts, "what stands out, in sentences, and the tables that say so",
     FindingsTable},
    {"processes", Shows::kFacts, "each process, its window and how it ended", ProcessesTable},
    {"windows", Shows::kFacts, "when each process recorded: its sessions, their steps",
     WindowsTable, true},
    {"operations", Shows::kTime, "wall time by operation, split into host, device, idle",
     OperationsTable},
    {"overlap", Shows::kTime,
     "wall time by operation, set of layers and device: sums to the window", OverlapTable},
    {"layers", Shows::kTime, "wall time by set of layers and device", LayersTable},
    {"metrics", Shows::kTime, "IML's metrics by operation: Python, framework, runtime, device",
     MetricsTable},
    {"corrected_metrics", Shows::kTime, "the same without Crosscut's own cost",
     CorrectedMetricsTable},
    {"step_metrics", Shows::kTime, "the same by step", StepMetricsTable, true},
    {"step_metric_spread", Shows::kBoundary, "how each metric spreads over the steps of a kind",
     StepMetricSpreadTable},
    {"transitions", Shows::kTime,
     "changes of operation, layers and device: how often, and how long then", TransitionsTable,
     true},
    {"layer_entries", Shows::kTime, "how often each layer was entered inside an operation",
     LayerEntriesTable, true},
    {"venn", Shows::kTime,
     "time in exactly, and in at least, each set of layers; of host and device", VennTable},
    {"phases", Shows::kTime, "each phase of a process, split into host, device, idle", PhasesTable},
    {"utilization", Shows::kTime, "CPU, memory and devices of each process over time",
     UtilizationTable},
    {"progress", Shows::kFacts, "what the whole program would take, from how far it came",
     ProgressTable},
    {"threads", Shows::kTime, "each thread's life by its own operation and layer", ThreadsTable},
    {"thread_lives", Shows::kFacts, "each thread's observed life", ThreadLivesTable},
    {"device_by_launch", Shows::kBoundary, "device time by the operations that launched it",
     DeviceByLaunchTable},
    {"device_timeline", Shows::kBoundary,
     "what devices did, computation first, then what it did not hide", DeviceTimelineTable},
    {"temporal_breakdown", Shows::kBoundary, "devices: computing, otherwise busy, idle",
     TemporalBreakdownTable},
    {"device_utilization", Shows::kBoundary,
     "how busy devices were, and how busy sampling would say they were", DeviceUtilizationTable},
    {"idle_causes", Shows::kBoundary, "why streams had nothing to do, by stream", IdleCausesTable},
    {"kernels", Shows::kBoundary, "work on devices by name", KernelsTable},
    {"kernel_types", Shows::kBoundary, "work on devices by the types that went on at once",
     KernelTypesTable},
    {"comm_overlap", Shows::kBoundary,
     "communication on devices, and how much of it computation hid", CommOverlapTable},
    {"launches", Shows::kBoundary,
     "calls that launched work: their time, its time, the delay between", LaunchesTable},
    {"queue_length", Shows::kBoundary, "launches that waited for their stream", QueueLengthTable},
    {"copies", Shows::kBoundary, "copies and memory sets by kind, with bandwidth", CopiesTable},
    {"device_events", Shows::kBoundary, "each event on a device, with the call that launched it",
     DeviceEventsTable, true},
    {"device_waits", Shows::kBoundary, "calls that waited for a device, and for which work",
     DeviceWaitsTable, true},
    {"sequences", Shows::kOperators, "kernels that operators launch in a row, again and again",
     SequencesTable},
    {"operator_stacks", Shows::kSpans,
     "operators by the Python lines that called them, and what they launched", OperatorStacksTable,
     true},
    {"stragglers", Shows::kBoundary, "which process the others wait for in collectives",
     StragglersTable},
    {"critical_path", Shows::kTime, "what the end of each process hung on: sums to the window",
     CriticalPathTable},
    {"critical_path_segments", Shows::kTime, "the same in order of time", CriticalPathSegmentsTable,
     true},
    {"memory", Shows::kEverything, "what was allocated and freed, by device, and the peak",
     MemoryTable},
    {"memory_peak", Shows::kEverything, "what was held at the peak, by whose work it was made",
     MemoryPeakTable},
    {"memory_operators", Shows::kEverything, "allocations and frees by operator",
     MemoryOperatorsTable},
    {"memory_leaks", Shows::kEverything, "what was made in a step and still held two steps later",
     MemoryLeaksTable},
    {"memory_failures", Shows::kEverything, "allocations that failed", MemoryFailuresTable},
    {"memory_timeline", Shows::kEverything, "memory over time", MemoryTimelineTable},
    {"memory_events", Shows::kEverything, "each allocation and free", MemoryEventsTable, true},
    {"layer_totals", Shows::kTime, "time in which each layer was active, alone or with others",
     LayerTotalsTable},
    {"concurrency", Shows::kTime, "which processes worked at once, on host and devices",
     ConcurrencyTable},
    {"step_summary", Shows::kFacts, "steps by kind: how many, how long, how far apart",
     StepSummaryTable},
    {"steps", Shows::kFacts, "each step and what it was made of", StepsTable},
    {"step_kinds", Shows::kFacts, "steps that are alike, and at which levels they were recorded",
     StepKindsTable},
    {"step_operators", Shows::kSpans,
     "operators and functions per step, scaled from the steps that show them", StepOperatorsTable},
    {"step_layers", Shows::kTime, "each step by set of layers", StepLayersTable},
    {"outliers", Shows::kFacts, "steps that took unusually long, and in what", OutliersTable},
    {"functions", Shows::kSpans, "spans by layer and name, with percentiles", FunctionsTable},
    {"samples", Shows::kBoundary,
     "what threads were seen doing: Python lines, native functions, waits", SamplesTable},
    {"spans", Shows::kSpans, "every span of the host's threads", SpansTable, true},
    {"operators", Shows::kOperators, "operators by what they were called with: calls, time, FLOPs",
     OperatorsTable},
    {"modules", Shows::kOperators,
     "modules of a network: their calls, and the backward time that they caused", ModulesTable},
    {"backward", Shows::kOperators,
     "backward time by the forward operator, module and operation that caused it", BackwardTable},
    {"overhead", Shows::kFacts, "what Crosscut cost, by probe", OverheadTable},
    {"overhead_check", Shows::kFacts, "profiled steps against control steps", OverheadCheckTable},
    {"overhead_levels", Shows::kFacts, "steps of each level of the plan against control steps",
     OverheadLevelsTable},
    {"drops", Shows::kFacts, "events lost, where and why", DropsTable},
    {"sources", Shows::kFacts, "where spans came from", SourcesTable},
    {"clocks", Shows::kFacts, "clocks and their errors", ClocksTable},
};

}  // namespace

std::span<const TableEntry> TableList() { return kTables; }

Table TableEntry::Make(const trace::Trace& trace, const Context& context) const {
  Table table = without_notes(trace, context);
  for (Column& column : table.columns) column.ShrinkToFit();
  for (std::string& note : StepNotes(trace, context, shows)) {
    table.notes.push_back(std::move(note));
  }
  return table;
}

Result<Table> ComputeTable(const trace::Trace& trace, const Context& context,
                           std::string_view name) {
  std::string known;
  for (const TableEntry& entry : kTables) {
    if (name == entry.name) return entry.Make(trace, context);
    known += known.empty() ? entry.name : std::string(", ") + entry.name;
  }
  return Status::NotFound("no table " + std::string(name) + "; there are " + known);
}

}  // namespace crosscut::analyze
