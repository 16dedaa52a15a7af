#include "src/base/quantity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <span>

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
  const size_t decimal = strspn(text, "+-.0123456789");
  char* end = nullptr;
  *number = strtod(text, &end);
  *unit = end;
  return decimal > 0 && end != text && text[decimal] != 'x' && text[decimal] != 'X';
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
