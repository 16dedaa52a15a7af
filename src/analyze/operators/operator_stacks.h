// Which lines of Python called an operator, and the work on devices that it launched.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, operator, probe, layer, stack, forward, forward_stack, count, total_ns, self_ns,
// device_ns: a row for each operator and the Python stack that called it. An operator is a span of
// layer framework or comm; its probe, as in `overhead`, tells a native function that Python calls
// from the operators that this calls. A stack has the outermost frame first, joined by ";". A frame
// is "file:line function" with the line that was running, or the function's name as in `functions`
// where the line is not known. In the backward pass, `forward` and `forward_stack` are the operator
// whose arrow leads into the node that runs, and its stack. total_ns counts an instant once per row
// and thread; self_ns is as in `functions`. device_ns adds up the lengths of the work on devices
// that the operator itself launched. A call that launched work outside every operator has a row,
// too.
Table OperatorStacksTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
