#include "src/analyze/verdict/list.h"

#include "src/analyze/recorded_by.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/part_work.h"
#include "src/analyze/verdict/periodic_steps.h"
#include "src/analyze/verdict/verdict.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "verdict",
     .shows = Shows::kFacts,
     .description = "what bounds the program, the line to blame, and what it can gain at most",
     .compute = VerdictTable,
     .title = "Verdict",
     .explanation = "What bounds the steps, with its evidence. A gain is an upper bound: the part "
                    "of the steps that nothing else hides."},
    {.name = "step_causes",
     .shows = Shows::kTime,
     .description = "the steps by what bounds them: input, Python, devices, waits",
     .compute = StepCausesTable,
     .title = "What bounds the steps",
     .explanation = "Each instant of the steps has one cause, so causes add up. A device counts "
                    "wherever one works; what the host does counts where none does.",
     .largest_by = "ns"},
    {.name = "part_work",
     .shows = Shows::kTime,
     .description = "each part of a window by operation, and outside of them by line",
     .compute = PartWorkTable,
     .title = "What each part was spent on",
     .explanation = "Operations by name; the time outside of them by the line of the program that "
                    "samples saw, which is an estimate. The rows of a part add up to it."},
    {.name = "periodic_steps",
     .shows = Shows::kFacts,
     .description = "steps that are slow at equal distances, and what they do more",
     .compute = PeriodicStepsTable,
     .title = "Periodic slow steps",
     .explanation = "Every so many steps one takes longer: evaluation, checkpoints, logging. Work "
                    "is the operation or line that these steps have most more of.",
     .recorded_by = kBySteps},
};

}  // namespace

std::span<const TableEntry> VerdictTables() { return kTables; }

}  // namespace crosscut::analyze
