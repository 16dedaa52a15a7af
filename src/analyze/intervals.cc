#include "src/analyze/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace crosscut::analyze {
namespace {

constexpr size_t kFewest = 3;
// Blocks that overlap tell more than those beside each other.
constexpr double kFreedomOfBlock = 1.2;

}  // namespace

double StudentFactor(double freedom) {
  return (1.96 + 2.4 / freedom) * std::sqrt((freedom + 1) / freedom);
}

Ratio RatioOf(std::span<const double> parts, std::span<const double> wholes) {
  const size_t n = parts.size();
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  const double ratio = std::accumulate(parts.begin(), parts.end(), 0.0) / whole;
  if (n < kFewest) return {ratio, std::numeric_limits<double>::infinity()};
  const auto length = static_cast<size_t>(std::sqrt(static_cast<double>(n)));
  const auto beyond = [&](size_t i) { return parts[i % n] - ratio * wholes[i % n]; };
  double block = 0, squares = 0;
  for (size_t i = 0; i < length; ++i) block += beyond(i);
  for (size_t i = 0; i < n; ++i) {
    squares += block * block;
    block += beyond(i + length) - beyond(i);
  }
  const double blocks = static_cast<double>(n) / static_cast<double>(length);
  const double error = std::sqrt(squares / static_cast<double>(length) * blocks / (blocks - 1));
  return {ratio, StudentFactor(kFreedomOfBlock * blocks - 1) * error / whole};
}

ShareBounds SharesOfDraws(double share, double draws) {
  if (draws <= 0) return {0, 1};
  constexpr double kSquare = 1.96 * 1.96;
  const double middle = share + kSquare / (2 * draws);
  const double half =
      std::sqrt(kSquare * (share * (1 - share) / draws + kSquare / (4 * draws * draws)));
  const double scale = 1 + kSquare / draws;
  return {std::clamp((middle - half) / scale, 0.0, share),
          std::clamp((middle + half) / scale, share, 1.0)};
}

}  // namespace crosscut::analyze
