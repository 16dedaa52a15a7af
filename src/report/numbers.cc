#include "src/report/numbers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace crosscut::report {

std::string FormatCount(int64_t count) {
  const std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string FormatNs(int64_t ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
  const double size = std::abs(static_cast<double>(ns));
  for (const Unit& unit : kUnits) {
    if (size < unit.ns * 0.99995) continue;
    const double value = static_cast<double>(ns) / unit.ns;
    if (std::abs(value) >= 9999.5) return FormatCount(std::lround(value)) + " " + unit.name;
    const double whole = std::abs(value);
    const int decimals = whole >= 999.95 ? 0 : whole >= 99.995 ? 1 : whole >= 9.9995 ? 2 : 3;
    char text[48];
    std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit.name);
    return text;
  }
  return std::to_string(ns) + " ns";
}

std::string FormatPercent(double part, double whole, bool short_form) {
  if (whole == 0 || std::isnan(part) || std::isnan(whole)) return "";
  const double percent = 100 * part / whole;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %%", !short_form && std::abs(percent) < 9.995 ? 2 : 1,
                percent);
  return text;
}

std::string RealText(double value) {
  if (!std::isfinite(value)) return "";
  char text[40];
  const bool whole = std::abs(value) < 0x1p63 && std::trunc(value) == value;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.15g", value);
  return text;
}

}  // namespace crosscut::report
