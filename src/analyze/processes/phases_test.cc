#include "src/analyze/processes/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <string>

#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/metrics.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using testing::InstantAt;
using testing::Parse;
using testing::RandomTrace;
using testing::Rows;
using testing::TestTrace;

TEST(Phases, CoverTheWindowWithWhatLiesBetweenThem) {
  const trace::Trace trace = Parse(R"(
process trainer window=0..100
pause 10 15
thread main tid=7 base=python main
phase collect 5 30
phase learn 30 70
span forward 40 60 framework
device gpu0 device=0 stream=7
span kernel 50 80 device
process worker window=20..90 parent=trainer
thread main tid=8 base=python main
)");
  // process parent phase begin end wall; host overlap device idle unknown control; any host, any
  // device, excluded
  EXPECT_THAT(Rows(trace, "phases"), ElementsAre("trainer - - 0 5 5 5 0 0 0 0 0 5 0 0",
                                                 "trainer - collect 5 30 20 20 0 0 0 0 0 20 0 5",
                                                 "trainer - learn 30 70 40 20 20 0 0 0 0 40 20 0",
                                                 "trainer - - 70 100 30 20 10 0 0 0 0 30 10 0",
                                                 "worker trainer - 20 90 70 70 0 0 0 0 0 70 0 0"));
}

TEST(Phases, EqualABruteForceOnTwoThousandTraces) {
  std::mt19937_64 random(3);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace made = RandomTrace(seed);
    trace::Process& p = made.process({0});
    int64_t from = static_cast<int64_t>(random() % 20);
    for (uint64_t i = random() % 4; i > 0; --i) {
      const auto length = static_cast<int64_t>(random() % 40);
      p.phases.push_back({made.trace().strings.Intern("ph"), from, from + length});
      from += length + static_cast<int64_t>(random() % 10);
    }
    const trace::Trace& trace = made.Finish();
    const Table got = Compute(trace, "phases");
    int64_t at = p.start_ns;
    for (size_t row = 0; row < got.rows(); ++row) {
      ASSERT_EQ(got.integers("begin_ns")[row], at) << "seed " << seed;
      int64_t wall = 0, excluded = 0, device = 0;
      for (; at < got.integers("end_ns")[row]; ++at) {
        const auto key = InstantAt(trace, at);
        ++(key ? wall : excluded);
        device += key && DeviceBusy(key->second);
      }
      ASSERT_EQ(got.integers("wall_ns")[row], wall) << "seed " << seed;
      ASSERT_EQ(got.integers("excluded_ns")[row], excluded) << "seed " << seed;
      ASSERT_EQ(got.integers("overlap_ns")[row] + got.integers("device_ns")[row], device);
    }
    ASSERT_EQ(at, p.end_ns) << "seed " << seed;
  }
}

// A quarter of the work lies between the two calls: 40 ns of it recorded, 10 paused.
constexpr const char* kQuarter = R"(
process trainer window=0..200
pause 60 70
thread main tid=7 base=python main
count crosscut.progress 20 250000000
count crosscut.progress 45 300000000
count crosscut.progress 70 500000000
op learn 30 60
span forward 40 60 framework
device gpu0 device=0 stream=7
span kernel 50 80 device
)";

TEST(Progress, ExtrapolatesWhatWasRecordedBetweenTheCalls) {
  // begin end from to recorded total; python framework cuda gpu other; excluded
  EXPECT_THAT(Rows(Parse(kQuarter), "progress"),
              ElementsAre("trainer (all) 20 70 0.250000 0.500000 40 160 80 40 0 40 0 40",
                          "trainer learn 20 70 0.250000 0.500000 30 120 40 40 0 40 0 ?",
                          "trainer - 20 70 0.250000 0.500000 10 40 40 0 0 0 0 ?"));
}

TEST(Progress, OfOneCallCountsFromTheWindowsBegin) {
  const trace::Trace trace = Parse(R"(
process trainer window=10..200
thread main tid=7 base=python main
count crosscut.progress 60 200000000
)");
  EXPECT_THAT(Rows(trace, "progress"),
              ElementsAre("trainer (all) 10 60 0.000000 0.200000 50 250 250 0 0 0 0 0",
                          "trainer - 10 60 0.000000 0.200000 50 250 250 0 0 0 0 ?"));
}

TEST(Progress, OfAMomentMayMakeMoreThanACellHolds) {
  const trace::Trace trace = Parse(R"(
process trainer window=0..40000000000
thread main tid=7 base=python main
count crosscut.progress 0 0
count crosscut.progress 20000000000 1
op learn 0 1000000000
)");
  // Of the operation it does: a thousand millions of seconds.
  EXPECT_THAT(Rows(trace, "progress"),
              ElementsAre("trainer (all) 0 20000000000 0.000000 0.000000 20000000000 ? ? 0 0 0 0 0",
                          "trainer - 0 20000000000 0.000000 0.000000 19000000000 ? ? 0 0 0 0 ?",
                          "trainer learn 0 20000000000 0.000000 0.000000 1000000000 "
                          "1000000000000000000 1000000000000000000 0 0 0 0 ?"));
}

TEST(Progress, WithoutAnyHasNoRows) {
  EXPECT_EQ(Compute(Parse("process p window=0..9\nthread main\n"), "progress").rows(), 0u);
  const trace::Trace standing = Parse(R"(
process p window=0..90
thread main
count crosscut.progress 10 500000000
count crosscut.progress 50 500000000
)");
  EXPECT_EQ(Compute(standing, "progress").rows(), 0u);
}

}  // namespace
}  // namespace crosscut::analyze
