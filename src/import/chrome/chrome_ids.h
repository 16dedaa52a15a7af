// Ids in a Chrome trace: pids, thread ids, streams, correlations. Files that went through pandas or
// a script have them as fractions or as texts: 7, 7.0 and "7" are one id.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace crosscut::import {

// The id without decimals that are all zero; `text` itself where it has none or others.
std::string_view IdText(std::string_view text);

// Sets `*out` to the decimal number that all of `text` is; false where it is none that fits. Most
// arguments are short, and this reads them faster than from_chars.
inline bool Integer(std::string_view text, int64_t* out) {
  constexpr size_t kSurelyFits = 18;
  if (text.size() <= kSurelyFits) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    int64_t value = 0;
    for (const char c : text) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return false;
      value = value * 10 + digit;
    }
    if (text.empty()) return false;
    *out = negative ? -value : value;
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}
// The number of an id; `otherwise` where it is none.
inline int64_t NumberOf(std::string_view text, int64_t otherwise) {
  int64_t number = otherwise;
  return Integer(IdText(text), &number) ? number : otherwise;
}
// Whether the id is a number.
inline bool IsId(std::string_view text) {
  int64_t number = 0;
  return Integer(IdText(text), &number);
}

}  // namespace crosscut::import
