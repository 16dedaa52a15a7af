#include "src/base/crc32c.h"

#include <string.h>

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif
#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace crosscut::base {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

struct Tables {
  std::array<std::array<uint32_t, 256>, 8> t{};
  constexpr Tables() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
      t[0][i] = crc;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xff];
    }
  }
};
constexpr Tables kTables;

uint64_t Load64(const uint8_t* at) {
  uint64_t value;
  memcpy(&value, at, 8);
  return value;
}

#if defined(__x86_64__)
// Three independent chains hide the instruction's latency of three cycles; their CRCs are joined
// by a multiplication in the field, done here by a table of "advance by kLane zero bytes".
constexpr size_t kLane = 1024;

constexpr uint32_t AdvanceByte(uint32_t crc) { return crc >> 8 ^ kTables.t[0][crc & 0xff]; }

struct Shift {
  std::array<std::array<uint32_t, 256>, 4> t{};
  // CRCs are linear: a byte's entry is the sum of those of its bits. At compile time, for at run
  // time it would cost each process 2 ms.
  constexpr Shift() {
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t crc = uint32_t{1} << bit;
      for (size_t n = 0; n < kLane; ++n) crc = AdvanceByte(crc);
      auto& entries = t[bit / 8];
      const uint32_t first = uint32_t{1} << bit % 8;
      for (uint32_t i = 0; i < first; ++i) entries[first + i] = entries[i] ^ crc;
    }
  }
  uint32_t Apply(uint32_t crc) const {
    return t[0][crc & 0xff] ^ t[1][crc >> 8 & 0xff] ^ t[2][crc >> 16 & 0xff] ^ t[3][crc >> 24];
  }
};
constexpr Shift kShift;

__attribute__((target("sse4.2"))) uint32_t Hardware(const uint8_t* at, size_t bytes,
                                                    uint32_t start) {
  uint64_t crc = start;
  while (bytes >= 3 * kLane) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      crc = _mm_crc32_u64(crc, Load64(at + i));
      second = _mm_crc32_u64(second, Load64(at + kLane + i));
      third = _mm_crc32_u64(third, Load64(at + 2 * kLane + i));
    }
    crc = kShift.Apply(static_cast<uint32_t>(crc)) ^ second;
    crc = kShift.Apply(static_cast<uint32_t>(crc)) ^ third;
    at += 3 * kLane;
    bytes -= 3 * kLane;
  }
  for (; bytes >= 8; bytes -= 8, at += 8) crc = _mm_crc32_u64(crc, Load64(at));
  uint32_t last = static_cast<uint32_t>(crc);
  for (; bytes > 0; --bytes, ++at) last = _mm_crc32_u8(last, *at);
  return last;
}
bool HasHardware() {
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t Hardware(const uint8_t* at, size_t bytes, uint32_t crc) {
  for (; bytes >= 8; bytes -= 8, at += 8) crc = __crc32cd(crc, Load64(at));
  for (; bytes > 0; --bytes, ++at) crc = __crc32cb(crc, *at);
  return crc;
}
bool HasHardware() {
  static const bool has = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
  return has;
}
#else
uint32_t Hardware(const uint8_t*, size_t, uint32_t crc) { return crc; }
bool HasHardware() { return false; }
#endif

}  // namespace

uint32_t Crc32cPortable(const void* data, size_t bytes, uint32_t crc) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  crc = ~crc;
  const auto& t = kTables.t;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const uint64_t v = Load64(at) ^ crc;
    crc = t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^ t[4][v >> 24 & 0xff] ^
          t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^ t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
  }
  for (; bytes > 0; --bytes, ++at) crc = crc >> 8 ^ t[0][(crc ^ *at) & 0xff];
  return ~crc;
}

uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc) {
  if (!HasHardware()) return Crc32cPortable(data, bytes, crc);
  return ~Hardware(static_cast<const uint8_t*>(data), bytes, ~crc);
}

}  // namespace crosscut::base
