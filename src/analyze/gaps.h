// The sentences that a report must show above its numbers.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Those of the trace itself (trace/gaps.h), then calls of collectives that match none, steps of
// threads other than the lead, graphs without their work, scopes that control steps hide, time
// after the last step, an unchecked correction.
std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
