// What a report must say before any number.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Most serious first: the trace's own gaps, then incomplete processes, losses by reason and time,
// repairs, an unchecked correction.
std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
