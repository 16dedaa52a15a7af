// What was allocated, by process and device.
#pragma once

#include <cstdint>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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

}  // namespace crosscut::analyze
