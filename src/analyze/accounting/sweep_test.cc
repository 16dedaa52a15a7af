#include "src/analyze/accounting/sweep.h"

#include <gtest/gtest.h>

#include <random>

#include "src/analyze/accounting/overlap.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::TestTrace;
using trace::Kind;
using trace::Layer;

using Change = std::pair<int64_t, uint32_t>;  // since the tile's begin, what

TEST(Records, SortByTimeAndKeepTheOrderOfEqualTimes) {
  std::mt19937_64 random(5);
  for (const size_t n : {0, 1, 100, 5000, 70000}) {
    for (const int bits : {3, 11, 22, 32, 33, 63}) {
      Records records;
      records.Clear(/*long_tile=*/bits > 32);
      std::vector<Change> want, got;
      for (uint32_t i = 0; i < n; ++i) {
        want.emplace_back(static_cast<int64_t>(random() >> (64 - bits)), i);
        records.Add(want.back().first, i);
        records.EndRun();
      }
      std::stable_sort(want.begin(), want.end(),
                       [](const Change& a, const Change& b) { return a.first < b.first; });
      records.Sort();
      for (size_t i = 0; i < n; ++i) got.emplace_back(records.Since(i), records.change(i));
      ASSERT_EQ(got, want) << n << ' ' << bits;
    }
  }
}

int64_t SumOf(const trace::Trace& trace, LayerSet layers) {
  const NameCodes names(trace);
  int64_t sum = 0;
  for (const Cell& c : ComputeOverlap(trace, names, TracksByProcess(trace)[0],
                                      ProcessEvents(trace.processes[0]), {0})
                           .cells) {
    if (c.layers == layers) sum += c.ns;
  }
  return sum;
}

TEST(Sweep, TakesAHundredThousandEdgesOfOneInstant) {
  TestTrace t;
  const auto p = t.Process("p", 0, 10);
  const auto lead = t.Lead(p);
  const auto name = t.Name("op", Kind::kSpan, Layer::kFramework);
  t.Span(lead, 1, 5, name);
  for (int i = 0; i < 100'000; ++i) t.Span(lead, 7, 7, name);
  EXPECT_EQ(SumOf(t.Finish(), Bit(Layer::kFramework)), 4);
}

TEST(Sweep, TakesDaysWithoutAnEdgeAndTimesNearTheEndsOfTheRange) {
  TestTrace t;
  const int64_t start = int64_t{1} << 61, length = 300'000'000'000'000;
  const auto p = t.Process("p", start, start + length);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kFramework, {{start + length - 7, start + length}});
  EXPECT_EQ(SumOf(t.Finish(), Bit(Layer::kFramework)), 7);
}

// Tiles are as many as the changes are, not as the window is long: with tiles of 4 s these would be
// two billion.
TEST(Sweep, TakesHundredsOfYearsBetweenEdges) {
  TestTrace t;
  const int64_t year = 365LL * 86'400 * 1'000'000'000;
  const auto p = t.Process("p", 0, 290 * year);
  const auto lead = t.Lead(p);
  const auto other = t.Thread(p);
  for (int64_t i = 0; i < 200; ++i) {
    t.Spans(lead, Layer::kFramework, {{i * year, i * year + 3}});
    t.Spans(other, Layer::kNative, {{i * year + 2, i * year + 7}});
  }
  const trace::Trace& trace = t.Finish();
  EXPECT_EQ(SumOf(trace, Bit(Layer::kFramework)), 200 * 2);
  EXPECT_EQ(SumOf(trace, Bit(Layer::kFramework) | Bit(Layer::kNative)), 200);
  EXPECT_EQ(SumOf(trace, Bit(Layer::kNative)), 200 * 4);
}

TEST(Sweep, TakesTenThousandThreads) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000);
  t.Lead(p);
  for (int64_t i = 0; i < 10'000; ++i) {
    const auto thread = t.Thread(p);
    t.track(thread).begin_ns = i * 100;
    t.track(thread).end_ns = i * 100 + 150;
    t.Spans(thread, Layer::kNative, {{i * 100 + 10, i * 100 + 60}});
  }
  EXPECT_EQ(SumOf(t.Finish(), Bit(Layer::kNative)), 10'000 * 50);
}

}  // namespace
}  // namespace crosscut::analyze
