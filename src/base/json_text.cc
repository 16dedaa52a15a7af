#include "src/base/json_text.h"

#include <cstddef>

#include "src/base/utf8.h"

namespace crosscut::base {
namespace {

bool Plain(unsigned char c) { return c >= 0x20 && c != 0x7f && c != '"' && c != '\\'; }

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
  std::string clean;
  if (!IsUtf8(text)) text = clean = CleanUtf8(text);
  *out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && Plain(static_cast<unsigned char>(text[plain]))) ++plain;
    out->append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    AppendControl(static_cast<unsigned char>(text[0]), out);
    text.remove_prefix(1);
  }
  *out += '"';
}

}  // namespace crosscut::base
