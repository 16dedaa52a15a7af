// What a step adds to resident memory, on traces whose figures can be had by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;
using testing::Rows;

// 300 steps of 10 ms, and a look at the memory in each half second.
std::string Looks(const std::function<double(double steps)>& mib) {
  std::string text = "# crosscut trace\nprocess p window=0..3000000000\nthread main lead\n";
  for (int64_t i = 0; i < 300; ++i) {
    text += "step step " + std::to_string(i * 10'000'000) + " " +
            std::to_string((i + 1) * 10'000'000) + " number=" + std::to_string(i) + "\n";
  }
  for (int64_t i = 1; i < 30; ++i) {
    const auto bytes = static_cast<int64_t>(mib(static_cast<double>(i * 10)) * (1 << 20));
    text += "count crosscut.resident_bytes " + std::to_string(i * 100'000'000) + " " +
            std::to_string(bytes) + "\n";
  }
  return text;
}

TEST(MemoryGrowth, ResidentMemoryThatGrowsWithTheStepsIsAFinding) {
  EXPECT_THAT(Rows(Parse(Looks([](double steps) { return 100 + steps; })), "memory_growth"),
              ElementsAre(HasSubstr("grew by 1 MiB a step (95 %: 1 MiB to 1 MiB), by 190 MiB to "
                                    "390 MiB in the last 190 steps.")));
}

TEST(MemoryGrowth, ResidentMemoryThatFindsItsSizeOrWandersIsNone) {
  const auto found = [](const std::function<double(double)>& mib) {
    return Rows(Parse(Looks(mib)), "findings");
  };
  EXPECT_THAT(found([](double steps) { return std::min(500.0, 100 + 5 * steps); }), IsEmpty());
  EXPECT_THAT(found([](double steps) { return steps < 200 ? 100.0 : 200.0; }), IsEmpty());
  std::mt19937_64 random(3);
  EXPECT_THAT(found([&](double) { return 100.0 + static_cast<double>(random() % 50); }), IsEmpty());
}

}  // namespace
}  // namespace crosscut::analyze
