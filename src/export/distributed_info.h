// What a trace says of its place among the ranks of a job, in Kineto's words.
#pragma once

#include <string>

#include "src/trace/trace.h"

namespace crosscut::exporting {

// The JSON object "distributedInfo": of the lowest rank in the trace what it states itself, else
// its number and how many there are; of a trace without ranks that it is the only one.
std::string DistributedInfo(const trace::Trace& trace);

}  // namespace crosscut::exporting
