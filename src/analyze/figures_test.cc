#include "src/analyze/figures.h"

#include <gtest/gtest.h>

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

TEST(Figures, SharesHaveADecimalBelowATenth) {
  EXPECT_EQ(ShareText(0), "0.0 %");
  EXPECT_EQ(ShareText(0.0994), "9.9 %");
  EXPECT_EQ(ShareText(0.0996), "10 %");
  EXPECT_EQ(ShareText(1), "100 %");
}

}  // namespace
}  // namespace crosscut::analyze
