// The tables of memory: what was allocated, by whom, and what stays.
#pragma once

#include <cstdint>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// What was allocated, by process and device.

// A row for each process and device. start_bytes: what was allocated before, as far as the
// allocator tells; if it tells no totals, everything counts from 0.
Table MemoryTable(const trace::Trace& trace, const Context& context);

// What was held when most was held, by whose work it was made. The rows of a process and device add
// up to the peak: the row "(not recorded)" has the difference between it and the known blocks.
Table MemoryPeakTable(const trace::Trace& trace, const Context& context);

inline constexpr int64_t kMemoryBins = 200;
// Memory over time: the window of each process in kMemoryBins parts or fewer. A part has a row
// where something changed in it or something is held.
Table MemoryTimelineTable(const trace::Trace& trace, const Context& context);

// Each allocation that failed, with what was held then.
Table MemoryFailuresTable(const trace::Trace& trace, const Context& context);

// Each allocation and free in order of time. bytes < 0: freed. span: the innermost one on its
// thread, by its number in the table `spans`. total_bytes: as the allocator tells it, else missing.
Table MemoryEventsTable(const trace::Trace& trace, const Context& context);

// Memory by operator: who allocates, and what stays.

// A row for each process, device and operator. allocations, frees, allocated_bytes, freed_bytes:
// while it was the innermost operator of its thread; self_bytes = allocated - freed; total_bytes:
// the same with the operators that it called (each change counts once for a name). The operator ""
// has what happened outside all.
Table MemoryOperatorsTable(const trace::Trace& trace, const Context& context);

inline constexpr int64_t kLeakSteps = 2;
// Blocks that live longer than a step's work should: they were allocated in a step and still held
// kLeakSteps steps after its end. A row for each process, device and owner of blocks. steps: how
// many steps could be judged and allocated something; leaking_steps: in how many of them such
// blocks were made; live_bytes: of the blocks that were never seen to be freed.
Table MemoryLeaksTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
