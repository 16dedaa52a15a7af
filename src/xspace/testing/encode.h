// An encoder of protobuf's wire format that knows nothing of the product's: fields of a message, as
// bytes that are put one behind the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace crosscut::xspace {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}
inline std::string Number(uint64_t field, int64_t value) {
  return Varint(field << 3) + Varint(static_cast<uint64_t>(value));
}
inline std::string Text(uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
inline std::string Double(uint64_t field, double value) {
  std::string bytes(8, '\0');
  memcpy(bytes.data(), &value, 8);
  return Varint(field << 3 | 1) + bytes;
}

}  // namespace crosscut::xspace
