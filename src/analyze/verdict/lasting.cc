#include "src/analyze/verdict/lasting.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "src/analyze/quantiles.h"
#include "src/analyze/verdict/process_causes.h"
#include "src/analyze/verdict/rules.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kFewest = 10;      // steps; fewer tell nothing
constexpr size_t kWarmUp = 5;       // a part of so many
constexpr double kComeAgain = 2.5;  // equally long ones, at least; three may differ

bool IsWorthSaying(std::span<const int64_t> parts, std::span<const int64_t> wholes) {
  const auto sum = [](std::span<const int64_t> of) {
    return std::accumulate(of.begin(), of.end(), int64_t{0});
  };
  return Share(sum(parts), sum(wholes)) >= kWorthSaying;
}

// Of equally long ones among them, as many as there would be: one that is far longer counts alone.
double LongOnes(std::span<const int64_t> parts) {
  const double usual = MiddleOf({parts.begin(), parts.end()});
  double sum = 0, squares = 0;
  for (const int64_t part : parts) {
    const double more = std::max(0.0, static_cast<double>(part) - usual);
    sum += more;
    squares += more * more;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

}  // namespace

bool Lasts(const std::vector<int64_t>& parts, const std::vector<int64_t>& wholes) {
  const size_t n = parts.size();
  if (n < kFewest) return true;  // no step is told apart of what is short, either
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t i = 0; i < n; ++i) steps.emplace_back(parts[i], wholes[i]);
  std::sort(steps.begin(), steps.end());
  steps.resize(n - static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(n)) / 2)));
  int64_t part = 0, whole = 0;
  for (const auto& [of_it, all] : steps) part += of_it, whole += all;
  if (Share(part, whole) >= kWorthSaying) return true;
  const auto later = [n](const std::vector<int64_t>& of) {
    return std::span(of).last(n - n / kWarmUp);
  };
  return IsWorthSaying(later(parts), later(wholes)) && LongOnes(later(parts)) >= kComeAgain;
}

}  // namespace crosscut::analyze
