// Spans by name: how often, how long, and how much of it in themselves.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// layer, name, count, total_ns, self_ns, min_ns, p50_ns, p99_ns, max_ns: all spans of that layer
// and name on host threads and devices of all processes, but no operations, steps and phases. The
// most self time first. total = time in which at least one was open, by thread: one inside another
// adds nothing. self = length less the length of its children; percentiles are lengths that
// occurred (nearest rank). Linear time; holds one length per span.
Table FunctionsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
