// Which lines of Python launched an operator, and the work on devices that it launched.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, operator, probe, layer, stack, forward, forward_stack, count, total_ns, self_ns,
// device_ns: a row for each operator (a span of layer framework or comm; its probe, as in
// `overhead`, tells a native function that Python calls from what that does) and the Python stack
// that called it, outermost frame first, joined by ";", each "file:line function" with the line
// that was running, or the function's name as in `functions` where that is not known.
// In the backward pass `forward` and `forward_stack` are the operator whose arrow leads into the
// node that runs, and its stack. total_ns: an instant counts once per row and thread. self_ns as in
// `functions`. device_ns: the lengths of the work on
// devices that the operator itself launched, added up. Calls that launched work outside every
// operator have rows, too.
Table OperatorStacksTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
