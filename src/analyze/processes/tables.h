// The tables of processes and threads: facts of the recording, who waits, and how memory grows.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Facts of the recording: processes, windows, drops, sources, clocks.

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

// What each thread did by itself, in its observed life.

// process, thread, operation, layer, ns: by the thread's own innermost operation and layer. The
// rows of a thread sum to life_ns of thread_lives. Control steps of the process stand under layer
// control.
Table ThreadsTable(const trace::Trace& trace, const Context& context);
// process, thread, os_id, main, lead, ours (of Crosscut itself), begin_ns, end_ns, life_ns (the
// part of [begin, end) that lies in the process's window and is not paused), spans.
Table ThreadLivesTable(const trace::Trace& trace, const Context& context);

// Who waits for whom, as arrows between processes tell.
// Spans of layer comm at which arrows from other processes arrive, such as a get of results: those
// that waited. process, operation (around it; "" where there is none), name (of the span), and what
// it waited for: for_process, for_name; count, wait_ns (the spans' own times), and its parts:
// before_ns (that had not begun), running_ns, after_ns (it had ended: transfer, and reading it). Of
// several arrows at one span the one that counts comes from what ended last. Where no call's arrow
// tells when that began, as in imported traces, before_ns and running_ns are missing. Rows of a
// process: most waiting first.
Table ProcessWaitsTable(const trace::Trace& trace, const Context& context);

// Resident memory that grows with the steps of a process.
// A row for each process whose resident memory was looked at four times or more in the last two
// thirds of its steps: in the first third a program finds its size. begin_bytes, end_bytes: of the
// first and the last such look; steps: those that began between them. step_bytes: what a step added
// in the mean, [low_bytes, high_bytes] its 95 % interval (RatioOf, over the looks). finding: a
// sentence where the whole interval is above 0 and the growth is 5 % of the memory and 8 MiB or
// more, else empty.
Table MemoryGrowthTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
