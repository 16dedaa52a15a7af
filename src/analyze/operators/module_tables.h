// Time by nn.Module, and backward time by what caused it.
//
// A module's calls are the spans whose name begins with "nn.Module: " (recorded here, or by
// torch.profiler with stacks). A frame of the backward pass is a span of autograd's engine
// ("autograd::engine::evaluate_function: ..."), or a node without one; the arrow that leads into
// its node comes from the forward operator that caused it.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, module, count, total_ns, self_ns, device_ns, backward_ns, backward_device_ns: calls of
// each module; total: an instant counts once per thread, also where it calls itself; self = less
// the modules that it calls. device_ns: work launched in its calls and in no module inside.
// backward_ns: frames whose forward operator ran in it and in no module inside; backward_device_ns:
// work launched in them. The row "" has the frames that no module caused.
Table ModulesTable(const trace::Trace& trace, const Context& context);

// process, operation, module, operator, count, backward_ns, device_ns: frames by the forward
// operator that caused them, the operation and the innermost module that it ran in. The row without
// an operator has the frames to which no arrow leads (gradients that are added up). Frames inside
// frames (a backward pass in a backward pass) count for themselves, not for those around them: the
// column sums to the time in which threads were in frames.
Table BackwardTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
