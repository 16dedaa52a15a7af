// Memory by operator: who allocates, and what stays.
#pragma once

#include <cstdint>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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
