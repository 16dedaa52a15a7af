// Facts of the recording: processes, windows, drops, sources, clocks.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, pid, parent, name, start_ns, wall_ns (the window without pauses), excluded_ns, complete,
// why_incomplete, start_method, lead, threads, corrected_ns (without Crosscut's own cost),
// corrected_low_ns, corrected_high_ns (between which a run without Crosscut would lie; equal to
// corrected_ns where nothing was subtracted), starting_ns (right before the window: what starting
// the recorder took).
Table ProcessesTable(const trace::Trace& trace, const Context& context);
// process, name, value: what each process states of itself, such as its rank, in its order.
Table FactsTable(const trace::Trace& trace, const Context& context);
// process, window (its number), begin_ns, end_ns, wall_ns, first_step (its number; -1: no step
// begins in the window), steps (that begin in it), complete: a row for each session.
Table WindowsTable(const trace::Trace& trace, const Context& context);
// process, thread, reason, count, begin_ns, end_ns.
Table DropsTable(const trace::Trace& trace, const Context& context);
// name, version, state, message, processes (how many say so).
Table SourcesTable(const trace::Trace& trace, const Context& context);
// clock, anchors, error_ns, process.
Table ClocksTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
