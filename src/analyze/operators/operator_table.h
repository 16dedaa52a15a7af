// Operators of frameworks by what they were called with.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// layer, name, overload, input_dims, input_types, count, total_ns, self_ns, self_device_ns, flops,
// name_total_ns, overload_total_ns, dims_total_ns: spans of the layers framework and comm by name,
// overload ("Tensor" of aten::add.Tensor; "" where there is none), shapes and types of their inputs
// (JSON as in Kineto's traces; "" where they were not recorded). Calls from Python into a framework
// are no operators of it. total: an instant counts once per row and thread, however many of its
// calls are in each other. So it does in the last three, per name, per name and overload, per name
// and shapes: sums over the rows that share these are inclusive times, in which a call inside
// another (aten::sum.dim_IntList in aten::sum) adds nothing. self = length less the length of the
// spans inside; self_device_ns: work on devices whose launch has this operator as its innermost
// one; flops: of all calls (flops.h). The most self time first.
Table OperatorsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
