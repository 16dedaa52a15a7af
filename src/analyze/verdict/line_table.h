// Each thread's time by line.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, thread, line, what (as in part_work), layer (in which the thread was there; "" where
// none is known), ns, low_ns, high_ns (95 % bounds; kMissing where no line is known), samples. The
// rows of a thread sum to its life_ns in thread_lives. Threads without a sample have none. The
// longest line of a thread first.
Table LinesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
