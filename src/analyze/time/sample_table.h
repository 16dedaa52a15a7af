// What samples say: where threads were each time they were sampled.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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

}  // namespace crosscut::analyze
