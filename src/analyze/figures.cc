#include "src/analyze/figures.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace crosscut::analyze {

namespace {

constexpr struct {
  double ns;
  const char* name;
} kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
constexpr double kToNext = 0.9995;  // what rounds up to 1 has that unit

std::string InUnit(double value, const char* unit) {
  const int decimals = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char text[48];
  snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

}  // namespace

std::string TimeText(int64_t ns) {
  for (const auto& unit : kUnits) {
    const double value = static_cast<double>(ns) / unit.ns;
    if (value >= kToNext) return InUnit(value, unit.name);
  }
  return std::to_string(ns) + " ns";
}

std::string TimeOfText(int64_t part, int64_t whole) {
  constexpr double kLeast = 0.01;  // then three digits do not tell much
  std::string text = TimeText(part);
  for (const auto& unit : kUnits) {
    if (static_cast<double>(whole) / unit.ns < kToNext) continue;
    const double value = static_cast<double>(part) / unit.ns;
    if (value >= kLeast) text = InUnit(value, unit.name);
    break;
  }
  return text + " of " + TimeText(whole);
}

std::string BytesText(int64_t bytes) {
  constexpr std::pair<int, const char*> kUnits[] = {
      {40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [bits, unit] : kUnits) {
    if (bytes < int64_t{1} << bits) continue;
    char text[32];
    snprintf(text, sizeof text, "%.4g %s",
             static_cast<double>(bytes) / static_cast<double>(int64_t{1} << bits), unit);
    return text;
  }
  return std::to_string(bytes) + " bytes";
}

std::string ShareText(double share) {
  char text[48];
  snprintf(text, sizeof text, share < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}

std::string ShareText(double share, double error) {
  char text[48];
  snprintf(text, sizeof text, "%.*f %%", error >= 0.005 ? 0 : error >= 0.0005 ? 1 : 2, 100 * share);
  return text;
}

}  // namespace crosscut::analyze
