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

}  // namespace
}  // namespace crosscut::samples
