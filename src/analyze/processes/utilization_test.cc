#include "src/analyze/processes/utilization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Parse;
using testing::Rows;

constexpr const char* kTwo = R"(
process a window=0..1000
thread main base=python
device gpu0 device=0 stream=7
span kernel 150 250 device
span kernel 380 420 device
device gpu0 device=0 stream=8
span kernel 240 260 device
span kernel 500 1000 device
count crosscut.resident_bytes 99 4096
count crosscut.cpu_ns 100 1000
count crosscut.resident_bytes 200 8192
count crosscut.cpu_ns 200 1050
count crosscut.resident_bytes 399 4096
count crosscut.peak_bytes 99 9000
count crosscut.peak_bytes 399 9500
count crosscut.cpu_ns 400 1450
process b window=0..1000
thread main base=python
count other 0 7
count crosscut.cpu_ns 0 0
count crosscut.cpu_ns 300 30
)";

TEST(Utilization, HasARowFromEachLookToTheNext) {
  EXPECT_THAT(Rows(Parse(kTwo), "utilization"),
              ElementsAre("a 100 200 50 50.000000 8192 9000 50 50.000000",
                          "a 200 400 400 200.000000 4096 9500 80 40.000000",
                          "b 0 300 30 10.000000 ? ? ? nan"));
}

TEST(Utilization, IsEmptyWhereNobodyLookedTwice) {
  EXPECT_EQ(Compute(Parse("process a window=0..9\nthread main\n"), "utilization").rows(), 0u);
  const char* once = "process a window=0..9\nthread main\ncount crosscut.cpu_ns 3 1\n";
  EXPECT_EQ(Compute(Parse(once), "utilization").rows(), 0u);
}

std::string Looks(int count) {
  std::string text = "process a window=0..100000\nthread main\n";
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(10 * i);
    text += "count crosscut.resident_bytes " + at + " " + std::to_string(i) + "\n";
    text += "count crosscut.cpu_ns " + std::to_string(10 * i + 1) + " " + at + "\n";
  }
  return text;
}

TEST(Utilization, JoinsLooksBeyondSixHundredAndLosesNoTime) {
  EXPECT_EQ(Compute(Parse(Looks(601)), "utilization").rows(), 600u);
  const Table joined = Compute(Parse(Looks(1502)), "utilization");
  ASSERT_EQ(joined.rows(), 501u);  // three each, the last has one
  int64_t sum = 0, next = 1;
  for (size_t i = 0; i < joined.rows(); ++i) {
    EXPECT_EQ(joined.integers("begin_ns")[i], next);
    next = joined.integers("end_ns")[i];
    sum += joined.integers("cpu_ns")[i];
    const int64_t most = i < 500 ? static_cast<int64_t>(3 * i + 3) : 1501;
    EXPECT_EQ(joined.integers("resident_bytes")[i], most);
  }
  EXPECT_EQ(next, 15'011);
  EXPECT_EQ(sum, 15'010);
  EXPECT_THAT(joined.reals("cpu_percent"), Each(100));
}

}  // namespace
}  // namespace crosscut::analyze
