// The sentences that a report must show above its numbers.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Most serious first: the trace's own gaps, incomplete processes, sources that failed, what plugins
// had not handed over, losses by reason and time, missing ranks, steps of threads other than the
// lead, repairs, spans outside the window, scopes that control steps hide, an unchecked correction.
std::vector<std::string> Gaps(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
