#include "src/import/native/native_clock.h"

#include <gtest/gtest.h>

#include <random>

namespace crosscut::import {
namespace {

TEST(NativeClock, RunsThroughItsAnchorsAndInLinesBetween) {
  const NativeClock clock({{100, 1000, 5}, {200, 1200, 7}, {300, 1500, 6}}, {});
  EXPECT_EQ(clock.ToNs(100), 1000);
  EXPECT_EQ(clock.ToNs(150), 1100);
  EXPECT_EQ(clock.ToNs(200), 1200);
  EXPECT_EQ(clock.ToNs(250), 1350);
  EXPECT_EQ(clock.ToNs(300), 1500);
  EXPECT_EQ(clock.ToNs(400), 1750);  // the rate of the whole
  EXPECT_EQ(clock.ToNs(50), 900);
  EXPECT_GE(clock.error_ns(), 7);
}

// An anchor stands in the stretch that begins there.
TEST(NativeClock, KnowsTheStretchOfATick) {
  const NativeClock clock({{100, 1000, 5}, {200, 1200, 7}, {300, 1500, 6}}, {});
  const std::pair<uint64_t, size_t> kAll[] = {{0, 0},   {99, 0},  {100, 0}, {199, 0},
                                              {200, 1}, {299, 1}, {300, 2}, {1000, 2}};
  for (const auto& [tick, stretch] : kAll) {
    size_t segment = 0;
    clock.ToNs(tick, &segment);
    EXPECT_EQ(segment, stretch) << tick;
    // From wherever the one before it was.
    for (size_t from = 0; from < 3; ++from) {
      segment = from;
      EXPECT_EQ(clock.ToNs(tick, &segment), clock.ToNs(tick)) << tick;
      EXPECT_EQ(segment, stretch) << tick << " from " << from;
    }
  }
}

// How far the middle of three anchors lies off the line through the others, a quarter of that, and
// the worst of the readings' own errors.
TEST(NativeClock, ItsErrorIsThatOfTheReadingsAndOfTheBendOfTheLine) {
  EXPECT_EQ(NativeClock({{100, 1000, 5}, {200, 1200, 7}, {300, 1400, 6}}, {}).error_ns(), 7);
  EXPECT_EQ(NativeClock({{100, 1000, 5}, {200, 1200, 7}, {300, 1500, 6}}, {}).error_ns(),
            7 + (50 + 3) / 4);
  EXPECT_EQ(NativeClock({{100, 1000, 0}, {200, 1260, 0}, {300, 1400, 0}}, {}).error_ns(), 60 / 4);
  EXPECT_EQ(NativeClock({{100, 1000, 5}, {200, 1260, 6}}, {}).error_ns(), 6);
  EXPECT_EQ(NativeClock({{0, 0, 0}, {100, 100, 0}, {200, 200, 0}, {300, 340, 0}}, {}).error_ns(),
            (20 + 3) / 4);
}

TEST(NativeClock, NeverFallsWhateverTheAnchorsSay) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Anchor> anchors;
    for (int i = 0; i < 6; ++i) {
      anchors.push_back({random() % 10'000, static_cast<int64_t>(random() % 100'000), 1});
    }
    const NativeClock clock(anchors, {});
    int64_t last = INT64_MIN;
    size_t segment = 0;
    for (uint64_t tick = 0; tick < 12'000; tick += 7) {
      const int64_t ns = clock.ToNs(tick, &segment);
      ASSERT_GE(ns, last) << "round " << round << " tick " << tick;
      last = ns;
    }
  }
}

TEST(NativeClock, LeavesOutAnchorsThatRunBackwardAndCountsThem) {
  const NativeClock clock({{100, 1000, 5}, {150, 900, 5}, {200, 1200, 5}}, {});
  EXPECT_EQ(clock.backward(), 1);
  EXPECT_EQ(clock.anchors(), 2);
  EXPECT_EQ(clock.ToNs(150), 1100);
}

TEST(NativeClock, TakesTheStatedRateWhereThereIsOneAnchor) {
  const NativeClock clock({{1000, 50, 5}}, {3u << 1, 2});  // 1.5 ns a tick
  EXPECT_EQ(clock.ToNs(1010), 65);
  EXPECT_EQ(clock.ToNs(990), 35);
}

}  // namespace
}  // namespace crosscut::import
