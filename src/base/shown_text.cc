#include "src/base/shown_text.h"

#include <algorithm>
#include <cstdio>

#include "src/base/utf8.h"

namespace crosscut::base {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

void AppendUtf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | c >> 18));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

// One character from `text` at *at, which moves on; kReplacement for what is no UTF-8.
char32_t Next(std::string_view text, size_t* at) {
  size_t skip = 0;
  const size_t length = Utf8Length(text.substr(*at), &skip);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data() + *at);
  *at += length == 0 ? skip : length;
  if (length == 0) return kReplacement;
  char32_t c = length == 1 ? bytes[0] : bytes[0] & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) c = c << 6 | (bytes[i] & 0x3F);
  return c;
}

// Characters that show nothing themselves and change how others are shown.
bool HidesText(char32_t c) {
  return c == 0x00AD || c == 0x061C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

bool IsNoCharacter(char32_t c) {
  return (c >= 0x80 && c < 0xA0) || (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
}

void AppendVisible(char32_t c, std::string* out) {
  if (c < 0x20) {
    AppendUtf8(0x2400 + c, out);
  } else if (c == 0x7F) {
    AppendUtf8(0x2421, out);
  } else if (HidesText(c)) {
    char code[16];
    std::snprintf(code, sizeof code, "<U+%04X>", static_cast<unsigned>(c));
    out->append(code);
  } else {
    AppendUtf8(IsNoCharacter(c) ? kReplacement : c, out);
  }
}

}  // namespace

std::string ShownText(std::string_view text, size_t max_bytes, size_t* used) {
  std::string out;
  size_t at = 0;
  out.reserve(std::min(text.size(), max_bytes) + 8);
  while (at < text.size() && at < max_bytes) AppendVisible(Next(text, &at), &out);
  if (used != nullptr) *used = at;
  return out;
}

std::string ShownLines(std::string_view lines) {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    out += ShownText(lines.substr(at, end - at));
    if (end < lines.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace crosscut::base
