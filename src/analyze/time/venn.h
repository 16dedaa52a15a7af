// Sets that overlap in time, both ways: the time in exactly these members, as the overlap engine
// gives it, and the time in at least these, as a Venn diagram shows it.
#pragma once

#include <cstdint>
#include <map>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Nanoseconds by set; a set is a bit per member.
using SetSizes = std::map<uint32_t, int64_t>;

// inclusive[R] = the sum of exact[S] over all S that contain R, for every R, not empty, with such
// an S: a complete diagram. (RL-Scope's files leave out what never occurs by itself.)
SetSizes InclusiveSizes(const SetSizes& exact);

// process, sets ("resources": host and device; "layers": each layer and device), members (joined by
// "+"), size (how many), exact_ns, inclusive_ns. Singles first, then pairs, ... Time in which
// nothing is active is in no row, nor are control steps.
Table VennTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
