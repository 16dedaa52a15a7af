#include "src/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace crosscut::base {
namespace {

// What the first byte of a character says: its length and the bounds of its second byte (Unicode,
// table 3-7). Length 0: no first byte.
struct Lead {
  uint8_t length, low, high;
};

Lead LeadOf(unsigned char c) {
  if (c < 0x80) return {1, 0, 0};
  if (c >= 0xc2 && c <= 0xdf) return {2, 0x80, 0xbf};
  if (c == 0xe0) return {3, 0xa0, 0xbf};
  if (c == 0xed) return {3, 0x80, 0x9f};
  if (c >= 0xe1 && c <= 0xef) return {3, 0x80, 0xbf};
  if (c == 0xf0) return {4, 0x90, 0xbf};
  if (c >= 0xf1 && c <= 0xf3) return {4, 0x80, 0xbf};
  if (c == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

size_t Utf8Length(std::string_view text, size_t* skip) {
  const Lead lead = LeadOf(static_cast<unsigned char>(text[0]));
  *skip = 1;
  if (lead.length <= 1) return lead.length;
  for (size_t i = 1; i < lead.length; ++i) {
    *skip = i;
    if (i >= text.size()) return 0;
    const auto c = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (c < low || c > high) return 0;
  }
  return lead.length;
}

size_t Utf8Bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;  // most text is ASCII
    if (text.size() - at >= sizeof eight) {
      memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    size_t skip = 0;
    const size_t length = Utf8Length(text.substr(at), &skip);
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string CleanUtf8(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t valid = Utf8Bytes(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) return out;
    size_t skip = 0;
    Utf8Length(text, &skip);
    out += "\xef\xbf\xbd";
    text.remove_prefix(skip);
  }
}

}  // namespace crosscut::base
