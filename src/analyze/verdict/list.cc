#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/periodic_steps.h"
#include "src/analyze/verdict/places.h"
#include "src/analyze/verdict/tables.h"

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
    {.name = "places",
     .shows = Shows::kTime,
     .description = "the steps by line of the program and cause: what nothing else hides",
     .compute = PlacesTable,
     .title = "Places",
     .explanation = "What each line of the program, or of processes and threads that are waited "
                    "for, takes of the steps while nothing else hides it, by cause. Lines of one "
                    "loop in Python are one place. The bounds are the place's, at 95 %.",
     .largest_by = "ns"},
    {.name = "part_work",
     .shows = Shows::kTime,
     .description = "each part of a window by operation, and outside of them by line",
     .compute = PartWorkTable,
     .title = "What each part was spent on",
     .explanation = "Operations by name; the time outside of them by the line of who works then: "
                    "the sample that is next to it tells, so bounds follow. The rows of a part add "
                    "up to it."},
    {.name = "beside_steps",
     .shows = Shows::kTime,
     .description = "what takes long beside the steps that verdicts speak of: an evaluation",
     .compute = BesideStepsTable,
     .title = "Beside the steps",
     .explanation = "Operations and lines that take a hundredth of the window or more outside of "
                    "the observed steps, and not as they do in these: before, between and behind "
                    "steps, and in those that the budget left out.",
     .largest_by = "more_ns",
     .recorded_by = kBySteps},
    {.name = "lines",
     .shows = Shows::kTime,
     .description = "each thread's time by line of the program, with bounds",
     .compute = LinesTable,
     .title = "Lines",
     .explanation = "Where each sampled thread was, waits included. Each stretch of its time has "
                    "the line of the sample that is next to it in the same call, or between the "
                    "same calls. The rows of a thread add up to its life.",
     .largest_by = "ns"},
    {.name = "periodic_steps",
     .shows = Shows::kFacts,
     .description = "steps that are slow at equal distances, and what they do more",
     .compute = PeriodicStepsTable,
     .title = "Periodic slow steps",
     .explanation = "Every so many steps one takes longer: evaluation, checkpoints, logging. Work "
                    "is the operation or line that these steps have most more of.",
     .recorded_by = kBySteps},
    {.name = "step_changes",
     .shows = Shows::kFacts,
     .description = "steps that take longer from one step on, up to one, or more and more",
     .compute = StepChangesTable,
     .title = "Steps over the run",
     .explanation = "Where the length of steps changes for good, for a while, or grows. Operation "
                    "and line are those that the longer steps have most more of. A run without a "
                    "change has a row in one of 1,000 cases.",
     .recorded_by = kBySteps},
};

}  // namespace

std::span<const TableEntry> VerdictTables() { return kTables; }

}  // namespace crosscut::analyze
