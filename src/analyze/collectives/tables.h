// Tables of what ranks did in collectives.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, rank (as the process states it; missing: it states none), group ("": not stated), name,
// kind ("pair": a send or receive; "rooted": one rank sends or receives all; "all": else),
// seq (the ordinal in the group; missing: not stated), step (the number of the step in which it
// begins; missing: in none), operation (the lead's, then), place ("host" or "device"), begin_ns,
// ns (its length), waited_ns (of it, for the last rank to come; missing: not known), last (the
// process that came last; "": not known), bytes (that this rank hands over; missing: not stated),
// peer (the rank in the group that a send or receive is with), group_size (missing: not stated). A
// row for each call.
Table CollectiveCallsTable(const trace::Trace& trace, const Context& context);

// group, name, count, ranks, bytes (of the rank that states most, summed; missing: of one no rank
// does), transfer_ns (from the last to come to the first to leave of those that are in it then,
// summed), skew_ns (from the first to come to the last, summed), waited_ns (summed over ranks),
// last (the process that came last most often), last_count, bytes_per_s (bytes over transfer_ns),
// job (who started the ranks, where jobs beside each other call their groups the same; "": else).
// Collectives of which all ranks are here.
Table CollectivesTable(const trace::Trace& trace, const Context& context);

// process, group, collectives, waited_ns (in which it waited for another rank), last_count (how
// often it came last), made_wait_ns (what the others waited then, added up over them), unmatched
// (its calls that were compared with nothing). Waits of one process that overlap count once.
Table StragglersTable(const trace::Trace& trace, const Context& context);

// step (number), process (for which the others waited longest in it), made_wait_ns (for it),
// waited_ns (for all), collectives, last_count, job (as in `collectives`). A row for each step of a
// job in which somebody waited.
Table StragglerStepsTable(const trace::Trace& trace, const Context& context);

// process, group, name, reason, count: calls that were compared with nothing.
Table UnmatchedCollectivesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
