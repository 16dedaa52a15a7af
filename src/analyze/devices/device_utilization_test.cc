#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/analyze/devices/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

TEST(DeviceUtilization, OfT9IsOnePercentAndLooksLikeAHundred) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1'000'000'000);
  const auto device = t.Device(p);
  const auto kernel = t.Name("kernel", Kind::kSpan, Layer::kDevice);
  for (int64_t i = 0; i < 1000; ++i) t.Span(device, i * 1'000'000, i * 1'000'000 + 10'000, kernel);
  const Table got = Compute(t.Finish(), "device_utilization");
  ASSERT_EQ(got.rows(), 4u);
  EXPECT_THAT(got.integers("busy_ns"), Each(10'000'000));
  EXPECT_THAT(got.reals("busy_percent"), Each(DoubleEq(1)));
  EXPECT_THAT(got.integers("samples"), ElementsAre(1000, 100, 10, 1));
  EXPECT_THAT(got.reals("sampled_percent"), Each(DoubleEq(100)));
}

TEST(DeviceUtilization, TakesProcessesThatShareADeviceTogether) {
  TestTrace t;
  const auto p = t.Process("p", 0, 10'000'000), q = t.Process("q", 2'000'000, 12'000'000);
  t.Process("without", 0, 90'000'000);
  t.DeviceSpans(p, {{0, 1'500'000}, {9'500'000, 10'500'000}});  // the last is cut by its window
  t.DeviceSpans(q, {{9'800'000, 11'000'000}});
  const Table got = Compute(t.Finish(), "device_utilization");
  ASSERT_EQ(got.rows(), 12u);
  EXPECT_EQ(got.texts("process")[0], "(all)");
  EXPECT_EQ(got.integers("window_ns")[0], 12'000'000);
  EXPECT_EQ(got.integers("busy_ns")[0], 3'000'000);
  EXPECT_EQ(got.integers("samples")[0], 12);
  EXPECT_EQ(got.integers("busy_samples")[0], 4);  // 0, 1, 9, 10
  EXPECT_EQ(got.integers("busy_ns")[4], 2'000'000);
  EXPECT_EQ(got.integers("busy_samples")[4], 3);
  EXPECT_EQ(got.integers("busy_ns")[8], 1'200'000);
  EXPECT_EQ(got.integers("samples")[9], 1);
}

TEST(DeviceUtilization, TimesMayLieBeforeZero) {
  TestTrace t;
  const auto p = t.Process("p", -9'000, -7'000), q = t.Process("q", -9'000, -7'000);
  t.DeviceSpans(p, {{-9'000, -8'000}});
  t.DeviceSpans(q, {{-9'000, -8'000}});
  const Table got = Compute(t.Finish(), "device_utilization");
  EXPECT_EQ(got.integers("window_ns")[0], 2'000);
  EXPECT_THAT(got.reals("busy_percent"), Each(DoubleEq(50)));
}

TEST(DeviceUtilization, EqualsACountOfTheSamplesOneByOne) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    TestTrace t;
    const auto start = static_cast<int64_t>(random() % 5'000'000);
    const auto p = t.Process("p", start, start + 40'500'000);
    const auto name = t.Name("kernel", Kind::kSpan, Layer::kDevice);
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (int stream = 0; stream < 3; ++stream) {
      const auto device = t.Device(p);
      for (auto at = static_cast<int64_t>(random() % 9'000'000); at < 50'000'000;) {
        const int64_t end = at + static_cast<int64_t>(random() % 3'000'000);
        t.Span(device, at, end, name);
        spans.emplace_back(at, end);
        at = end + static_cast<int64_t>(random() % 12'000'000);
      }
    }
    int64_t want = 0;
    for (int64_t from = start; from < start + 40'500'000; from += 1'000'000) {
      const int64_t until = std::min(from + 1'000'000, start + 40'500'000);
      bool any = false;
      for (const auto& [begin, end] : spans) {
        any |= std::max(begin, from) < std::min(end, until);
      }
      want += any;
    }
    const Table got = Compute(t.Finish(), "device_utilization");
    ASSERT_EQ(got.integers("busy_samples")[0], want) << i;
    ASSERT_EQ(got.integers("samples")[0], 41);
  }
}

}  // namespace
}  // namespace crosscut::analyze
