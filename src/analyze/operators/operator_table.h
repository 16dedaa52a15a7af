// Operators of frameworks by their inputs.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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

}  // namespace crosscut::analyze
