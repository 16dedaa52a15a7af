#include "src/base/json_text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/utf8.h"

namespace crosscut::base {
namespace {

// ASCII that stands for itself in a string.
bool Plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// Whether all eight bytes are: then no subtraction borrows from the next byte, and else the lowest
// that is not one leaves its highest bit set.
bool EightPlain(const char* text) {
  constexpr uint64_t kEach = 0x0101010101010101;
  uint64_t eight;
  memcpy(&eight, text, sizeof eight);
  const uint64_t not_plain = eight | (eight + kEach) | (eight - 0x20 * kEach) |
                             ((eight ^ '"' * kEach) - kEach) | ((eight ^ '\\' * kEach) - kEach);
  return (not_plain & 0x80 * kEach) == 0;
}

size_t PlainBytes(std::string_view text) {
  size_t at = 0;
  while (text.size() - at >= sizeof(uint64_t) && EightPlain(text.data() + at)) {
    at += sizeof(uint64_t);
  }
  while (at < text.size() && Plain(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

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

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (;;) {
    const size_t plain = PlainBytes(text);
    out->append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    size_t bytes = 1;  // of what stands next
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      AppendControl(static_cast<unsigned char>(text[0]), out);
    } else if (const size_t valid = Utf8Length(text, &bytes); valid != 0) {
      out->append(text.data(), bytes = valid);
    } else {
      *out += "\xef\xbf\xbd";
    }
    text.remove_prefix(bytes);
  }
  *out += '"';
}

}  // namespace crosscut::base
