// What each thread did by itself, in its observed life.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, thread, operation, layer, ns: by the thread's own innermost operation and layer. The
// rows of a thread sum to life_ns of thread_lives. Control steps of the process stand under layer
// control.
Table ThreadsTable(const trace::Trace& trace, const Context& context);
// process, thread, os_id, main, lead, ours (of Crosscut itself), begin_ns, end_ns, life_ns (the
// part of [begin, end) that lies in the process's window and is not paused), spans.
Table ThreadLivesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
