// Operators of frameworks by what they were called with.
#pragma once

#include "src/analyze/tables.h"

namespace crosscut::analyze {

// layer, name, overload, input_dims, input_types, count, total_ns, self_ns, self_device_ns, flops:
// spans of the layers framework and comm by name, overload ("Tensor" of aten::add.Tensor; "" where
// there is none), shapes and types of their inputs (JSON as in Kineto's traces; "" where they were
// not recorded). Calls from Python into a framework are no
// operators of it. self = length less the length of the spans inside; self_device_ns: work on
// devices whose launch has this operator as its innermost one; flops: of all calls (flops.h). The
// most self time first.
Table OperatorsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
