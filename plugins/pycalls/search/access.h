// What may be done with an address, asked of the kernel: method tables can lie in memory that was
// made read-only after relocation, and writing there would be a fault. Nothing is changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::pycalls {

// What is true of an address is true of all between two multiples of this.
inline constexpr uintptr_t kPage = 4096;

bool MayRead(const void* address, size_t bytes);
// Of a pointer at its own alignment.
bool MayWrite(void** address);

}  // namespace crosscut::pycalls
