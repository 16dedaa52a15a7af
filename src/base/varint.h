// Variable-length integers: seven bits a byte, lowest first; the top bit is set on all but the last
// byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::base {

inline constexpr size_t kMaxVarintBytes = 10;

// Writes `value` at `out`, which has room for kMaxVarintBytes, and returns the place behind it.
inline uint8_t* PutVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Reads a number from [at, end) into `value`; returns the place behind it, or null where it is cut
// off or does not fit into 64 bits.
inline const uint8_t* GetVarint(const uint8_t* at, const uint8_t* end, uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 64 && at != end; shift += 7) {
    const uint64_t byte = *at++;
    if (shift == 63 && byte > 1) return nullptr;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return at;
    }
  }
  return nullptr;
}

// Maps signed numbers near 0 to unsigned numbers near 0.
inline constexpr uint64_t ZigZag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

}  // namespace crosscut::base
