// Which processes of a run have a verdict.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"

namespace crosscut::analyze {

// Helpers of the processes that make the steps are told through them; without steps those that
// handle requests speak, and those that work beside them; without any the process of which most
// time is known, and the longest where none is.
// In the trace's order.
std::vector<uint32_t> WhoSpeaks(const Context& context);

}  // namespace crosscut::analyze
