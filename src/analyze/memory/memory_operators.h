// Who allocates, and what stays: memory by operator.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// One row per process, device and operator. allocations, frees, allocated_bytes, freed_bytes: what
// went on while it was the innermost operator of its thread; self_bytes = allocated - freed;
// total_bytes the same of what it called, too (each change counts once for a name).
Table MemoryOperatorsTable(const trace::Trace& trace, const Context& context);

// Blocks that live longer than a step's work should: allocated in a step and still held
// kLeakSteps steps after its end. By whose work they were made. steps: how many steps could be
// looked at and allocated something; leaking_steps: in how many of them such blocks were made;
// live_bytes: of them what was never seen to be freed.
inline constexpr int64_t kLeakSteps = 2;
Table MemoryLeaksTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
