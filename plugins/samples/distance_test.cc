#include "distance.h"

#include <gtest/gtest.h>

namespace crosscut::samples {
namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs, kMost = 50 * kMs;

TEST(Distance, GrowsWithTheTimeThatIsSampled) {
  Distance distance;
  distance.Begin(7 * kSecond, kSecond);
  EXPECT_EQ(distance.At(7 * kSecond, kSecond, kMost), 2 * kMs);
  EXPECT_EQ(distance.At(7 * kSecond + 600 * kMs, kSecond, kMost), 2 * kMs);
  EXPECT_EQ(distance.At(10 * kSecond, kSecond, kMost), 10 * kMs);
  EXPECT_EQ(distance.At(13 * kSecond, kSecond, kMost), 20 * kMs);
  EXPECT_EQ(distance.At(22 * kSecond, kSecond, kMost), kMost);
  EXPECT_EQ(distance.At(100 * kSecond, kSecond, kMost), kMost);
}

TEST(Distance, BeginsAnewWithTheFirstControlStepAndNoOtherOne) {
  Distance distance;
  distance.Begin(0, 0);
  EXPECT_EQ(distance.At(9 * kSecond, 0, kMost), 30 * kMs);
  EXPECT_EQ(distance.At(10 * kSecond, kMs, kMost), kMs);
  EXPECT_EQ(distance.At(10 * kSecond + 300 * kMs, kMs, kMost), kMs);
  EXPECT_EQ(distance.At(11 * kSecond + 200 * kMs, kMs, kMost), 4 * kMs);
  // What the next ones take is no time that is sampled.
  EXPECT_EQ(distance.At(20 * kSecond, 4 * kSecond + kMs, kMost), 20 * kMs);
}

TEST(Allowance, IsTwoPercentWhateverTheLooksAreApart) {
  for (const int64_t period : {kMs, 4 * kMs, 17 * kMs, kMost}) {
    Allowance allowance;
    int64_t spent = 0, at_first = 0;
    for (int64_t now = kSecond; now < 31 * kSecond; now += period) {
      // More threads than any look can sample, the last of them too long.
      const int64_t ns = std::max<int64_t>(allowance.At(now, period), 0) + kMs / 100;
      allowance.Spend(ns);
      spent += ns;
      if (now == kSecond) at_first = ns;
    }
    EXPECT_EQ(at_first, std::max(kMs * 15 / 100, period / 50) + kMs / 100);
    EXPECT_LE(spent, 30 * kSecond / 50 + 20 * kMs + kMs);
    EXPECT_GE(spent, 30 * kSecond / 50 - kMs);
  }
}

TEST(Allowance, ComesBackWhereLooksTakeLess) {
  Allowance allowance;
  int64_t now = kSecond;
  for (; now < 4 * kSecond; now += kMs) allowance.Spend(allowance.At(now, kMs));
  EXPECT_EQ(allowance.At(now, kMs), kMs / 50);
  for (const int64_t end = now + kSecond; now < end; now += kMs) allowance.At(now, kMs);
  EXPECT_EQ(allowance.At(now, kMs), kMs * 15 / 100);
}

}  // namespace
}  // namespace crosscut::samples
