#include "src/analyze/accounting/wander.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace crosscut::analyze {
namespace {

// Steps of 1 ms and, every second one, of a kind that takes thrice as long; each 5 % apart from the
// next by chance. `pace(part of the run)` multiplies their length.
template <class Pace>
std::vector<StepSample> StepsOf(uint64_t seed, int steps, Pace pace) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.05);
  std::vector<StepSample> out;
  for (int i = 0; i < steps; ++i) {
    StepSample s;
    s.kind = i % 2;
    s.level = i % 20 == 0 ? 0 : 3;  // control steps are half as long
    const double usual = (s.kind == 1 ? 3e6 : 1e6) * (s.level == 0 ? 0.5 : 1);
    s.ns = std::llround(usual * pace(double(i) / steps) * std::exp(noise(random)));
    out.push_back(s);
  }
  return out;
}

TEST(Wander, IsSmallWhereStepsDifferByChanceAloneAndWhereTheProgramChanges) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_LT(Wander(StepsOf(seed, 4000, [](double) { return 1.0; })), 0.005);
    const auto grows = [](double at) { return std::exp(at); };
    EXPECT_LT(Wander(StepsOf(seed, 4000, grows)), 0.01) << "steps become 2.7 times as long";
    const auto jumps = [](double at) { return at < 0.4 ? 1.0 : 1.2; };
    EXPECT_LT(Wander(StepsOf(seed, 4000, jumps)), 0.01) << "from one moment to the next";
  }
}

// A sum of noises that each last four times as long as the one before, all equally strong: as
// strong in every octave. Runs are stretches of one such noise.
TEST(Wander, IsWhatNeighbouringRunsOnAnUnsteadyMachineDifferBy) {
  constexpr int kRuns = 400, kSteps = 1000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 0.01);
  constexpr int kScales = 9;
  double values[kScales] = {};
  double before = 0, squares = 0, wander = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> pace;
    double mean = 0;
    for (int i = 0; i < kSteps; ++i) {
      double sum = 0;
      for (int scale = 0; scale < kScales; ++scale) {
        if (random() % (uint64_t{1} << 2 * scale) == 0) values[scale] = normal(random);
        sum += values[scale];
      }
      pace.push_back(std::exp(sum));
      mean += sum / kSteps;
    }
    if (run > 0) squares += (mean - before) * (mean - before) / 2 / (kRuns - 1);
    before = mean;
    const std::vector<StepSample> steps = StepsOf(run, kSteps, [&](double at) {
      return pace[static_cast<size_t>(std::llround(at * kSteps))];
    });
    const double one = Wander(steps);
    wander += one * one / kRuns;
  }
  EXPECT_NEAR(std::sqrt(wander), std::sqrt(squares), 0.2 * std::sqrt(squares));
}

TEST(Wander, NeedsStepsEnoughAndLooksAtThoseThatCount) {
  const auto spells = [](double at) { return 1 + 0.1 * std::sin(20 * at); };
  std::vector<StepSample> steps = StepsOf(1, 1000, spells);
  EXPECT_GT(Wander(steps), 0.02);
  for (StepSample& s : steps) s.counts = false;
  EXPECT_EQ(Wander(steps), 0);
  EXPECT_EQ(Wander(StepsOf(1, 100, spells)), 0);
  EXPECT_EQ(Wander({}), 0);
}

}  // namespace
}  // namespace crosscut::analyze
