// Losses that no thread's own stream can tell: of threads without a state, of names, of what
// interrupts a mark.
#pragma once

#include <cstdint>

namespace crosscut::record {

// So many more, by format::DropReason, in the slot of the ring that all threads share; fewer where
// what counted as lost is not. False where nothing is recorded. Any thread.
bool CountShared(uint8_t reason, int64_t more = 1);

}  // namespace crosscut::record
