#include "src/import/chrome/json_event.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace crosscut::import {
namespace {

constexpr int64_t kMostNs = 4'000'000'000'000'000'000;    // the year 2096
constexpr int64_t kMostDigits = 900'000'000'000'000'000;  // one more fits
constexpr int kMostExponent = 1000;

// Of "1.615207264505e+15" every digit counts: a double has no room for nanoseconds of a year.
int64_t WithExponent(std::string_view number) {
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  int64_t digits = 0;
  int scale = 3, exponent = 0;  // in nanoseconds
  size_t at = 0;
  bool point = false;
  for (; at < number.size() && ((number[at] >= '0' && number[at] <= '9') || number[at] == '.');
       ++at) {
    if (number[at] == '.') {
      if (std::exchange(point, true)) return JsonEvent::kNoTime;
    } else if (digits < kMostDigits) {
      digits = digits * 10 + (number[at] - '0');
      scale -= point ? 1 : 0;
    } else {
      scale += point ? 0 : 1;
    }
  }
  if (at == 0 || at == number.size() || (number[at] | 0x20) != 'e') return JsonEvent::kNoTime;
  ++at;
  if (at < number.size() && number[at] == '+') ++at;
  const auto [rest, trouble] =
      std::from_chars(number.data() + at, number.data() + number.size(), exponent);
  if (trouble != std::errc() || rest != number.data() + number.size()) return JsonEvent::kNoTime;
  if (digits == 0 || exponent < -kMostExponent) return 0;
  if (exponent > kMostExponent) return JsonEvent::kNoTime;
  for (scale += exponent; scale < 0 && digits > 0; ++scale) {
    digits = (digits + (scale == -1 ? 5 : 0)) / 10;
  }
  for (; scale > 0; --scale) {
    if (digits > kMostNs / 10) return JsonEvent::kNoTime;
    digits *= 10;
  }
  return digits > kMostNs ? JsonEvent::kNoTime : negative ? -digits : digits;
}

// The escape \uXXXX at `at`; 0 where there is none.
uint32_t EscapeAt(std::string_view text, size_t at) {
  uint32_t code = 0;
  if (at + 6 > text.size() || text.substr(at, 2) != "\\u") return 0;
  const auto [end, error] = std::from_chars(text.data() + at + 2, text.data() + at + 6, code, 16);
  return error == std::errc() && end == text.data() + at + 6 ? code : 0;
}

// Puts the escape of U+FFFD in place of each that is half a character; returns how many.
uint64_t ReplaceHalves(std::string* text) {
  uint64_t replaced = 0;
  for (size_t at = 0; at < text->size(); ++at) {
    if ((*text)[at] != '\\') continue;
    const uint32_t kind = EscapeAt(*text, at) >> 10;
    const bool first = kind == 0xd800 >> 10, second = kind == 0xdc00 >> 10;
    if (first && EscapeAt(*text, at + 6) >> 10 == 0xdc00 >> 10) {
      at += 11;
    } else if (first || second) {
      text->replace(at, 6, "\\ufffd");
      ++replaced;
      at += 5;
    } else {
      ++at;  // what it escapes may be a backslash
    }
  }
  return replaced;
}

}  // namespace

std::string_view WithoutEscapes(std::string_view text, std::string* space, uint64_t* halves) {
  if (text.empty() || memchr(text.data(), '\\', text.size()) == nullptr) return text;
  simdjson::dom::parser parser;
  std::string_view clean;
  std::string quoted = "\"" + std::string(text) + "\"";
  if (parser.parse(quoted).get(clean)) {
    const uint64_t replaced = ReplaceHalves(&quoted);
    if (parser.parse(quoted).get(clean)) return text;
    if (halves != nullptr) *halves += replaced;
  }
  *space = clean;
  return *space;
}

int64_t MicrosecondsToNs(std::string_view number) {
  const char* at = number.data();
  const char* const end = at + number.size();
  int64_t whole = 0;
  const bool negative = at != end && *at == '-';
  const auto [point, error] = std::from_chars(at + (negative ? 1 : 0), end, whole);
  if (error != std::errc() || whole > kMostNs / 1000) return JsonEvent::kNoTime;
  int64_t ns = whole * 1000;
  at = point;
  if (at != end && *at == '.') {
    int64_t unit = 100;
    for (++at; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10) {
      if (unit > 0) {
        ns += (*at - '0') * unit;
      } else if (at == point + 4 && *at >= '5') {
        ++ns;  // the fourth decimal rounds
      }
    }
  }
  if (at == end) return negative ? -ns : ns;
  return WithExponent(number);
}

}  // namespace crosscut::import
