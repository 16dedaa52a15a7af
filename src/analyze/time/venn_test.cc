#include "src/analyze/time/venn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using testing::Rows;
using testing::TestTrace;
using trace::Layer;

constexpr uint32_t kA = 1, kB = 2, kC = 4;

// The inverse of InclusiveSizes: each set less all that contain it. Sets of no time are left out.
// Takes RL-Scope's incomplete files as well.
SetSizes ExactSizes(const SetSizes& inclusive) {
  SetSizes out;
  for (int size = 31; size > 0; --size) {
    for (const auto& [part, sum] : inclusive) {
      if (std::popcount(part) != size) continue;
      int64_t ns = sum;
      for (const auto& [set, exact] : out) {
        if ((set & part) == part) ns -= exact;
      }
      if (ns != 0) out[part] = ns;
    }
  }
  return out;
}

TEST(Venn, T10SizesAreInclusive) {
  const SetSizes exact = {{kA, 3},      {kB, 3},      {kC, 3},          {kA | kB, 1},
                          {kA | kC, 1}, {kB | kC, 1}, {kA | kB | kC, 1}};
  const SetSizes want = {{kA, 6},      {kB, 6},      {kC, 6},          {kA | kB, 2},
                         {kA | kC, 2}, {kB | kC, 2}, {kA | kB | kC, 1}};
  EXPECT_EQ(InclusiveSizes(exact), want);
  EXPECT_EQ(ExactSizes(want), exact);
}

TEST(Venn, T10IsCompleteAndRlScopesIncompleteFileIsRead) {
  const SetSizes exact = {{kA, 2}, {kA | kB | kC, 5}};
  const SetSizes complete = {{kA, 7},      {kB, 5},      {kC, 5},          {kA | kB, 5},
                             {kA | kC, 5}, {kB | kC, 5}, {kA | kB | kC, 5}};
  const SetSizes of_rlscope = {{kA, 7}, {kB, 5}, {kC, 5}, {kA | kB | kC, 5}};
  EXPECT_EQ(InclusiveSizes(exact), complete);
  EXPECT_EQ(ExactSizes(complete), exact);
  EXPECT_EQ(ExactSizes(of_rlscope), exact);
}

// TestVennAsOverlapDict of RL-Scope: from Venn sizes to overlap, and back.
TEST(Venn, CasesOfRlScopeHoldBothWays) {
  const std::pair<SetSizes, SetSizes> cases[] = {
      {{{kA, 5}, {kB, 5}, {kA | kB, 2}}, {{kA, 3}, {kB, 3}, {kA | kB, 2}}},
      {{{kA, 10}, {kB, 5}, {kA | kB, 5}}, {{kA, 5}, {kA | kB, 5}}},
      {{{kA, 5}, {kB, 5}, {kA | kB, 5}}, {{kA | kB, 5}}}};
  for (const auto& [venn, overlap] : cases) {
    EXPECT_EQ(ExactSizes(venn), overlap);
    EXPECT_EQ(InclusiveSizes(overlap), venn);
  }
}

TEST(Venn, OneWayUndoesTheOther) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    SetSizes exact;
    for (uint32_t n = random() % 12; n > 0; --n) exact[1 + random() % 63] = 1 + random() % 100;
    ASSERT_EQ(ExactSizes(InclusiveSizes(exact)), exact);
  }
}

TEST(Venn, TableHasSetsOfLayersAndOfHostAndDevice) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  t.Category(p, Layer::kPython, {{0, 30}});
  t.Category(p, Layer::kFramework, {{20, 60}});
  t.DeviceSpans(p, {{50, 80}});
  EXPECT_THAT(
      Rows(t.Finish(), "venn"),
      ElementsAre("p resources host 1 50 60", "p resources device 1 20 30",
                  "p resources device+host 2 10 10", "p layers python 1 20 30",
                  "p layers framework 1 20 40", "p layers device 1 20 30",
                  "p layers framework+python 2 10 10", "p layers device+framework 2 10 10"));
}

}  // namespace
}  // namespace crosscut::analyze
