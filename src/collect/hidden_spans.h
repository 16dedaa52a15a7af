// Spans that a thread begins while nobody sees it: in a control step, in a pause, or while the ring
// is full. They are remembered, and written once the thread's marks are seen again, so that an end
// meets its begin. Of the thread itself alone.
#pragma once

#include <cstdint>

#include "src/collect/session_stream.h"
#include "src/collect/thread_state.h"

namespace crosscut::record {

// Remembers a begin, forgets it at its end. False for an event that must be written all the same:
// the end of a span begun before. `names` tells what ends by name.
bool Hide(ThreadState* s, const SessionStream& names, uint64_t code, const uint64_t* payload);

bool BeginsSpan(uint64_t code);

}  // namespace crosscut::record
