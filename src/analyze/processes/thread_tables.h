// What each thread did, by itself: its observed life, exactly.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, thread, operation, layer, ns: the thread's own innermost operation and layer. Sums to
// life_ns of thread_lives. Control steps of the process stand under layer control.
Table ThreadsTable(const trace::Trace& trace, const Context& context);
// process, thread, os_id, main, lead, ours, begin_ns, end_ns, life_ns (what of [begin, end) lies in
// the process's window and is not paused), spans.
Table ThreadLivesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
