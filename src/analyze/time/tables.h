// The tables of time: by operation and layer, by function, by sample, and of every span.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The partition of every process's window: overlap (all cells), and its sums operations, layers and
// layer_totals.

// process, operation, layers, device, ns, corrected_ns.
Table OverlapTable(const trace::Trace& trace, const Context& context);
// process, operation, count, wall_ns = host_ns + overlap_ns + device_ns + idle_ns + unknown_ns +
// control_ns, overhead_ns = wall_ns - corrected_ns, corrected_ns, corrected_low_ns,
// corrected_high_ns, run_delay_ns (always missing), total_ns. count: how many operations of the
// lead began in the window. total_ns: the time without pauses in which the lead had at least one of
// that name open, whatever was open inside it; missing for the operation "".
Table OperationsTable(const trace::Trace& trace, const Context& context);
// process, layers, device, ns, corrected_ns: summed over operations.
Table LayersTable(const trace::Trace& trace, const Context& context);

// process, layer, ns: the time in which the layer was active, alone or with others; "device" is
// one. Overlaps count in each of their layers, so this is no partition.
Table LayerTotalsTable(const trace::Trace& trace, const Context& context);

// Time by what adapters found inside the operations that the program declares.
// process, operation, part, count, wall_ns = host_ns + overlap_ns + device_ns + idle_ns +
// unknown_ns + control_ns, corrected_ns. The operations with parts alone, the longest first; the
// rows of one sum to its wall_ns in `operations`. part: the innermost operation that an adapter
// found inside the lead's innermost declared one; "": none. count: how many of them began in the
// window; missing for "".
Table OperationPartsTable(const trace::Trace& trace, const Context& context);

// How often the key of docs/accounting.md changes from one to another, and how long it then stays:
// RL-Scope's category transitions.

// process, from_operation, from_layers, from_device, to_operation, to_layers, to_device, count, ns:
// the time spent in the second key after such changes. So `ns` sums to the window without pauses,
// and by second key to the table `overlap`. Where the window begins or goes on after a pause,
// from_layers is "(start)". The longest of a process first.
Table TransitionsTable(const trace::Trace& trace, const Context& context);

// process, operation, layer (also "device"), entries (how often the layer became active, alone or
// with others, while the operation stayed the same), ns (how long it was active in the operation).
Table LayerEntriesTable(const trace::Trace& trace, const Context& context);

// Spans by name: how often, how long, and how much of it in themselves.

// layer, name, count, total_ns, self_ns, min_ns, p50_ns, p99_ns, max_ns: all spans of that layer
// and name on host threads and devices of all processes, without operations, steps and phases. The
// row with the most self_ns stands first. total_ns: the time in which at least one was open, by
// thread; one inside another adds nothing. self_ns: the length less that of the functions inside.
// Percentiles are lengths that occurred (nearest rank). Takes linear time; holds one length per
// span.
Table FunctionsTable(const trace::Trace& trace, const Context& context);
// layer, name, from_ns, below_ns, count: how many spans of each function had a length in that
// range. Ranges are 128 per power of two (1 ns wide below 256 ns), the same for all functions and
// runs, so that counts of several runs add up. Functions stand in the order in which they occur.
Table FunctionLengthsTable(const trace::Trace& trace, const Context& context);

// What samples say: where threads were each time they were sampled.
// process, thread, operation, layer, span, line, own_line, library, function, waits_for, count, ns,
// run_delay_ns: a row for each place in which instants called "[sample]" found a thread, the
// longest first. operation, layer, span: the innermost around the sample on its thread; if the
// thread has no operation, it is the lead's. line: the Python line that ran or called what ran,
// "train.py:41 main". own_line: the line of the program's own code that ran or called what ran,
// with its path below the folder in which the program was started; missing where the thread runs
// none. library, function: the native code that ran; waits_for: what the thread waited for. ns: the
// time that the samples stand for; each stands for the time since the sample of its thread before
// it. count: how many samples there are, which shows how sure that is. run_delay_ns: for how long
// of ns the thread was ready and had no processor; missing where the kernel told that for none of
// these samples.
Table SamplesTable(const trace::Trace& trace, const Context& context);

// Every span of the trace's host tracks, in a row of its own.
// process, thread, span, parent, kind, layer, name, overload, begin_ns, end_ns, sequence_number,
// forward_thread, input_dims, flops, probe, step, input_types, input_strides, concrete_inputs,
// thread_id, first, found, named_inputs: spans in order of begin, by thread. `span` counts from 0
// on each thread; `parent` is that number of the span around it. kind: "span" or "operation". A
// span that was cut has a row for each part; `first` is the number of the first part.
// sequence_number and forward_thread are autograd's; inputs are JSON as in Kineto's traces; probe:
// what recorded it; step: of a ProfilerStep#; thread_id: the system's; found: 1 for an operation
// that an adapter found. What is not known is missing. The table is long: for programs rather than
// for views.
Table SpansTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
