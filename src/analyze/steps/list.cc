#include "src/analyze/recorded_by.h"
#include "src/analyze/steps/step_summary.h"
#include "src/analyze/steps/tables.h"
#include "src/analyze/steps/window_parts.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "window_parts",
     .shows = Shows::kTime,
     .description = "start-up, steps, what lies between them, shutdown: sums to the window",
     .compute = WindowPartsTable,
     .title = "Start-up, steps, shutdown",
     .explanation = "Steps cut a process's window into parts, which add up to it. Start-up is all "
                    "before the first step, shutdown all after the last one."},
    {.name = "step_overlap",
     .shows = Shows::kTime,
     .description = "the steps by operation, set of layers and device: sums to the steps",
     .compute = StepOverlapTable,
     .title = "What the steps were made of",
     .explanation = "The time of the steps alone, control steps aside, by operation and by the "
                    "layers that worked at that moment.",
     .recorded_by = kBySteps},
    {.name = "outliers",
     .shows = Shows::kFacts,
     .description = "steps that took unusually long, and in what",
     .compute = OutliersTable,
     .title = "Slow steps",
     .explanation = "Steps that took unusually long, against the median of their kind, and the "
                    "set of layers that grew most against its own median.",
     .largest_by = "wall_ns",
     .recorded_by = kBySteps},
    {.name = "steps",
     .shows = Shows::kFacts,
     .description = "each step and what it was made of",
     .compute = StepsTable,
     .title = "Steps",
     .explanation = "One pass of the main loop each. In control steps the probes are off. Of steps "
                    "that the budget left out (level 4) only marks are recorded.",
     .recorded_by = kBySteps},
    {.name = "step_summary",
     .shows = Shows::kFacts,
     .description = "steps by kind: how many, how long, how far apart",
     .compute = StepSummaryTable,
     .title = "Kinds of steps",
     .explanation = "Steps of one kind together; control steps are counted, but no time here "
                    "includes them.",
     .recorded_by = kBySteps},
    {.name = "requests",
     .shows = Shows::kFacts,
     .description = "requests by route or handler: how many, how long, how many at once",
     .compute = RequestsTable,
     .title = "Requests",
     .explanation = "Work that is handled beside other work like it, by route or handler. Half of "
                    "the requests took p50 at most. Running: a thread worked for it, the rest is "
                    "waiting. Tasks are functions that were called again and again, in programs "
                    "that have neither steps nor requests.",
     .largest_by = "total_ns",
     .recorded_by = kByRequests},
    {.name = "step_kinds",
     .shows = Shows::kFacts,
     .description = "steps that are alike, and at which levels they were recorded",
     .compute = StepKindsTable,
     .title = "Steps that are alike",
     .explanation = "Steps of one kind may hold different work: the first ones warm up, some are "
                    "longer. How many of each there were, and how many at each level of the step "
                    "plan.",
     .recorded_by = kBySteps},
    {.name = "step_operators",
     .shows = Shows::kSpans,
     .description = "operators and functions per step, scaled from the steps that show them",
     .compute = StepOperatorsTable,
     .title = "What a step is made of",
     .explanation = "Per step, from the steps that were recorded at a level which shows the name; "
                    "low to high is where a complete recording's time per step would lie (95 %).",
     .largest_by = "self_per_step_ns",
     .recorded_by = kBySteps},
    {.name = "step_layers",
     .shows = Shows::kTime,
     .description = "each step by set of layers",
     .compute = StepLayersTable,
     .title = "Steps by layer",
     .explanation = "What each step was made of, by set of layers.",
     .recorded_by = kBySteps},
};

}  // namespace

std::span<const TableEntry> StepTables() { return kTables; }

}  // namespace crosscut::analyze
