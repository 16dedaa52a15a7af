// Losses that no thread's own stream can tell: of threads without a state, of names, of what
// interrupts a mark.
#pragma once

#include <cstdint>

namespace crosscut::record {

// One more, by format::DropReason, in the slot of the ring that all threads share. Nothing where
// nothing is recorded. Any thread.
void CountShared(uint8_t reason);

}  // namespace crosscut::record
