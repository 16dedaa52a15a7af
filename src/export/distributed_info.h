// The place of a trace among the ranks of a job, in Kineto's words.
#pragma once

#include <string>

#include "src/trace/trace.h"

namespace crosscut::exporting {

// The JSON object "distributedInfo". For the lowest rank in the trace: the object that it states
// itself, else its number and the number of ranks. For a trace without ranks: that it is the only
// one.
std::string DistributedInfo(const trace::Trace& trace);

}  // namespace crosscut::exporting
