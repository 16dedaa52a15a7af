// How work came to devices: the tables idle_causes, launches, queue_length. docs/analyses.md
// defines each.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// By stream and cause: the gaps between its work.
Table IdleCausesTable(const trace::Trace& trace, const Context& context);
// By process and name of the launching call.
Table LaunchesTable(const trace::Trace& trace, const Context& context);
// By stream: how many launches waited for it.
Table QueueLengthTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
