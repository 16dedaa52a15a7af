// Each part of a window by what was done in it: operations by name, and the time outside of them by
// the line of the program.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, part (window_parts), work, what ("operation", "line", "import", "library", "exit",
// "none"), layers, device, ns, corrected_ns, samples, low_ns, high_ns (95 % bounds of ns; the last
// three kMissing but for lines). The rows of a process and part sum to its wall_ns in window_parts,
// and by layers to `overlap`. Operations are exact. Outside of operations the line is that of who
// works then: of the lead, or of the threads that it waits for; thread_lines.h says which. What
// nothing tells has work "" and what "none". The longest work of a part first.
Table PartWorkTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
