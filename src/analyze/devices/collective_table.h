// For which process the others wait in collectives: the table stragglers.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, collectives, waited_ns (the time beyond that of the last one to come), last_count (how
// often this process came last), made_wait_ns (what the others waited then). Processes are ranks
// that were imported together. The n-th communication of a name is taken for the same one in every
// process that has the name, as far as all of them have that many. All leave a collective together.
// So the one that is in it for the shortest time came last, and what the others were in it beyond
// that is waiting. No common clock is needed.
Table StragglersTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
