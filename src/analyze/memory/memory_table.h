// What was allocated, by process and device.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// One row per process and device. start_bytes: what was allocated before, as far as the allocator
// tells; where it tells no totals all counts from 0.
Table MemoryTable(const trace::Trace& trace, const Context& context);

// What was held when most was held, by whose work it was made. The rows of a process and device
// add up to the peak: one of them, "(not recorded)", is what blocks unknown to the trace make up.
Table MemoryPeakTable(const trace::Trace& trace, const Context& context);

// Memory over time: each process's window in kMemoryBins parts, as far as something changed in
// them or something is held.
inline constexpr int64_t kMemoryBins = 200;
Table MemoryTimelineTable(const trace::Trace& trace, const Context& context);

// Each allocation that failed, with what was held then.
Table MemoryFailuresTable(const trace::Trace& trace, const Context& context);

// Each allocation and free in order of time. bytes < 0: freed. span: the innermost one that its
// thread was in, as in the table `spans`. total_bytes: as the allocator tells it, else none.
Table MemoryEventsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
