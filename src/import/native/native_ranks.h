// Names processes that are ranks of a job.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::import {

// Names a process "rank N" if it states that it is one of several ranks and has not set a name for
// itself. Its children, which inherit what it states, and its launcher keep their names. Requires:
// parents are linked.
void NameRanks(trace::Trace* trace);

}  // namespace crosscut::import
