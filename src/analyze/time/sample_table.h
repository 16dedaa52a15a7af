// What samples say: where threads were each time somebody looked.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, thread, operation, layer, span, line, library, function, waits_for, count, ns: a row for
// each place that instants called "[sample]" found a thread in, the longest first. operation,
// layer, span: the innermost around the sample on its thread; the operation is the lead's where the
// thread has none. line: the Python line that ran or called what ran, "train.py:41 main". library,
// function: the native code that ran; waits_for: what the thread waited for. ns: the time that the
// samples stand for, each that since the sample of its thread before it; count: how many there are,
// by which to judge how sure that is.
Table SamplesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
