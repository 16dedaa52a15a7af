// What the levels of a step plan cost, and which control steps they are compared with.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "src/analyze/accounting/overhead.h"

namespace crosscut::analyze {
namespace {

// Boundary steps cost 2 %, operator steps 15 %, the first steps after a switch 40 %, as in a step
// plan; the probes were calibrated at a third of that.
std::vector<StepSample> MixedSteps(uint64_t seed, int blocks) {
  constexpr double kCost[] = {0, 0.02, 0.15, 0.15};
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  std::discrete_distribution<int> levels({6, 84, 8, 2});
  std::vector<StepSample> steps;
  uint8_t before = 255;
  for (int b = 0; b < blocks; ++b) {
    const auto level = static_cast<uint8_t>(levels(random));
    for (int i = 0; i < 3; ++i) {
      StepSample s;
      s.level = level;
      s.switched = level != before;
      s.counts = !s.switched;
      before = level;
      const double cost = s.switched ? 0.4 : kCost[level];
      s.ns = std::llround(1e6 * (1 + cost) * std::exp(noise(random)));
      s.probe_ps = std::llround(1e9 * kCost[level] / 3);
      steps.push_back(s);
    }
  }
  return steps;
}

// Steps of the level and kind, one behind the other.
void AddSteps(trace::Process& process, uint8_t level, uint32_t kind, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    trace::Step& step = process.steps.emplace_back();
    step.level = level;
    step.kind = {kind};
  }
}

TEST(SettlingControlSteps, AKindThatBeginsEachBlockKeepsItsBase) {
  trace::Process process;
  for (int block = 0; block < 3; ++block) {
    AddSteps(process, 1, 1, 24);
    AddSteps(process, 0, 1, 1);
    AddSteps(process, 0, 2, 1);  // an evaluation
    AddSteps(process, 0, 1, 22);
  }
  const std::vector<bool> settling = SettlingControlSteps(process);
  for (size_t i = 0; i < settling.size(); ++i) {
    const size_t at = i % 48;
    EXPECT_EQ(settling[i], at >= 24 && at < 30 && at != 25) << i;
  }
}

TEST(SettlingControlSteps, AnyKindKeepsAtLeastHalfOfItsStepsAndLosesNoneThatSettled) {
  std::mt19937_64 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int left_out = 0, kept_whole = 0;
  for (int round = 0; round < 500; ++round) {
    trace::Process process;
    const size_t kinds = 1 + below(4), rare = below(8);
    while (process.steps.size() < 400) {
      const auto level = static_cast<uint8_t>(below(3));
      for (size_t i = 0, length = 1 + below(40); i < length; ++i) {
        const size_t kind = i == rare || below(5) == 0 ? below(kinds) : 0;
        AddSteps(process, level, static_cast<uint32_t>(kind), 1);
      }
    }
    const std::vector<bool> settling = SettlingControlSteps(process);
    // Of each kind, in the blocks that are long enough: those at their begin, those behind, and
    // those of the former that are left out.
    std::map<uint32_t, std::array<size_t, 3>> of_kind;
    for (size_t i = 0; i < settling.size(); ++i) {
      size_t begin = i, end = i;
      while (begin > 0 && process.steps[begin - 1].level == process.steps[i].level) --begin;
      while (end < settling.size() && process.steps[end].level == process.steps[i].level) ++end;
      const bool may = process.steps[i].level == 0 && end - begin >= 12;
      ASSERT_TRUE(!settling[i] || (may && i - begin < 6)) << round << ": " << i;
      if (!may) continue;
      std::array<size_t, 3>& sums = of_kind[process.steps[i].kind.value];
      ++sums[i - begin < 6 ? 0 : 1];
      sums[2] += settling[i];
    }
    for (const auto& [kind, sums] : of_kind) {
      ASSERT_EQ(sums[2], sums[1] >= sums[0] ? sums[0] : 0) << round << ": " << kind;
      ++(sums[2] > 0 ? left_out : kept_whole);
    }
  }
  EXPECT_GT(left_out, 100);
  EXPECT_GT(kept_whole, 100);
}

TEST(MixedLevels, EachLevelIsComparedByItselfAndAllTogether) {
  int held = 0, all = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<StepSample> steps = MixedSteps(seed, 800);
    const Inflation i = MeasureInflation(steps);
    ASSERT_TRUE(i.checked) << i.why_not;
    std::map<int, double> truth = {
        {1, 1.02}, {2, 1.15}, {3, 1.15}, {kSwitchedArm, 1.4}, {kToControlArm, 1.4}};
    double total = 0;
    for (const StepSample& s : steps) {
      total += s.switched ? 1.4 : s.level == 0 ? 1 : truth[s.level];
    }
    truth[-1] = total / static_cast<double>(steps.size());
    for (const LevelInflation& level : i.levels) {
      held += level.low <= truth[level.level] && truth[level.level] <= level.high;
      ++all;
      EXPECT_NEAR(level.ratio, truth[level.level], 0.05) << int{level.level};
    }
    const LevelInflation mean = MeanInflation(i);
    EXPECT_EQ(mean.steps, static_cast<int64_t>(steps.size()));
    held += mean.low <= truth[-1] && truth[-1] <= mean.high;
    ++all;
  }
  EXPECT_GE(held, all * 85 / 100);
  EXPECT_GE(all, 60 * 4);
}

// Control steps cost something themselves, which no comparison with them sees.
TEST(MixedLevels, TheMeansUpperBoundHasWhatControlStepsMayCost) {
  Inflation inflation;
  inflation.control_steps = 10;
  inflation.levels = {{1, 90, 30, 1.02, 1.01, 1.03}};
  for (const auto& [step_ns, floor] : {std::pair{100e3, 0.05}, {1e6, 0.017}, {100e6, 0.00017}}) {
    inflation.control_step_ns = step_ns;
    const LevelInflation mean = MeanInflation(inflation);
    EXPECT_DOUBLE_EQ(mean.ratio, 1.018);
    EXPECT_DOUBLE_EQ(mean.low, 1.009);
    EXPECT_DOUBLE_EQ(mean.high, 1.027 + floor);
  }
}

TEST(MixedLevels, ScaleComesFromTheLevelsThatShowItBest) {
  int held = 0;
  double width = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Scale scale = ScaleOf(MeasureInflation(MixedSteps(seed, 800)), Calibration{});
    held += scale.low <= 3 && 3 <= scale.high;
    width += (scale.high - scale.low) / 60;
  }
  EXPECT_GE(held, 60 * 85 / 100);
  EXPECT_LT(width, 2);
}

}  // namespace
}  // namespace crosscut::analyze
