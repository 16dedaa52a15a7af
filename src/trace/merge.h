// Joins traces of processes that were recorded apart.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::trace {

// Moves everything of `other` behind what `into` holds. Times of `other` are put on the clock of
// `into` if both know CLOCK_REALTIME; if not, they stay as they are, and a gap says so. A process
// whose key `into` already has gets a number behind its key. What only the files' formats can hold
// (Trace::kept and profiles, Track::file_pid and file_tid) is dropped from both.
void Append(Trace other, Trace* into);

}  // namespace crosscut::trace
