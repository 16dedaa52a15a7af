// Who waits for whom, as arrows between processes tell.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Spans of layer comm at which arrows from other processes arrive, such as a get of results: those
// that waited. process, operation (around it; "" where there is none), name (of the span), and what
// it waited for: for_process, for_name; count, wait_ns (the spans' own times), and its parts:
// before_ns (that had not begun), running_ns, after_ns (it had ended: transfer, and reading it). Of
// several arrows at one span the one that counts comes from what ended last. Where no call's arrow
// tells when that began, as in imported traces, before_ns and running_ns are missing. Rows of a
// process: most waiting first.
Table ProcessWaitsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
