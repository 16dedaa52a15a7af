#include "src/analyze/memory/tables.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "memory",
     .shows = Shows::kMarks,
     .description = "what was allocated and freed, by device, and the peak",
     .compute = MemoryTable,
     .title = "Memory",
     .explanation = "What was allocated and freed, and the most that was held at once.",
     .recorded_by = kByAllocations},
    {.name = "memory_peak",
     .shows = Shows::kMarks,
     .description = "what was held at the peak, by the work that allocated it",
     .compute = MemoryPeakTable,
     .title = "Memory: what was held at the peak",
     .explanation = "By the operation, operator and module that allocated it. The rows of a "
                    "process and device add up to the peak.",
     .largest_by = "bytes",
     .recorded_by = kByAllocations},
    {.name = "memory_operators",
     .shows = Shows::kOperators,
     .description = "allocations and frees by operator",
     .compute = MemoryOperatorsTable,
     .title = "Memory by operator",
     .explanation = "Self is what the operator allocated itself less what it freed; total "
                    "includes what it called.",
     .largest_by = "allocated_bytes",
     .recorded_by = kByAllocations},
    {.name = "memory_leaks",
     .shows = Shows::kMarks,
     .description = "what was allocated in a step and still held two steps later",
     .compute = MemoryLeaksTable,
     .title = "Memory: what stays",
     .explanation = "Blocks allocated in a step and still held at the end of the step after the "
                    "next. What is allocated once, such as an optimizer's state, leaks in one "
                    "step; what grows leaks in all of them.",
     .largest_by = "bytes",
     .recorded_by = kByAllocations},
    {.name = "memory_failures",
     .shows = Shows::kMarks,
     .description = "allocations that failed",
     .compute = MemoryFailuresTable,
     .title = "Memory: out of memory",
     .explanation = "Allocations that failed, with what was held.",
     .recorded_by = kByAllocations},
    {.name = "memory_timeline",
     .shows = Shows::kMarks,
     .description = "memory over time",
     .compute = MemoryTimelineTable,
     .title = "Memory over time",
     .explanation = "What was held, in equal parts of each window.",
     .recorded_by = kByAllocations},
    {.name = "memory_events",
     .shows = Shows::kMarks,
     .description = "each allocation and free",
     .compute = MemoryEventsTable,
     .long_one = true,
     .recorded_by = kByAllocations},
};

}  // namespace

std::span<const TableEntry> MemoryTables() { return kTables; }

}  // namespace crosscut::analyze
