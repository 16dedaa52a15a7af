#include "src/analyze/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMostBlocks = 60;
constexpr size_t kLeastBlocks = 4;  // of a segment
constexpr size_t kFewest = 26;      // values that two levels are told from
constexpr double kAstray = 0.05;    // of these, at most
constexpr size_t kFinest = 4096;    // blocks that they are sought in
constexpr double kFalseAlarms = 0.001;
constexpr double kLeastChange = 0.1;
constexpr double kClear = 5;     // deviations of blocks: noise that is alike makes less
constexpr double kLeastOut = 3;  // what lies nearer has a chance of more than kFalseAlarms

// Twice the rank of each value, so that the ranks of equal ones are whole, too.
std::vector<size_t> DoubledRanks(std::span<const double> values) {
  std::vector<size_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  for (size_t first = 0, last; first < order.size(); first = last) {
    last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) ranks[order[i]] = first + last + 1;
  }
  return ranks;
}

struct Window {
  size_t begin = 0, end = 0;
  double out = 0;    // deviations from the expected rank sum
  double tried = 0;  // windows in all
};

Window FarthestOut(std::span<const double> values) {
  const size_t n = values.size();
  const std::vector<size_t> ranks = DoubledRanks(values);
  std::vector<double> sums = {0};
  double squares = 0;
  const auto mean = static_cast<double>(n + 1);  // of doubled ranks
  for (const size_t rank : ranks) {
    sums.push_back(sums.back() + static_cast<double>(rank) - mean);
    squares += (static_cast<double>(rank) - mean) * (static_cast<double>(rank) - mean);
  }
  Window best;
  if (squares <= 0) return best;  // all are equal
  for (size_t begin = 0; begin < n; ++begin) {
    if (begin > 0 && begin < kLeastBlocks) continue;
    // One to the end is told by its complement.
    for (size_t end = begin + kLeastBlocks; end + kLeastBlocks <= n; ++end) {
      const auto length = static_cast<double>(end - begin), all = static_cast<double>(n);
      const double variance = squares * length * (all - length) / (all * (all - 1));
      const double out = std::abs(sums[end] - sums[begin]) / std::sqrt(variance);
      ++best.tried;
      if (out > best.out) best.begin = begin, best.end = end, best.out = out;
    }
  }
  return best;
}

// The two levels of values that lie near one of them each; equal: there are no such.
struct Levels {
  double low = 0, high = 0;
  double middle() const { return std::sqrt(low * high); }
};

// The medians of both sides of Otsu's threshold (1979) for the values' logarithms, of which each
// side has a twentieth at least, where they are kClear deviations apart: unimodal values make less.
Levels LevelsOf(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (value <= 0) return {};
    logs.push_back(std::log(value));
  }
  std::sort(logs.begin(), logs.end());
  const size_t n = logs.size(), least = n / 20 + 1;
  std::vector<double> sums = {0};
  for (const double log : logs) sums.push_back(sums.back() + log);
  double most = 0;
  size_t cut = 0;
  for (size_t i = least; i + least <= n; ++i) {
    const auto left = static_cast<double>(i), right = static_cast<double>(n - i);
    const double between = sums[i] / left - (sums[n] - sums[i]) / right;
    const double varies = left * right * between * between;
    if (varies > most) most = varies, cut = i;
  }
  if (cut == 0) return {};
  const double low = logs[cut / 2], high = logs[cut + (n - cut) / 2];
  std::vector<double> off;
  for (size_t i = 0; i < n; ++i) off.push_back(std::abs(logs[i] - (i < cut ? low : high)));
  if (high - low < kClear * 1.4826 * MiddleOf(off)) return {};
  return {std::exp(low), std::exp(high)};
}

// How likely so few runs of equal labels, or fewer, are if labels come in any order (Wald and
// Wolfowitz). Requires: both occur.
double RunsChance(const std::vector<bool>& labels) {
  const auto n = static_cast<double>(labels.size());
  const auto ones = static_cast<double>(std::count(labels.begin(), labels.end(), true));
  size_t runs = 1;
  for (size_t i = 1; i < labels.size(); ++i) runs += labels[i] != labels[i - 1];
  const auto choose = [](double of, double taken) -> double {
    if (taken > of) return -INFINITY;
    return std::lgamma(of + 1) - std::lgamma(taken + 1) - std::lgamma(of - taken + 1);
  };
  double chance = 0;
  for (size_t r = 2; r <= runs; ++r) {
    const size_t pairs = r / 2;
    const auto half = static_cast<double>(pairs);
    for (const auto& [x, y] : {std::pair(ones, n - ones), {n - ones, ones}}) {
      const double more = r % 2 == 0 ? half : half + 1;
      chance += std::exp(choose(x - 1, more - 1) + choose(y - 1, half - 1) - choose(n, ones));
    }
  }
  return chance;
}

// Where stretches of the other label begin: where labels that do not fit, and stretches, each of
// which counts as `cost` of these, are fewest. A stretch has more labels than two of them cost.
std::vector<size_t> Stretches(const std::vector<bool>& labels, double cost) {
  double best[2] = {0, 0};  // up to a label, in a stretch of either
  std::vector<std::array<bool, 2>> switched;
  for (const bool label : labels) {
    std::array<bool, 2> from{};
    double next[2];
    for (const int in : {0, 1}) {
      from[in] = best[1 - in] + cost < best[in];
      next[in] = std::min(best[in], best[1 - in] + cost) + (label != (in == 1));
    }
    std::copy(next, next + 2, best);
    switched.push_back(from);
  }
  std::vector<size_t> out;
  int in = best[1] < best[0];
  for (size_t i = labels.size(); i-- > 1;) {
    if (!switched[i][in]) continue;
    out.push_back(i);
    in = 1 - in;
  }
  std::reverse(out.begin(), out.end());
  if (!out.empty() && static_cast<double>(labels.size() - out.back()) <= 2 * cost) out.pop_back();
  if (!out.empty() && static_cast<double>(out.front()) <= 2 * cost) out.erase(out.begin());
  return out;
}

// What blocks are off a line through their segment each, and how alike neighbours are in that.
struct Residuals {
  double squares = 0, products = 0;
  std::vector<double> distances;
  void Add(std::span<const double> blocks) {
    const auto n = static_cast<double>(blocks.size());
    double mean = 0, slope = 0, last = 0;
    for (const double block : blocks) mean += block / n;
    const auto at = [&](size_t i) { return static_cast<double>(i) - (n - 1) / 2; };
    for (size_t i = 0; i < blocks.size(); ++i) slope += at(i) * (blocks[i] - mean);
    slope /= std::max(n * (n * n - 1) / 12, 1.0);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const double off = blocks[i] - mean - slope * at(i);
      squares += off * off, products += off * last;
      distances.push_back(std::abs(off));
      last = off;
    }
  }
};

// Where values from `begin` on to `end` fit `left` before and `right` behind best.
size_t BestCut(std::span<const double> values, size_t begin, size_t end, double left,
               double right) {
  double error = 0, least = 0;
  size_t best = begin;
  for (size_t i = begin; i < end; ++i) {
    error += std::abs(values[i] - left) - std::abs(values[i] - right);
    if (error < least) least = error, best = i + 1;
  }
  return best;
}

class Search {
 public:
  Search(std::span<const double> values, size_t most_blocks) : values_(values) {
    const size_t count = std::min(values.size(), most_blocks);
    for (size_t i = 0; i <= count; ++i)
      edges_.push_back(i * values.size() / std::max(count, size_t{1}));
    for (size_t i = 0; i < count; ++i) blocks_.push_back(Median(edges_[i], edges_[i + 1]));
  }

  std::vector<size_t> Run() {
    Cut(0, blocks_.size());
    std::sort(cuts_.begin(), cuts_.end());
    return Place();
  }

  // Between stretches of two clear levels; empty: there are no such, or they come in any order.
  std::vector<size_t> RunLevels() {
    const Levels levels = LevelsOf(blocks_);
    if (levels.high <= levels.low) return {};
    std::vector<bool> labels;
    for (const double block : blocks_) labels.push_back(block > levels.middle());
    if (RunsChance(labels) > kFalseAlarms / 8) return {};
    cuts_ = Stretches(labels, kLeastBlocks / 2.0);
    size_t at = 0, astray = 0;
    for (size_t i = 0; i <= cuts_.size(); ++i) {
      const size_t end = i == cuts_.size() ? labels.size() : cuts_[i];
      const auto high =
          static_cast<size_t>(std::count(labels.begin() + static_cast<ptrdiff_t>(at),
                                         labels.begin() + static_cast<ptrdiff_t>(end), true));
      astray += std::min(high, end - at - high);
      at = end;
    }
    if (astray > kAstray * labels.size()) cuts_.clear();  // in the main shorter ones
    return Place();
  }

  // How many blocks tell as much as these, whose neighbours may be alike (an autoregression's
  // effective number); all of them where every cut is clear. Requires: Run() found some.
  size_t Independent() const {
    Residuals residuals;
    double least = INFINITY;
    size_t begin = 0;
    for (size_t i = 0; i <= cuts_.size(); ++i) {
      const size_t end = i == cuts_.size() ? blocks_.size() : cuts_[i];
      residuals.Add(std::span(blocks_).subspan(begin, end - begin));
      if (i < cuts_.size()) least = std::min(least, std::abs(Left(i) - Right(i)));
      begin = end;
    }
    // A normal one by its median distance, which single long steps do not change.
    const double deviation = 1.4826 * MiddleOf(residuals.distances);
    if (least >= kClear * deviation || residuals.squares <= 0) return blocks_.size();
    // Lines through short segments hide how alike neighbours are: by (2 + 4 alike) / length.
    const double lines = static_cast<double>(cuts_.size() + 1);
    const auto all = static_cast<double>(blocks_.size());
    const double left = std::max(all - 4 * lines, 1.0);
    const double alike =
        std::clamp((residuals.products / residuals.squares * all + 2 * lines) / left, 0.0, 1.0);
    return static_cast<size_t>(all * (1 - alike) / (1 + alike));
  }

 private:
  // The values at which the segments begin.
  std::vector<size_t> Place() {
    Join();
    std::vector<size_t> out;
    for (size_t i = 0; i < cuts_.size(); ++i) {
      const size_t from = i == 0 ? 1 : out.back() + 1;
      const size_t to = i + 1 == cuts_.size() ? values_.size() - 1 : edges_[cuts_[i + 1]] - 1;
      out.push_back(BestCut(values_, from, to, Left(i), Right(i)));
    }
    return out;
  }

  double Median(size_t begin, size_t end) const {
    const std::span<const double> part = values_.subspan(begin, end - begin);
    return MiddleOf({part.begin(), part.end()});
  }
  // Of the values before and behind a cut, up to the next ones.
  double Left(size_t cut) const {
    return Median(cut == 0 ? 0 : edges_[cuts_[cut - 1]], edges_[cuts_[cut]]);
  }
  double Right(size_t cut) const {
    return Median(edges_[cuts_[cut]],
                  cut + 1 == cuts_.size() ? values_.size() : edges_[cuts_[cut + 1]]);
  }

  void Cut(size_t begin, size_t end) {
    const std::span<const double> blocks = std::span(blocks_).subspan(begin, end - begin);
    Window window = FarthestOut(blocks);
    double chance = 1;
    if (window.out >= kLeastOut) {
      chance = 2 * window.tried * RankSumChance(blocks, window.begin, window.end);
    }
    if (chance > kFalseAlarms) return;
    const size_t from = begin + window.begin, to = begin + window.end;
    if (from > begin) {
      cuts_.push_back(from);
      Cut(begin, from);
    }
    cuts_.push_back(to);
    Cut(from, to);
    Cut(to, end);
  }

  // Segments that are alike, the most alike first.
  void Join() {
    while (!cuts_.empty()) {
      double least = kLeastChange;
      size_t alike = cuts_.size();
      for (size_t i = 0; i < cuts_.size(); ++i) {
        const double left = Left(i), right = Right(i);
        const double lower = std::min(left, right);
        const double change = lower > 0 ? std::abs(left - right) / lower : kLeastChange;
        if (change < least) least = change, alike = i;
      }
      if (alike == cuts_.size()) return;
      cuts_.erase(cuts_.begin() + static_cast<std::ptrdiff_t>(alike));
    }
  }

  std::span<const double> values_;
  std::vector<size_t> edges_;  // of the blocks
  std::vector<double> blocks_;
  std::vector<size_t> cuts_;  // between blocks
};

}  // namespace

double RankSumChance(std::span<const double> values, size_t begin, size_t end) {
  const std::vector<size_t> ranks = DoubledRanks(values);
  const size_t n = ranks.size();
  size_t sum = std::accumulate(ranks.begin() + static_cast<std::ptrdiff_t>(begin),
                               ranks.begin() + static_cast<std::ptrdiff_t>(end), size_t{0});
  size_t taken = end - begin;
  const size_t all = n * (n + 1);
  if (2 * taken > n) taken = n - taken, sum = all - sum;
  // ways[k][s]: how many choices of k ranks add up to s.
  std::vector<std::vector<double>> ways(taken + 1, std::vector<double>(all + 1));
  ways[0][0] = 1;
  for (const size_t rank : ranks) {
    for (size_t k = taken; k > 0; --k) {
      for (size_t s = all; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  // From the mean, taken * (n + 1).
  const auto distance = [mean = taken * (n + 1)](size_t s) {
    return s < mean ? mean - s : s - mean;
  };
  double far = 0, total = 0;
  for (size_t s = 0; s <= all; ++s) {
    total += ways[taken][s];
    if (distance(s) >= distance(sum)) far += ways[taken][s];
  }
  return far / total;
}

std::vector<size_t> FindChanges(std::span<const double> values) {
  Search search(values, kMostBlocks);
  std::vector<size_t> found = search.Run();
  if (!found.empty()) {
    const size_t blocks = search.Independent();
    if (blocks < std::min(values.size(), kMostBlocks)) found = Search(values, blocks).Run();
  }
  for (size_t blocks = std::min(values.size(), kFinest); blocks >= kFewest; blocks /= 2) {
    std::vector<size_t> stretches = Search(values, blocks).RunLevels();
    if (stretches.size() > found.size()) return stretches;
  }
  return found;
}

}  // namespace crosscut::analyze
