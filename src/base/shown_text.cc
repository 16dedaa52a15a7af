#include "src/base/shown_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

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
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte((*at)++);
  if (first < 0x80) return first;
  int more = 0;
  char32_t c = 0;
  if (first >= 0xC2 && first < 0xE0) {
    more = 1, c = first & 0x1F;
  } else if (first >= 0xE0 && first < 0xF0) {
    more = 2, c = first & 0x0F;
  } else if (first >= 0xF0 && first < 0xF5) {
    more = 3, c = first & 0x07;
  } else {
    return kReplacement;
  }
  constexpr std::array<char32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
  size_t i = *at;
  for (int k = 0; k < more; ++k, ++i) {
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80) return kReplacement;
    c = c << 6 | (byte(i) & 0x3F);
  }
  if (c < kSmallest[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return kReplacement;
  *at = i;
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

}  // namespace crosscut::base
