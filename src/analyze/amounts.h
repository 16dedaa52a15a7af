// Sums of what files state: bytes, operations. A sum that 64 bits do not hold is not known, and
// stays it, whatever is added.
#pragma once

#include <cstdint>

#include "src/analyze/table.h"

namespace crosscut::analyze {

inline constexpr int64_t kTooMuch = INT64_MAX;

inline int64_t Together(int64_t a, int64_t b) {
  int64_t sum = 0;
  const bool fits = a != kTooMuch && b != kTooMuch && !__builtin_add_overflow(a, b, &sum);
  return fits && sum != kMissing ? sum : kTooMuch;
}
inline int64_t Without(int64_t a, int64_t b) { return b == kTooMuch ? b : Together(a, -b); }
inline void AddTo(int64_t* sum, int64_t more) { *sum = Together(*sum, more); }

inline int64_t CellOf(int64_t amount) { return amount == kTooMuch ? kMissing : amount; }

}  // namespace crosscut::analyze
