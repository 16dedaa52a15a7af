#include "src/base/json_text.h"

#include <cstddef>
#include <cstdint>

namespace crosscut::base {
namespace {

bool Plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void AppendControl(unsigned char c, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default: break;
  }
  *out += "\\u00";
  *out += kHex[c >> 4];
  *out += kHex[c & 15];
}

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

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && Plain(static_cast<unsigned char>(text[plain]))) ++plain;
    out->append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c < 0x80) {
      AppendControl(c, out);
      text.remove_prefix(1);
      continue;
    }
    size_t skip;
    const size_t length = Utf8Length(text, &skip);
    if (length == 0)
      *out += "\xef\xbf\xbd";
    else
      out->append(text.data(), length);
    text.remove_prefix(length == 0 ? skip : length);
  }
  *out += '"';
}

}  // namespace crosscut::base
