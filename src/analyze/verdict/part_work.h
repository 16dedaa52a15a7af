// Each part of a window by what was done in it: operations by name, and the time outside of them by
// the line of the program that samples saw.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, part (window_parts), work, what ("operation", "line", "none"), layers, device, ns,
// corrected_ns, samples (of the line in that part; kMissing but for lines). The rows of a process
// and part sum to its wall_ns in window_parts, and by layers to `overlap`. Operations are exact.
// The time outside of operations is shared out among the lines that samples of the lead saw there,
// layer set by layer set; what no sample saw has work "" and what "none". The longest work of a
// part first.
Table PartWorkTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
