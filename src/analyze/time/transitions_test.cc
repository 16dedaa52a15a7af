#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/tables.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::InstantAt;
using testing::InstantKey;
using testing::RandomTrace;
using testing::TestTrace;
using trace::Layer;

// (operation, layers as in tables, device)
using Key = std::tuple<std::string, std::string, int64_t>;
using Sums = std::map<std::pair<Key, Key>, std::pair<int64_t, int64_t>>;  // count, ns

Sums SumsOf(const Table& t) {
  Sums out;
  for (size_t i = 0; i < t.rows(); ++i) {
    const Key from = {t.texts("from_operation")[i], t.texts("from_layers")[i],
                      t.integers("from_device")[i]};
    const Key to = {t.texts("to_operation")[i], t.texts("to_layers")[i],
                    t.integers("to_device")[i]};
    EXPECT_FALSE(out.contains({from, to}));
    out[{from, to}] = {t.integers("count")[i], t.integers("ns")[i]};
  }
  return out;
}

Key InWords(const InstantKey& key) {
  return {key.first, LayersText(key.second), DeviceBusy(key.second)};
}

Sums BruteForce(const trace::Trace& trace) {
  Sums out;
  const trace::Process& p = trace.processes[0];
  const Key start = {"", "(start)", 0};
  std::optional<InstantKey> before;
  Key from = start;
  for (int64_t at = p.start_ns; at < p.end_ns; ++at) {
    const std::optional<InstantKey> now = InstantAt(trace, at);
    if (now && now != before) {
      from = before ? InWords(*before) : start;
      ++out[{from, InWords(*now)}].first;
    }
    if (now) ++out[{from, InWords(*now)}].second;
    before = now;
  }
  return out;
}

TEST(Transitions, EqualABruteForceOnTwoThousandTraces) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Sums got = SumsOf(Compute(trace, "transitions"));
    ASSERT_EQ(got, BruteForce(trace)) << "seed " << seed;
    rows += got.size();
  }
  EXPECT_GT(rows, 15000u);
}

TEST(Transitions, SumByWhatTheyLeadToToTheOverlap) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    std::map<Key, int64_t> want, got;
    const Table overlap = Compute(trace, "overlap");
    for (size_t i = 0; i < overlap.rows(); ++i) {
      const int64_t ns = overlap.integers("ns")[i];
      if (ns != 0) {
        want[{overlap.texts("operation")[i], overlap.texts("layers")[i],
              overlap.integers("device")[i]}] += ns;
      }
    }
    for (const auto& [keys, sum] : SumsOf(Compute(trace, "transitions"))) {
      got[keys.second] += sum.second;
    }
    ASSERT_EQ(got, want) << "seed " << seed;
  }
}

TEST(LayerEntries, AreThoseOfT2WithTheSameOperationOnBothSides) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  const auto lead = t.Lead(p);
  t.Operation(lead, "training_loop", 0, 1000);
  t.Operation(lead, "inference", 100, 400);
  t.Operation(lead, "backprop", 500, 900);
  t.Category(p, Layer::kPython, {{0, 120}, {200, 260}, {380, 520}, {880, 1000}});
  t.Category(p, Layer::kFramework, {{120, 200}, {260, 380}, {520, 880}});
  t.Category(p, Layer::kRuntime, {{150, 170}, {300, 320}, {560, 600}, {700, 760}});
  t.DeviceSpans(p, {{165, 230}, {315, 450}, {590, 820}});
  const Table table = Compute(t.Finish(), "layer_entries");
  std::map<std::pair<std::string, std::string>, std::pair<int64_t, int64_t>> got;
  for (size_t i = 0; i < table.rows(); ++i) {
    got[{table.texts("operation")[i], table.texts("layer")[i]}] = {table.integers("entries")[i],
                                                                   table.integers("ns")[i]};
  }
  const decltype(got) want = {
      {{"training_loop", "python"}, {0, 300}}, {{"training_loop", "device"}, {0, 50}},
      {{"inference", "python"}, {2, 100}},     {{"inference", "framework"}, {2, 200}},
      {{"inference", "runtime"}, {2, 40}},     {{"inference", "device"}, {2, 150}},
      {{"backprop", "python"}, {1, 40}},       {{"backprop", "framework"}, {1, 360}},
      {{"backprop", "runtime"}, {2, 100}},     {{"backprop", "device"}, {1, 230}}};
  EXPECT_EQ(got, want);
}

TEST(Transitions, BeginAnewAfterAPause) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  t.Spans(t.Lead(p), Layer::kPython, {{0, 100}});
  t.process(p).paused.push_back({40, 60});
  const Sums want = {{{{"", "(start)", 0}, {"", "python", 0}}, {2, 80}}};
  EXPECT_EQ(SumsOf(Compute(t.Finish(), "transitions")), want);
}

}  // namespace
}  // namespace crosscut::analyze
