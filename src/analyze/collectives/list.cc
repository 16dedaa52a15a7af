#include "src/analyze/collectives/tables.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "stragglers",
     .shows = Shows::kMarks,
     .description = "which process the others wait for in collectives, by process group",
     .compute = StragglersTable,
     .title = "Stragglers",
     .explanation = "A collective goes on when the last rank has come; until then the others wait "
                    "for it. made_wait_ns adds up what the others waited for this process.",
     .largest_by = "made_wait_ns",
     .recorded_by = kByCollectives},
    {.name = "straggler_steps",
     .shows = Shows::kMarks,
     .description = "for which process the others waited in each step",
     .compute = StragglerStepsTable,
     .long_one = true,
     .recorded_by = kByCollectives},
    {.name = "collectives",
     .shows = Shows::kMarks,
     .description = "collectives by process group and name: transfer, and waiting for the last",
     .compute = CollectivesTable,
     .title = "Collectives",
     .explanation = "Collectives of which all ranks are here. Transfer is from the last rank to "
                    "come to the first to leave; skew is from the first to come to the last.",
     .largest_by = "waited_ns",
     .recorded_by = kByCollectives},
    {.name = "collective_calls",
     .shows = Shows::kSpans,
     .description = "each call of a collective, with its group, its ordinal and what it waited",
     .compute = CollectiveCallsTable,
     .long_one = true,
     .recorded_by = kByCollectives},
    {.name = "unmatched_collectives",
     .shows = Shows::kFacts,
     .description = "calls of collectives that were compared with nothing, and why",
     .compute = UnmatchedCollectivesTable,
     .title = "Collectives compared with nothing",
     .explanation = "Waits are told only of collectives of which all ranks of the group are here.",
     .largest_by = "count",
     .recorded_by = kByCollectives},
};

}  // namespace

std::span<const TableEntry> CollectiveTables() { return kTables; }

}  // namespace crosscut::analyze
