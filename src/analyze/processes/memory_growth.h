// Resident memory that grows with the steps of a process.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// A row for each process whose resident memory was looked at four times or more in the last two
// thirds of its steps: in the first third a program finds its size. begin_bytes, end_bytes: of the
// first and the last such look; steps: those that began between them. step_bytes: what a step added
// in the mean, [low_bytes, high_bytes] its 95 % interval (RatioOf, over the looks). finding: a
// sentence where the whole interval is above 0 and the growth is 5 % of the memory and 8 MiB or
// more, else empty.
Table MemoryGrowthTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
