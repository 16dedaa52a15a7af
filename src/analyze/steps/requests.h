// Requests by route or handler: how many, how long, how many at once.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, request (its route or handler), what ("request", or "task": a function that was called
// again and again), count, open (of them, how many never ended; they count in nothing that follows
// but concurrency), total_ns, mean_ns, p50_ns, p90_ns, p99_ns, max_ns, running_ns, waiting_ns
// (means of those of which it is known for how long a thread worked for them: they sum to these
// requests' mean; kMissing: it is known of none), most (how many at once), concurrency (on the
// mean, while there is one at least), per_second (from the begin of the process's first request to
// the end of its last). What took longest in sum stands first.
Table RequestsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
