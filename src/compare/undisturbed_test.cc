// Undisturbed times beside a computation of its own, on random runs.
#include "src/compare/undisturbed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace crosscut::compare {
namespace {

constexpr size_t kEighths = 8;

// Mean of the 2nd to 10th percentile of an operation's lengths, three at least, times how often it
// occurs per step; of the steps that are not in the eighth `without`.
double Undisturbed(const std::vector<double>& lengths, size_t without) {
  std::vector<double> left;
  size_t steps = 0;
  for (size_t s = 0; s < lengths.size(); ++s) {
    if (s * kEighths / lengths.size() == without) continue;
    ++steps;
    if (lengths[s] >= 0) left.push_back(lengths[s]);  // it occurs
  }
  std::sort(left.begin(), left.end());
  const auto from = static_cast<size_t>(0.02 * static_cast<double>(left.size()));
  const auto to = std::min(
      left.size(),
      std::max<size_t>(3, static_cast<size_t>(std::ceil(0.1 * static_cast<double>(left.size())))));
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += left[i];
  return left.empty() ? 0
                      : sum / static_cast<double>(to - from) * static_cast<double>(left.size()) /
                            static_cast<double>(steps);
}

// The jackknife's standard error over the eighths.
double ErrorOf(const std::vector<double>& without) {
  double mean = 0, squares = 0;
  for (const double x : without) mean += x / 8;
  for (const double x : without) squares += std::pow(x - mean, 2);
  return std::sqrt(squares * 7 / 8);
}

TEST(Undisturbed, IsTheFastestTenthAndItsErrorThatOfAJackknifeOverEighths) {
  std::mt19937_64 random(8);
  std::lognormal_distribution<double> length(13, 0.4);
  for (int round = 0; round < 100; ++round) {
    const size_t steps = 20 + random() % 400;
    RunSteps run;
    std::vector<std::vector<double>> lengths(3, std::vector<double>(steps, -1));
    for (uint32_t o = 0; o < 3; ++o)
      run.keys.push_back({std::string(1, static_cast<char>('a' + o)), 1});
    for (uint32_t s = 0; s < steps; ++s) {
      run.steps.push_back({s});
      for (uint32_t o = 0; o < 3; ++o) {
        if (o == 2 && random() % 3 == 0) continue;  // does not occur in every step
        lengths[o][s] = length(random);
        run.parts.push_back({s, o, std::llround(lengths[o][s]), lengths[o][s]});
        run.steps.back().ns += std::llround(lengths[o][s]);
      }
    }
    const compare::Undisturbed got = MeasureUndisturbed(run);
    std::vector<double> step_without(kEighths, 0);
    double step = 0;
    for (uint32_t o = 0; o < 3; ++o) {
      const double want = Undisturbed(lengths[o], kEighths);
      std::vector<double> without, logs;
      for (size_t e = 0; e < kEighths; ++e) {
        without.push_back(Undisturbed(lengths[o], e));
        logs.push_back(std::log(without.back()));
        step_without[e] += without.back();
      }
      const Figure& figure = got.operations.at(run.keys[o].operation);
      EXPECT_NEAR(figure.ns, want, 1e-6 * want);
      EXPECT_NEAR(figure.error, ErrorOf(without), 1e-6 * want);
      EXPECT_NEAR(figure.log_error, ErrorOf(logs), 1e-9);
      EXPECT_LE(figure.log_error_above, figure.log_error);
      EXPECT_NEAR(got.by_key[o], want, 1e-6 * want);
      step += want;
    }
    EXPECT_NEAR(got.step.ns, step, 1e-6 * step);
    EXPECT_NEAR(got.step.error, ErrorOf(step_without), 1e-6 * step);
  }
}

// A run of which one eighth is left alone: what it takes there is not too low for that. Where one
// eighth alone is disturbed, nothing changes.
TEST(Undisturbed, IsNotTooLowBecauseMostOfTheRunWasDisturbed) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto made = [&](auto disturbed) {
    RunSteps run;
    run.keys.push_back({"a", 1});
    for (uint32_t s = 0; s < 160; ++s) {
      const double ns = 1e6 * std::exp(0.01 * normal(random)) * (disturbed(s / 20) ? 5 : 1);
      run.steps.push_back({s, std::llround(ns)});
      run.parts.push_back({s, 0, std::llround(ns), ns});
    }
    return MeasureUndisturbed(run).step;
  };
  const Figure mostly = made([](uint32_t eighth) { return eighth != 3; });
  EXPECT_GT(mostly.log_error, 1);
  EXPECT_LT(mostly.log_error_above, 0.01);
  const Figure seldom = made([](uint32_t eighth) { return eighth == 3; });
  EXPECT_LT(seldom.log_error, 0.01);
}

}  // namespace
}  // namespace crosscut::compare
