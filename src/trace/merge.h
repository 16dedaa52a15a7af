// Several traces as one: processes that were recorded apart.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::trace {

// Moves everything of `other` behind what `into` holds. Times of `other` are put on the clock of
// `into` where both know CLOCK_REALTIME; where one does not, they stay, and a gap says so. Keys of
// processes that `into` has already get a number.
void Append(Trace other, Trace* into);

}  // namespace crosscut::trace
