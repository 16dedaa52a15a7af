#include "src/analyze/processes/concurrency.h"
#include "src/analyze/processes/phases.h"
#include "src/analyze/processes/tables.h"
#include "src/analyze/processes/utilization.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "concurrency",
     .shows = Shows::kTime,
     .description = "which processes worked at once, on host and devices",
     .compute = ConcurrencyTable,
     .title = "Processes at once",
     .explanation = "How long each set of processes was busy at the same instant, on host and "
                    "devices.",
     .largest_by = "ns"},
    {.name = "process_waits",
     .shows = Shows::kTime,
     .description = "which process waited for what in another, and for how long",
     .compute = ProcessWaitsTable,
     .title = "Who waits for whom",
     .explanation = "Calls that waited for work of another process, such as ray.get, with the work "
                    "that ended last: before it began, while it ran and after its end.",
     .largest_by = "wait_ns",
     .recorded_by = kByArrows},
    {.name = "phases",
     .shows = Shows::kTime,
     .description = "each phase of a process, split into host, device, idle",
     .compute = PhasesTable,
     .title = "Phases",
     .explanation = "Each process's window, cut at its phases. Host, overlap, device, idle, "
                    "unknown and control add up to wall; any host and any device overlap."},
    {.name = "utilization",
     .shows = Shows::kTime,
     .description = "CPU, memory and devices of each process over time",
     .compute = UtilizationTable,
     .title = "What processes took over time",
     .explanation = "CPU (100 % is one core), resident memory and devices of each process, for "
                    "every half second."},
    {.name = "memory_growth",
     .shows = Shows::kFacts,
     .description = "how resident memory grows with the steps",
     .compute = MemoryGrowthTable,
     .title = "Memory: growth with the steps",
     .explanation = "What a step adds to the resident memory of its process, once a third of the "
                    "steps have passed.",
     .recorded_by = kByLooks},
    {.name = "progress",
     .shows = Shows::kFacts,
     .description = "what the whole program would take, judged by how far it came",
     .compute = ProgressTable,
     .title = "The whole program",
     .explanation = "What it would take to its end, judged by the progress that it reported.",
     .recorded_by = kByProgress},
    {.name = "threads",
     .shows = Shows::kTime,
     .description = "each thread's life by its own operation and layer",
     .compute = ThreadsTable,
     .title = "Threads",
     .explanation = "Time by thread, each with its own innermost operation and layer. The rows of "
                    "a thread add up to its observed life.",
     .largest_by = "ns"},
    {.name = "thread_lives",
     .shows = Shows::kFacts,
     .description = "each thread's observed life",
     .compute = ThreadLivesTable,
     .title = "Threads' lives",
     .explanation = "When each thread was observed."},
    {.name = "processes",
     .shows = Shows::kFacts,
     .description = "each process, its window and how it ended",
     .compute = ProcessesTable,
     .title = "Processes",
     .explanation = "Every process of the run, with the window that was recorded."},
    {.name = "facts",
     .description = "what each process states of itself: its rank, its settings",
     .compute = FactsTable,
     .long_one = true},
    {.name = "drops",
     .shows = Shows::kFacts,
     .description = "events lost, where and why",
     .compute = DropsTable,
     .title = "What was lost",
     .explanation = "Events that are missing, where and why."},
    {.name = "sources",
     .shows = Shows::kFacts,
     .description = "where spans came from",
     .compute = SourcesTable,
     .title = "Sources",
     .explanation = "Where spans came from, and whether each source worked."},
    {.name = "clocks",
     .shows = Shows::kFacts,
     .description = "clocks and their errors",
     .compute = ClocksTable,
     .title = "Clocks",
     .explanation = "How times were brought to one clock, and the largest error of that."},
    {.name = "windows",
     .shows = Shows::kFacts,
     .description = "when each process recorded: its sessions, their steps",
     .compute = WindowsTable,
     .long_one = true},
};

}  // namespace

std::span<const TableEntry> ProcessTables() { return kTables; }

}  // namespace crosscut::analyze
