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
#include "src/analyze/thread_tables.h"
#include "src/analyze/transitions.h"
#include "src/analyze/utilization.h"
#include "src/analyze/venn.h"

namespace crosscut::analyze {
namespace {

Table GapsTable(const trace::Trace& trace, const Context& context) {
  Texts message = Gaps(trace, context);
  return MakeTable("gaps", MakeColumn("message", message));
}

constexpr TableEntry kTables[] = {
    {"gaps", "what is missing, repaired or unchecked, in sentences", GapsTable},
    {"findings", "what stands out, in sentences, and the tables that say so", FindingsTable},
    {"processes", "each process, its window and how it ended", ProcessesTable},
    {"windows", "when each process recorded: its sessions, their steps", WindowsTable, true},
    {"operations", "wall time by operation, split into host, device, idle", OperationsTable},
    {"overlap", "wall time by operation, set of layers and device: sums to the window",
     OverlapTable},
    {"layers", "wall time by set of layers and device", LayersTable},
    {"metrics", "IML's metrics by operation: Python, framework, runtime, device", MetricsTable},
    {"corrected_metrics", "the same without Crosscut's own cost", CorrectedMetricsTable},
    {"step_metrics", "the same by step", StepMetricsTable, true},
    {"step_metric_spread", "how each metric spreads over the steps of a kind",
     StepMetricSpreadTable},
    {"transitions", "changes of operation, layers and device: how often, and how long then",
     TransitionsTable, true},
    {"layer_entries", "how often each layer was entered inside an operation", LayerEntriesTable,
     true},
    {"venn", "time in exactly, and in at least, each set of layers; of host and device", VennTable},
    {"phases", "each phase of a process, split into host, device, idle", PhasesTable},
    {"utilization", "CPU, memory and devices of each process over time", UtilizationTable},
    {"progress", "what the whole program would take, from how far it came", ProgressTable},
    {"threads", "each thread's life by its own operation and layer", ThreadsTable},
    {"thread_lives", "each thread's observed life", ThreadLivesTable},
    {"device_by_launch", "device time by the operations that launched it", DeviceByLaunchTable},
    {"device_timeline", "what devices did, computation first, then what it did not hide",
     DeviceTimelineTable},
    {"temporal_breakdown", "devices: computing, otherwise busy, idle", TemporalBreakdownTable},
    {"device_utilization", "how busy devices were, and how busy sampling would say they were",
     DeviceUtilizationTable},
    {"idle_causes", "why streams had nothing to do, by stream", IdleCausesTable},
    {"kernels", "work on devices by name", KernelsTable},
    {"kernel_types", "work on devices by the types that went on at once", KernelTypesTable},
    {"comm_overlap", "communication on devices, and how much of it computation hid",
     CommOverlapTable},
    {"launches", "calls that launched work: their time, its time, the delay between",
     LaunchesTable},
    {"queue_length", "launches that waited for their stream", QueueLengthTable},
    {"copies", "copies and memory sets by kind, with bandwidth", CopiesTable},
    {"device_events", "each event on a device, with the call that launched it", DeviceEventsTable,
     true},
    {"device_waits", "calls that waited for a device, and for which work", DeviceWaitsTable, true},
    {"sequences", "kernels that operators launch in a row, again and again", SequencesTable},
    {"operator_stacks", "operators by the Python lines that called them, and what they launched",
     OperatorStacksTable, true},
    {"stragglers", "which process the others wait for in collectives", StragglersTable},
    {"critical_path", "what the end of each process hung on: sums to the window",
     CriticalPathTable},
    {"critical_path_segments", "the same in order of time", CriticalPathSegmentsTable, true},
    {"memory", "what was allocated and freed, by device, and the peak", MemoryTable},
    {"memory_peak", "what was held at the peak, by whose work it was made", MemoryPeakTable},
    {"memory_operators", "allocations and frees by operator", MemoryOperatorsTable},
    {"memory_leaks", "what was made in a step and still held two steps later", MemoryLeaksTable},
    {"memory_failures", "allocations that failed", MemoryFailuresTable},
    {"memory_timeline", "memory over time", MemoryTimelineTable},
    {"memory_events", "each allocation and free", MemoryEventsTable, true},
    {"layer_totals", "time in which each layer was active, alone or with others", LayerTotalsTable},
    {"concurrency", "which processes worked at once, on host and devices", ConcurrencyTable},
    {"step_summary", "steps by kind: how many, how long, how far apart", StepSummaryTable},
    {"steps", "each step and what it was made of", StepsTable},
    {"step_kinds", "steps that are alike, and at which levels they were recorded", StepKindsTable},
    {"step_operators", "operators and functions per step, scaled from the steps that show them",
     StepOperatorsTable},
    {"step_layers", "each step by set of layers", StepLayersTable},
    {"outliers", "steps that took unusually long, and in what", OutliersTable},
    {"functions", "spans by layer and name, with percentiles", FunctionsTable},
    {"samples", "what threads were seen doing: Python lines, native functions, waits",
     SamplesTable},
    {"spans", "every span of the host's threads", SpansTable, true},
    {"operators", "operators by what they were called with: calls, time, FLOPs", OperatorsTable},
    {"modules", "modules of a network: their calls, and the backward time that they caused",
     ModulesTable},
    {"backward", "backward time by the forward operator, module and operation that caused it",
     BackwardTable},
    {"overhead", "what Crosscut cost, by probe", OverheadTable},
    {"overhead_check", "profiled steps against control steps", OverheadCheckTable},
    {"overhead_levels", "steps of each level of the plan against control steps",
     OverheadLevelsTable},
    {"drops", "events lost, where and why", DropsTable},
    {"sources", "where spans came from", SourcesTable},
    {"clocks", "clocks and their errors", ClocksTable},
};

}  // namespace

std::span<const TableEntry> TableList() { return kTables; }

Result<Table> ComputeTable(const trace::Trace& trace, const Context& context,
                           std::string_view name) {
  std::string known;
  for (const TableEntry& entry : kTables) {
    if (name == entry.name) return entry.make(trace, context);
    known += known.empty() ? entry.name : std::string(", ") + entry.name;
  }
  return Status::NotFound("no table " + std::string(name) + "; there are " + known);
}

}  // namespace crosscut::analyze
