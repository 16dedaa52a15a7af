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

// process, module, count, total_ns, self_ns, device_ns, backward_ns, backward_device_ns: the calls
// of each module. total_ns counts an instant once per thread, also where a module calls itself;
// self_ns is without the modules that it calls. device_ns: work launched in its calls and in no
// module inside them. backward_ns: frames whose forward operator ran in it and in no module inside;
// backward_device_ns: work launched in those frames. The row "" has the frames that no module
// caused.
Table ModulesTable(const trace::Trace& trace, const Context& context);

// process, operation, module, operator, count, backward_ns, device_ns: frames by the forward
// operator that caused them, and by the operation and the innermost module in which it ran. The row
// without an operator has the frames to which no arrow leads (gradients that are added up). A frame
// inside a frame (a backward pass in a backward pass) counts for itself and not for the one around
// it, so backward_ns sums to the time in which threads were in frames.
Table BackwardTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
