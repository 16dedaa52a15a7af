// The tables of operators and modules.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// Operators of frameworks by their inputs.
// layer, name, overload, input_dims, input_types, count, total_ns, self_ns, self_device_ns, flops,
// name_total_ns, overload_total_ns, dims_total_ns: spans of layer framework and comm by name,
// overload ("Tensor" of aten::add.Tensor; "" where there is none), shapes and types of their inputs
// (JSON as in Kineto's traces; "" where they were not recorded). Calls from Python into a framework
// do not count as its operators. total_ns counts an instant once per row and thread, even if calls
// of the row lie in each other. The last three do the same per name, per name and overload, and per
// name and shapes. Their sums over the rows that share these are inclusive times, to which a call
// inside another (aten::sum.dim_IntList in aten::sum) adds nothing. self_ns is as in `functions`;
// self_device_ns is the work on devices whose launch has this operator as its innermost one; flops
// is of all calls (flops.h). The row with the most self_ns stands first.
Table OperatorsTable(const trace::Trace& trace, const Context& context);

// Which lines of Python called an operator, and the work on devices that it launched.
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

// Time by nn.Module, and backward time by what caused it.
//
// A module's calls are the spans whose name begins with "nn.Module: " (recorded here, or by
// torch.profiler with stacks). A frame of the backward pass is a span of autograd's engine
// ("autograd::engine::evaluate_function: ..."), or a node without one; the arrow that leads into
// its node comes from the forward operator that caused it.

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
