#include "src/analyze/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

TEST(Figures, TimesHaveThreeDigitsAndTheUnitTheyRoundTo) {
  EXPECT_EQ(TimeText(0), "0 ns");
  EXPECT_EQ(TimeText(999), "999 ns");
  EXPECT_EQ(TimeText(1'000), "1.00 µs");
  EXPECT_EQ(TimeText(9'994), "9.99 µs");
  EXPECT_EQ(TimeText(9'996), "10.0 µs");
  EXPECT_EQ(TimeText(99'960), "100 µs");
  EXPECT_EQ(TimeText(999'499), "999 µs");
  EXPECT_EQ(TimeText(999'600), "1.00 ms");
  EXPECT_EQ(TimeText(117'400'000'000), "117 s");
  EXPECT_EQ(TimeText(12'345'000'000'000), "12345 s");
}

TEST(Figures, APartHasTheUnitOfTheWholeWhereItCan) {
  EXPECT_EQ(TimeOfText(899'000'000, 1'370'000'000), "0.899 s of 1.37 s");
  EXPECT_EQ(TimeOfText(1'100'000'000, 1'370'000'000), "1.10 s of 1.37 s");
  EXPECT_EQ(TimeOfText(9'000'000, 1'370'000'000), "9.00 ms of 1.37 s");
  EXPECT_EQ(TimeOfText(750, 1'000), "0.750 µs of 1.00 µs");
  EXPECT_EQ(TimeOfText(0, 999), "0 ns of 999 ns");
}

TEST(Figures, SharesHaveADecimalBelowATenth) {
  EXPECT_EQ(ShareText(0), "0.0 %");
  EXPECT_EQ(ShareText(0.0994), "9.9 %");
  EXPECT_EQ(ShareText(0.0996), "10 %");
  EXPECT_EQ(ShareText(1), "100 %");
}

TEST(Quantiles, AreTheLeastValueThatSoManyDoNotExceed) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> values(1 + random() % 30);
    for (double& value : values) value = random() % 10;
    const size_t percent = random() % 101;
    const auto upto = [&](double most) {
      return std::count_if(values.begin(), values.end(), [&](double v) { return v <= most; });
    };
    const auto enough = [&](double most) {
      return 100 * static_cast<size_t>(upto(most)) >= percent * values.size();
    };
    double least = *std::max_element(values.begin(), values.end());
    for (const double value : values) least = enough(value) ? std::min(least, value) : least;
    EXPECT_EQ(Quantile(values, percent), least);
    std::vector<double> turned = values;
    for (double& value : turned) value = -value;
    EXPECT_EQ(MiddleOf(values), (Quantile(values, 50) - Quantile(turned, 50)) / 2);
  }
}

}  // namespace
}  // namespace crosscut::analyze
