// Which kernels are launched in a row again and again: table sequences.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// The outermost operators of the framework (inside annotations and Python) that launch three pieces
// of work or more, by what they launch, in the order of the launches. The hundred that take the
// devices longest. host_ns: the operators' own time; device_ns: that of their work.
Table SequencesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
