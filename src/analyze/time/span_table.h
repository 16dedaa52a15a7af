// Every span of the trace's host tracks, in a row of its own.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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
