#include "src/analyze/steps/step_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr double kWarmUpShare = 0.05, kWarmUpRatio = 1.25;
constexpr double kCentresApart = 1.3, kSpreadsApart = 4;
constexpr double kLeastShare = 0.02;
constexpr size_t kLeastSteps = 6;
constexpr int kSplits = 2;  // deep: at most four groups
constexpr double kUnusualRatio = 1.25, kUnusualDeviations = 5;
constexpr double kSigmaPerMad = 1.4826;
constexpr double kLeastSpread = 0.01;  // clocks and caches

using Values = std::vector<double>;
using Members = std::vector<uint32_t>;  // indices of steps, in order of time

double MedianOf(Values v) { return Quantile(std::move(v), 50); }

double SpreadAround(double centre, Values v) {
  for (double& x : v) x = std::abs(x - centre);
  return std::max(kLeastSpread, kSigmaPerMad * MedianOf(std::move(v)));
}

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

// Upper ends of the groups of sorted log lengths, the last one infinite.
void Split(const Values& sorted, size_t all, int depth, Values& ends) {
  const auto least = std::max(kLeastSteps, static_cast<size_t>(kLeastShare * double(all)));
  const size_t at = sorted.size() < 2 * least || depth == 0 ? 0 : BestSplit(sorted);
  if (at < least || sorted.size() - at < least) return;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(at);
  const Values low(sorted.begin(), middle), high(middle, sorted.end());
  const double low_centre = MedianOf(low), high_centre = MedianOf(high);
  const double spread = std::max(SpreadAround(low_centre, low), SpreadAround(high_centre, high));
  const double apart = high_centre - low_centre;
  if (apart < std::log(kCentresApart) || apart < kSpreadsApart * spread) return;
  Split(low, all, depth - 1, ends);
  ends.push_back((low.back() + high.front()) / 2);
  Split(high, all, depth - 1, ends);
}

class Kind {
 public:
  Kind(Members members, const Values& lengths) : members_(std::move(members)), log_(lengths) {}

  // Adds the classes of this kind.
  void Classify(const std::string& name, trace::StringId kind, StepClasses& out) {
    const size_t warm = WarmUp();
    if (warm > 0) {
      const uint32_t id = Add({name + ", warm-up", kind}, out);
      for (size_t i = 0; i < warm; ++i) out.of_step[members_[i]] = id;
      members_.erase(members_.begin(), members_.begin() + static_cast<ptrdiff_t>(warm));
    }
    Groups();
    NameGroups(name, kind, out);
  }

 private:
  static uint32_t Add(StepClass one, StepClasses& out) {
    out.classes.push_back(std::move(one));
    return static_cast<uint32_t>(out.classes.size() - 1);
  }
  Values LengthsOf(const Members& members) const {
    Values v;
    for (const uint32_t s : members) v.push_back(log_[s]);
    return v;
  }

  size_t WarmUp() const {
    const auto most = static_cast<size_t>(kWarmUpShare * static_cast<double>(members_.size()));
    const double limit = MedianOf(LengthsOf(members_)) + std::log(kWarmUpRatio);
    size_t n = 0;
    while (n < most && log_[members_[n]] > limit) ++n;
    return n;
  }

  void Groups() {
    Values sorted = LengthsOf(members_), ends;
    std::sort(sorted.begin(), sorted.end());
    Split(sorted, sorted.size(), kSplits, ends);
    ends.push_back(std::numeric_limits<double>::infinity());
    groups_.resize(ends.size());
    for (const uint32_t s : members_) {
      const auto at = std::lower_bound(ends.begin(), ends.end(), log_[s]) - ends.begin();
      groups_[static_cast<size_t>(at)].push_back(s);
    }
  }

  void NameGroups(const std::string& name, trace::StringId kind, StepClasses& out) {
    const auto largest = static_cast<size_t>(
        std::max_element(groups_.begin(), groups_.end(),
                         [](const Members& a, const Members& b) { return a.size() < b.size(); }) -
        groups_.begin());
    uint32_t unusual = StepClasses::kNone;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].empty()) continue;
      const size_t away = g > largest ? g - largest : largest - g;
      const std::string number = away > 1 ? " " + std::to_string(away) : "";
      const char* side = g == largest ? "" : g > largest ? ", longer" : ", shorter";
      const uint32_t id = Add({name + side + number, kind}, out);
      const Values lengths = LengthsOf(groups_[g]);
      const double centre = MedianOf(lengths);
      const double limit =
          std::max(std::log(kUnusualRatio), kUnusualDeviations * SpreadAround(centre, lengths));
      for (const uint32_t s : groups_[g]) {
        const bool usual = std::abs(log_[s] - centre) <= limit;
        if (!usual && unusual == StepClasses::kNone) unusual = Add({name + ", unusual", kind}, out);
        out.of_step[s] = usual ? id : unusual;
      }
    }
  }

  Members members_;
  const Values& log_;
  std::vector<Members> groups_;
};

double RatioOf(const Inflation& inflation, uint8_t level) {
  for (const LevelInflation& l : inflation.levels) {
    if (l.level == level) return std::max(1.0, l.ratio);
  }
  return 1;
}

}  // namespace

StepClasses ClassifySteps(const trace::Trace& trace, const trace::Process& process,
                          const std::vector<StepSample>& samples, const Inflation& inflation) {
  StepClasses out;
  out.of_step.assign(samples.size(), StepClasses::kNone);
  Values lengths(samples.size());
  std::map<uint32_t, Members> kinds;
  for (uint32_t s = 0; s < samples.size(); ++s) {
    if (!samples[s].counts && !samples[s].switched) continue;
    double ratio = RatioOf(inflation, samples[s].level);
    if (samples[s].switched)
      ratio = std::max(ratio, RatioOf(inflation, SwitchArm(samples[s].level)));
    const double ns = static_cast<double>(samples[s].ns) / ratio;
    lengths[s] = std::log(std::max(1.0, ns));
    kinds[process.steps[s].kind.value].push_back(s);
  }
  for (auto& [kind, members] : kinds) {
    const trace::StringId id{kind};
    Kind(std::move(members), lengths).Classify(std::string(trace.text(id)), id, out);
  }
  return out;
}

}  // namespace crosscut::analyze
