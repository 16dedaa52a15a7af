// What a trace says of itself is missing, guessed or repaired, in sentences: the one list for every
// report, and for every file that is exported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// Most serious first: the trace's own gaps, incomplete processes, sources that failed, what plugins
// had not handed over, losses by reason and time, missing ranks, repairs, spans outside the window.
// None twice.
std::vector<std::string> Gaps(const Trace& trace);

// "3 events missing (full)", for where it stands in time.
std::string Missing(const Trace& trace, const Loss& loss);

// To the millisecond: "2.050 s".
std::string Seconds(int64_t ns);

}  // namespace crosscut::trace
