#include "src/trace/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace crosscut::trace {
namespace {

TEST(Disjoint, SortsClipsAndDropsEmptyIntervals) {
  std::vector<uint32_t> origins;
  const auto got = Disjoint({{8, 12}, {-5, 3}, {2, 9}, {4, 4}, {20, 30}}, {0, 25}, &origins);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(origins, (std::vector<uint32_t>{1, 2, 0, 4}));
  EXPECT_EQ(got[0].begin_ns, 0);
  EXPECT_EQ(got[1].begin_ns, 3);
  EXPECT_EQ(got[2].begin_ns, 9);
  EXPECT_EQ(got[3].end_ns, 25);
}

// Beside a look at every instant.
TEST(Intervals, UnionsAndLengthsAreThoseOfTheirInstants) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % (most + 1)); };
  for (int round = 0; round < 500; ++round) {
    std::vector<Interval> drawn;
    for (int64_t i = draw(8); i > 0; --i) {
      const int64_t begin = draw(60) - 10;
      drawn.push_back({begin, begin + draw(15)});
    }
    const Interval window = {draw(20), 20 + draw(30)};
    const auto in_any = [&](int64_t at) {
      return window.begin_ns <= at && at < window.end_ns &&
             std::any_of(drawn.begin(), drawn.end(), [&](const Interval& one) {
               return one.begin_ns <= at && at < one.end_ns;
             });
    };
    const std::vector<Interval> got = UnionOf(drawn, window);
    int64_t all = 0, part = 0;
    const int64_t begin = draw(40), end = begin + draw(20);
    for (int64_t at = -10; at < 80; ++at) {
      all += in_any(at);
      part += in_any(at) && begin <= at && at < end;
      EXPECT_EQ(in_any(at), std::any_of(got.begin(), got.end(), [&](const Interval& one) {
                  return one.begin_ns <= at && at < one.end_ns;
                }));
    }
    EXPECT_EQ(LengthOf(got), all);
    EXPECT_EQ(LengthWithin(got, begin, end), part);
    for (size_t i = 1; i < got.size(); ++i) EXPECT_LT(got[i - 1].end_ns, got[i].begin_ns);
  }
}

// Likewise; Extend() joins what begins where the last one ends.
TEST(Intervals, WithoutOthersAreTheInstantsThatAreInNone) {
  std::mt19937 random(2);
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % (most + 1)); };
  const auto drawn = [&] {
    std::vector<Interval> out;
    for (int64_t at = draw(9); at < 90; at += draw(9)) {
      const int64_t end = at + 1 + draw(9);
      Extend({at, end}, &out);
      at = end;
    }
    return out;
  };
  const auto in = [](const std::vector<Interval>& intervals, int64_t at) {
    return std::any_of(intervals.begin(), intervals.end(),
                       [at](const Interval& one) { return one.begin_ns <= at && at < one.end_ns; });
  };
  for (int round = 0; round < 500; ++round) {
    const std::vector<Interval> all = drawn(), gone = drawn(), got = Without(all, gone);
    for (int64_t at = 0; at < 120; ++at) EXPECT_EQ(in(got, at), in(all, at) && !in(gone, at));
    for (const auto* one : {&all, &gone}) {
      for (size_t i = 1; i < one->size(); ++i) {
        EXPECT_LT((*one)[i - 1].end_ns, (*one)[i].begin_ns);
      }
    }
    for (size_t i = 1; i < got.size(); ++i) EXPECT_LE(got[i - 1].end_ns, got[i].begin_ns);
  }
}

}  // namespace
}  // namespace crosscut::trace
