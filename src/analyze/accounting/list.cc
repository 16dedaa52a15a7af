#include "src/analyze/accounting/overhead_tables.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "overhead",
     .shows = Shows::kFacts,
     .description = "what Crosscut cost, by probe",
     .compute = OverheadTable,
     .title = "What Crosscut itself cost",
     .explanation = "Each kind of probe: how often it fired and the time that took, inside and "
                    "outside its spans, with the interval of the total. Subtracted is the part "
                    "that delayed the program.",
     .largest_by = "total_ns"},
    {.name = "overhead_check",
     .shows = Shows::kFacts,
     .description = "profiled steps against control steps",
     .compute = OverheadCheckTable,
     .title = "Control steps",
     .explanation = "The same steps with and without the probes: inflation is profiled divided by "
                    "control steps; scale is the factor on the calibrated costs.",
     .recorded_by = kBySteps},
    {.name = "overhead_levels",
     .shows = Shows::kFacts,
     .description = "steps of each level of the plan against control steps",
     .compute = OverheadLevelsTable,
     .title = "Levels of the step plan",
     .explanation = "Steps of each level against control steps; all: what recording cost the "
                    "steps on average.",
     .recorded_by = kBySteps},
};

}  // namespace

std::span<const TableEntry> AccountingTables() { return kTables; }

}  // namespace crosscut::analyze
