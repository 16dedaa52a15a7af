#include "src/base/shown_text.h"

#include <algorithm>
#include <cstdio>

#include "src/base/utf8.h"

namespace crosscut::base {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

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

// `bytes`: those of the character.
void AppendVisible(char32_t c, std::string_view bytes, std::string* out) {
  if (c < 0x20 || c == 0x7F) {  // U+2400 and on, of which U+2421 is delete
    out->append("\xE2\x90").push_back(static_cast<char>(0x80 + (c == 0x7F ? 0x21 : c)));
  } else if (HidesText(c)) {
    char code[16];
    std::snprintf(code, sizeof code, "<U+%04X>", static_cast<unsigned>(c));
    out->append(code);
  } else {
    out->append(c == kReplacement || IsNoCharacter(c) ? "\xEF\xBF\xBD" : bytes);
  }
}

}  // namespace

std::string ShownText(std::string_view text, size_t max_bytes, size_t* used) {
  std::string out;
  size_t at = 0;
  out.reserve(std::min(text.size(), max_bytes) + 8);
  while (at < text.size() && at < max_bytes) {
    const size_t begin = at;
    const char32_t c = Next(text, &at);
    AppendVisible(c, text.substr(begin, at - begin), &out);
  }
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
