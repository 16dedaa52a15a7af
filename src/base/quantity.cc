#include "src/base/quantity.h"

#include <string.h>
#include <strings.h>

#include <charconv>
#include <span>
#include <system_error>

namespace crosscut::base {
namespace {

struct Unit {
  const char* name;
  double size;
};
constexpr Unit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1},
                           {"sec", 1},   {"m", 60},    {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr Unit kSizes[] = {{"k", 1.0 / 1024}, {"m", 1}, {"g", 1024}, {"t", 1024 * 1024}};

// A number in front of `*unit`, where its unit begins. False for hexadecimal, inf and nan.
bool TakeNumber(const char* text, double* number, const char** unit) {
  *number = ReadNumber(text, unit);
  return *unit != text && **unit != 'x' && **unit != 'X';
}

bool TakeUnit(std::span<const Unit> units, const char* name, double number, double* value) {
  for (const Unit& unit : units) {
    if (strcasecmp(unit.name, name) != 0) continue;
    *value = number * unit.size;
    return true;
  }
  return false;
}

}  // namespace

double ReadNumber(const char* text, const char** end) {
  const char* begin = text + strspn(text, " \t");
  if (*begin == '+') ++begin;
  double number = 0;
  const size_t length = strspn(begin, "-.0123456789eE+");  // neither "inf" nor "nan"
  const auto [at, error] = std::from_chars(begin, begin + length, number);
  *end = error == std::errc() ? at : text;
  return error == std::errc() ? number : 0;
}

void WriteNumber(double number, char* text, size_t size) {
  const auto [end, error] =
      std::to_chars(text, text + size - 1, number, std::chars_format::general, 6);
  *(error == std::errc() ? end : text) = '\0';
}

bool ParseSeconds(const char* text, double* seconds) {
  double number = 0;
  const char* unit = nullptr;
  if (!TakeNumber(text, &number, &unit)) return false;
  return TakeUnit(kTimes, *unit == '\0' ? "s" : unit, number, seconds);
}

bool ParseMebibytes(const char* text, double* mib) {
  double number = 0;
  const char* unit = nullptr;
  if (!TakeNumber(text, &number, &unit)) return false;
  const char letter[] = {*unit == '\0' ? 'M' : *unit, '\0'};
  const char* const rest = *unit == '\0' ? unit : unit + 1;
  const bool known = *rest == '\0' || strcasecmp(rest, "b") == 0 || strcasecmp(rest, "ib") == 0;
  return known && TakeUnit(kSizes, letter, number, mib);
}

}  // namespace crosscut::base
