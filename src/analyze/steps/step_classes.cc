#include "src/analyze/steps/step_classes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "src/analyze/length_groups.h"
#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

constexpr double kWarmUpShare = 0.05, kWarmUpRatio = 1.25;
constexpr double kUnusualRatio = 1.25, kUnusualDeviations = 5;

using Values = std::vector<double>;
using Members = std::vector<uint32_t>;  // indices of steps, in order of time

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
    const double limit = Quantile(LengthsOf(members_), 50) + std::log(kWarmUpRatio);
    size_t n = 0;
    while (n < most && log_[members_[n]] > limit) ++n;
    return n;
  }

  void Groups() {
    const LengthGroups groups(LengthsOf(members_));
    groups_.resize(groups.count());
    for (const uint32_t s : members_) groups_[groups.Of(log_[s])].push_back(s);
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
      const double centre = Quantile(lengths, 50);
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
    if (!samples[s].counts && !samples[s].switched && !samples[s].settles) continue;
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
