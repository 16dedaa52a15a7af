// Processes that are ranks of a job.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::import {

// Names each process "rank N" that states to be one of several and gave itself no name. Its
// children, which inherit what it states, and its launcher keep theirs. Parents are linked.
void NameRanks(trace::Trace* trace);

}  // namespace crosscut::import
