#include "src/analyze/tables.h"

#include "src/analyze/columns.h"
#include "src/analyze/concurrency.h"
#include "src/analyze/functions.h"
#include "src/analyze/launches.h"
#include "src/analyze/overhead_tables.h"
#include "src/analyze/overlap_tables.h"
#include "src/analyze/process_tables.h"
#include "src/analyze/step_summary.h"
#include "src/analyze/step_tables.h"
#include "src/analyze/thread_tables.h"

namespace crosscut::analyze {
namespace {

Table GapsTable(const trace::Trace& trace, const Context& context) {
  Texts message = Gaps(trace, context);
  return MakeTable("gaps", MakeColumn("message", message));
}

constexpr TableEntry kTables[] = {
    {"gaps", "what is missing, repaired or unchecked, in sentences", GapsTable},
    {"processes", "each process, its window and how it ended", ProcessesTable},
    {"operations", "wall time by operation, split into host, device, idle", OperationsTable},
    {"overlap", "wall time by operation, set of layers and device: sums to the window",
     OverlapTable},
    {"layers", "wall time by set of layers and device", LayersTable},
    {"threads", "each thread's life by its own operation and layer", ThreadsTable},
    {"thread_lives", "each thread's observed life", ThreadLivesTable},
    {"device_by_launch", "device time by the operations that launched it", DeviceByLaunchTable},
    {"layer_totals", "time in which each layer was active, alone or with others", LayerTotalsTable},
    {"concurrency", "which processes worked at once, on host and devices", ConcurrencyTable},
    {"step_summary", "steps by kind: how many, how long, how far apart", StepSummaryTable},
    {"steps", "each step and what it was made of", StepsTable},
    {"step_layers", "each step by set of layers", StepLayersTable},
    {"outliers", "steps that took unusually long, and in what", OutliersTable},
    {"functions", "spans by layer and name, with percentiles", FunctionsTable},
    {"overhead", "what Crosscut cost, by probe", OverheadTable},
    {"overhead_check", "profiled steps against control steps", OverheadCheckTable},
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
