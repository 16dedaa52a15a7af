// What was allocated: table memory. From instants called "[memory]" (PyTorch's), whose arguments
// are Bytes (negative: freed), Addr, Device Type, Device Id, Total Allocated.
#pragma once

#include "src/analyze/tables.h"

namespace crosscut::analyze {

// One row per process and device. start_bytes: what was allocated before, as far as the allocator
// tells; where it tells no totals all counts from 0.
Table MemoryTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
