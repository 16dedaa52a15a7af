// How often 95 % intervals hold the truth, of steps whose mean is known.
#include "src/analyze/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using testing::Parse;

struct Case {
  int steps;
  bool skewed;
};

class Coverage : public ::testing::TestWithParam<Case> {
 protected:
  // Its mean is 0, its standard deviation 1.
  double Noise() { return GetParam().skewed ? exponential_(random_) - 1 : normal_(random_); }
  int steps() const { return GetParam().steps; }

  // Of so many runs, those that hold it: 92 to 98 %.
  void Holds(int runs, const std::function<bool()>& run) {
    int held = 0;
    for (int i = 0; i < runs; ++i) held += run() ? 1 : 0;
    const double percent = 100.0 * held / runs;
    RecordProperty("percent", std::to_string(percent));
    EXPECT_GE(percent, 92);
    EXPECT_LE(percent, 98);
  }

  std::mt19937_64 random_{45};
  std::normal_distribution<double> normal_;

 private:
  std::exponential_distribution<double> exponential_;
};

TEST_P(Coverage, OfARatioIs92To98Percent) {
  Holds(4000, [&] {
    std::vector<double> parts, wholes;
    for (int i = 0; i < steps(); ++i) {
      wholes.push_back(100);
      parts.push_back(30 + 10 * Noise());
    }
    const Ratio ratio = RatioOf(parts, wholes);
    return std::abs(ratio.value - 0.3) <= ratio.half;
  });
}

// What lies behind the first third of the steps counts.
TEST_P(Coverage, OfTheGrowthOfMemoryIs92To98Percent) {
  Holds(1000, [&] {
    std::string text = "# crosscut trace\nprocess p window=0.." + std::to_string(3 * steps() / 2) +
                       "00\nthread main lead\n";
    double bytes = 1e9;
    for (int i = 0; i < 3 * steps() / 2 + 2; ++i) {
      const std::string at = std::to_string(i * 100);
      text += "step step " + at + " " + std::to_string(i * 100 + 100) + "\n";
      text +=
          "count crosscut.resident_bytes " + at + " " + std::to_string(std::llround(bytes)) + "\n";
      bytes += 1e6 + 1e6 * Noise();
    }
    const Table table = Compute(Parse(text), "memory_growth");
    return table.integers("low_bytes")[0] <= 1e6 && 1e6 <= table.integers("high_bytes")[0];
  });
}

// Recorded in blocks of three, in a run that differs from others by 1.5 %.
TEST_P(Coverage, OfAnOperatorPerStepIs92To98Percent) {
  Holds(1000, [&] {
    std::string text = "# crosscut trace\nprocess p window=0.." + std::to_string(2 * steps() + 6) +
                       "00000\nthread main lead\n";
    const double run = std::exp(0.015 * normal_(random_));
    for (int i = 0; i < 2 * steps() + 3; ++i) {
      const std::string at = std::to_string(i) + "00000";
      const bool shown = i / 3 % 2 == 0;
      text += "step step " + at + " " + std::to_string(i + 1) +
              "00000 level=" + (shown ? "2" : "1") + "\n";
      const auto ns = std::max<int64_t>(0, std::llround(run * (3e4 + 9e3 * Noise())));
      if (!shown) continue;
      text +=
          "span aten::mm " + at + " " + std::to_string(i * 100'000 + ns) + " framework probe=op\n";
    }
    const Table table = Compute(Parse(text), "step_operators");
    return table.integers("low_ns")[0] <= 3e4 && 3e4 <= table.integers("high_ns")[0];
  });
}

INSTANTIATE_TEST_SUITE_P(Steps, Coverage,
                         ::testing::Values(Case{10, false}, Case{10, true}, Case{20, false},
                                           Case{20, true}, Case{50, false}, Case{50, true},
                                           Case{200, false}, Case{200, true}),
                         [](const auto& info) {
                           return (info.param.skewed ? "Skewed" : "Normal") +
                                  std::to_string(info.param.steps);
                         });

}  // namespace
}  // namespace crosscut::analyze
