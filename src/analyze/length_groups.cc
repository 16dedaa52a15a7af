#include "src/analyze/length_groups.h"

#include <algorithm>
#include <cmath>

#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr double kCentresApart = 1.3, kSpreadsApart = 4;
constexpr double kLeastShare = 0.02;
constexpr size_t kLeastSteps = 6;
constexpr int kSplits = 2;  // deep
constexpr double kSigmaPerMad = 1.4826;
constexpr double kLeastSpread = 0.01;

using Values = std::vector<double>;

// Where sorted values fall best into two groups: the size of the lower one. Least squares.
size_t BestSplit(const Values& sorted) {
  double total = 0;
  for (const double v : sorted) total += v;
  double best = -1, below = 0;
  size_t at = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    below += sorted[i - 1];
    const auto n = static_cast<double>(i), m = static_cast<double>(sorted.size() - i);
    const double between = below * below / n + (total - below) * (total - below) / m;
    if (at == 0 || between > best) best = between, at = i;
  }
  return at;
}

// Adds the upper ends of the groups of sorted log lengths, but the last one's.
void Split(const Values& sorted, size_t all, int depth, Values& ends) {
  const auto least = std::max(kLeastSteps, static_cast<size_t>(kLeastShare * double(all)));
  const size_t at = sorted.size() < 2 * least || depth == 0 ? 0 : BestSplit(sorted);
  if (at < least || sorted.size() - at < least) return;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(at);
  const Values low(sorted.begin(), middle), high(middle, sorted.end());
  const double low_centre = Quantile(low, 50), high_centre = Quantile(high, 50);
  const double spread = std::max(SpreadAround(low_centre, low), SpreadAround(high_centre, high));
  const double apart = high_centre - low_centre;
  if (apart < std::log(kCentresApart) || apart < kSpreadsApart * spread) return;
  Split(low, all, depth - 1, ends);
  ends.push_back((low.back() + high.front()) / 2);
  Split(high, all, depth - 1, ends);
}

}  // namespace

double SpreadAround(double centre, std::vector<double> values) {
  for (double& value : values) value = std::abs(value - centre);
  return std::max(kLeastSpread, kSigmaPerMad * Quantile(std::move(values), 50));
}

LengthGroups::LengthGroups(std::vector<double> log_lengths) {
  std::sort(log_lengths.begin(), log_lengths.end());
  Split(log_lengths, log_lengths.size(), kSplits, ends_);
}

size_t LengthGroups::Of(double log_length) const {
  return static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), log_length) -
                             ends_.begin());
}

}  // namespace crosscut::analyze
