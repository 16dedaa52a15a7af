// Spans by name: how often, how long, and how much of it in themselves.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// layer, name, count, total_ns, self_ns, min_ns, p50_ns, p99_ns, max_ns: all spans of that layer
// and name on host threads and devices of all processes, without operations, steps and phases. The
// row with the most self_ns stands first. total_ns: the time in which at least one was open, by
// thread; one inside another adds nothing. self_ns: the length less that of the functions inside.
// Percentiles are lengths that occurred (nearest rank). Takes linear time; holds one length per
// span.
Table FunctionsTable(const trace::Trace& trace, const Context& context);
// layer, name, from_ns, below_ns, count: how many spans of each function had a length in that
// range. Ranges are 128 per power of two (1 ns wide below 256 ns), the same for all functions and
// runs, so that counts of several runs add up. Functions stand in the order in which they occur.
Table FunctionLengthsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
