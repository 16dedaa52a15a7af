// What bounds the program, with its evidence: the block at the top of every view.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, rank (1: the first), cause, headline (a sentence), share (of the process's steps, or of
// its window where it has none), gain_share, gain_low_share, gain_high_share (what removing it
// could bring at most: the part of the steps that nothing hides, an upper bound, with a 95 %
// interval from how blocks of steps differ; NaN under 10 steps), blame (a line of the
// program, or a name), evidence (a sentence), table (that says more), action (one thing to do). The
// process in which a burden weighs most comes first. A process without a cause that stands out has
// a row with cause `none`.
Table VerdictTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
