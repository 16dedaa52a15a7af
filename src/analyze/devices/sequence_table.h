// Which kernels are launched in a row again and again: the table sequences.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// operator, kernels, length, count, host_ns (the lengths of the operators), device_ns (those of
// their work): the outermost operators of layer framework that launch three pieces of work or more,
// by their names and by what they launch, in the order of the launches. The hundred rows with the
// most device_ns.
Table SequencesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
