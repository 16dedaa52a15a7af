// Which process the others wait for in collectives: table stragglers.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// The n-th communication of a name is the same one in every process (that has as many of them). All
// leave a collective together, so who is in it for the shortest time came last, and what the others
// were in it beyond that is waiting; no clock needs to be common. Processes: ranks that were
// imported together. waited_ns: beyond the last to come; last_count: was that one itself;
// made_wait_ns: what the others waited then.
Table StragglersTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
