// How work came to devices: tables idle_causes, launches, queue_length. docs/analyses.md defines
// each.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// Of every stream: gaps between its work, by why they were there.
Table IdleCausesTable(const trace::Trace& trace, const Context& context);
// By the call that launched.
Table LaunchesTable(const trace::Trace& trace, const Context& context);
// How many launches waited for their stream.
Table QueueLengthTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
