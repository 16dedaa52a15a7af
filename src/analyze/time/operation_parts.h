// Time by what adapters found inside the operations that the program declares.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, operation, part, count, wall_ns = host_ns + overlap_ns + device_ns + idle_ns +
// unknown_ns + control_ns, corrected_ns. The operations with parts alone, the longest first; the
// rows of one sum to its wall_ns in `operations`. part: the innermost operation that an adapter
// found inside the lead's innermost declared one; "": none. count: how many of them began in the
// window; missing for "".
Table OperationPartsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
