// What the processes of a job are: ranks, and Ray's actors and workers.
#pragma once

#include <string>

#include "src/trace/trace.h"

namespace crosscut::import {

// Names a process "rank N" if it states that it is one of several ranks and nobody has set a name
// for it, which Python's multiprocessing does for all. Its children, which inherit what it states,
// and its launcher keep their names. An actor of Ray that the program gave no name is "CLASS (rank
// N)". Requires: parents are linked.
void NameRanks(trace::Trace* trace);

// Workers of Ray that ended without stopping, but in no operation, count as complete. Returns the
// gap that tells how many those are, "" where there are none. Requires: tracks are finished.
std::string ExplainWorkers(trace::Trace* trace);

}  // namespace crosscut::import
