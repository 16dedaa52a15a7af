// What is counted per step, thing by thing: of runs whose steps were made with so many of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/compare/test_recording.h"

namespace crosscut::compare {
namespace {

constexpr int kSteps = 24;
constexpr const char* kThings[] = {"operators",   "launches",    "kernels",        "copies",
                                   "collectives", "allocations", "allocated bytes"};
using Counts = std::map<std::string, int64_t>;  // of one step

// They come back at once.
std::string Allocations(const Counts& counts, int64_t at) {
  std::string out;
  const int64_t count = counts.at("allocations");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = i + 1 == count ? counts.at("allocated bytes") - i : 1;
    for (const int64_t change : {bytes, -bytes}) {
      out += "instant [memory] " + std::to_string(at + i) + "\narg Bytes " +
             std::to_string(change) + "\narg \"Device Type\" 1\narg \"Device Id\" 0\n";
    }
  }
  return out;
}

Recording Recorded(const std::vector<Counts>& steps) {
  std::string host =
      "process p window=0.." + std::to_string(steps.size() * 100'000) + "\nthread main main lead\n";
  std::string device = "device gpu device=0\n";
  uint64_t arrow = 0;
  int64_t free_at = 0;  // when the device has done what it was given
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto begin = static_cast<int64_t>(s) * 100'000;
    int64_t at = begin;
    const auto span = [&](const std::string& what) {
      at += 10;
      return "span " + what.substr(0, what.find('|')) + " " + std::to_string(at) + " " +
             std::to_string(at + 5) + what.substr(what.find('|') + 1) + "\n";
    };
    host += "step step " + std::to_string(begin) + " " + std::to_string(begin + 100'000) +
            " number=" + std::to_string(s) + " level=2\n";
    Counts left = steps[s];
    // Some of them are calls of ranks; calls of native code and operations are none.
    for (int64_t i = 0; i < left["operators"]; ++i) {
      host += span(i % 3 == 0 ? "all_reduce| comm" : "mul| framework");
    }
    host += span("boundary| framework probe=boundary") + span("native| native");
    const auto work = [&](const char* name, bool launched) {
      free_at = std::max(free_at, at) + 10;
      device += std::string("span ") + name + " " + std::to_string(free_at) + " " +
                std::to_string(free_at + 5) + "\n";
      if (launched) {
        device += "in " + std::to_string(arrow) + " " + std::to_string(free_at) + "\n";
      }
    };
    const auto one = [&](bool launched) {
      for (const auto& [what, name] : {std::pair("kernels", "gemm"), std::pair("copies", "Memcpy"),
                                       std::pair("collectives", "ncclKernel")}) {
        if (left[what] == 0) continue;
        --left[what];
        work(name, launched);
        return;
      }
    };
    // Each call gives the device one piece of work, and the last one all that is left: some of it
    // runs in a later step, and is of this one all the same.
    for (int64_t i = left["launches"]; i > 0; --i) {
      host += span("launch| runtime") + "out " + std::to_string(++arrow) + " " +
              std::to_string(at) + "\n";
      if (i == 1) free_at += 30'000;
      for (int k = 0; k < (i == 1 ? 1000 : 1); ++k) one(true);
    }
    host += Allocations(left, at + 1);
  }
  return Recording(host + device);
}

// Steps with `most` of each thing at most; a run has all things, or lacks some.
std::vector<Counts> Draw(std::mt19937* random) {
  Counts most;
  for (const char* what : kThings) most[what] = (*random)() % 4 == 0 ? 0 : 1 + (*random)() % 6;
  if (most["launches"] == 0) most["kernels"] = most["copies"] = most["collectives"] = 0;
  std::vector<Counts> steps(kSteps);
  for (Counts& step : steps) {
    for (const char* what : kThings) {
      step[what] = most[what] == 0 ? 0 : static_cast<int64_t>((*random)() % (most[what] + 1));
    }
    const int64_t work = step["kernels"] + step["copies"] + step["collectives"];
    if (work == 0) step["launches"] = 0;
    if (work > 0) step["launches"] = 1 + static_cast<int64_t>((*random)() % work);
    step["allocated bytes"] = step["allocations"] == 0 ? 0 : step["allocations"] * 10;
  }
  return steps;
}

struct Sum {
  int64_t count = 0, low = INT64_MAX, high = 0;
};
Sum SumOf(const std::vector<std::vector<Counts>>& runs, const std::string& what) {
  Sum sum;
  for (const std::vector<Counts>& steps : runs) {
    for (const Counts& step : steps) {
      const int64_t count = step.at(what);
      sum.count += count;
      sum.low = std::min(sum.low, count);
      sum.high = std::max(sum.high, count);
    }
  }
  return sum;
}

TEST(StepCounts, AreThoseOfEachThingOverAllRunsOfASide) {
  std::mt19937 random(8);
  int rows = 0, changed = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<Counts>> sides[2];
    std::vector<Recording> made;
    made.reserve(6);
    std::vector<compare::Run> runs[2];
    for (int side = 0; side < 2; ++side) {
      for (uint32_t i = 1 + random() % 3; i > 0; --i) {
        sides[side].push_back(Draw(&random));
        made.push_back(Recorded(sides[side].back()));
        runs[side].push_back(made.back().run());
      }
    }
    const Comparison comparison = Compare({runs[0], runs[1]});
    const analyze::Table& table = *comparison.Find("diff_step_counts");
    std::map<std::string, size_t> row_of;
    for (size_t row = 0; row < table.rows(); ++row) row_of[table.texts("what")[row]] = row;
    for (const char* what : kThings) {
      const Sum a = SumOf(sides[0], what), b = SumOf(sides[1], what);
      ASSERT_EQ(row_of.contains(what), a.count + b.count > 0) << what;
      if (!row_of.contains(what)) continue;
      const auto cell = [&](const char* column) { return table.integers(column)[row_of[what]]; };
      SCOPED_TRACE(what + std::string(" of round ") + std::to_string(round));
      EXPECT_EQ(cell("a_steps"), static_cast<int64_t>(kSteps * sides[0].size()));
      EXPECT_EQ(cell("b_steps"), static_cast<int64_t>(kSteps * sides[1].size()));
      EXPECT_EQ(cell("a_count"), a.count);
      EXPECT_EQ(cell("b_count"), b.count);
      EXPECT_EQ(cell("a_low"), a.count == 0 ? 0 : a.low);
      EXPECT_EQ(cell("b_low"), b.count == 0 ? 0 : b.low);
      EXPECT_EQ(cell("a_high"), a.high);
      EXPECT_EQ(cell("b_high"), b.high);
      EXPECT_EQ(cell("changed"), a.high < b.low || b.high < a.low);
      changed += static_cast<int>(cell("changed"));
      ++rows;
    }
    // Of one name, likewise, with its time.
    const analyze::Table& names = *comparison.Find("diff_step_names");
    for (size_t row = 0; row < names.rows(); ++row) {
      if (names.texts("name")[row] != "launch") continue;
      const Sum a = SumOf(sides[0], "launches"), b = SumOf(sides[1], "launches");
      EXPECT_EQ(names.texts("layer")[row], "runtime");
      EXPECT_EQ(names.integers("a_count")[row], a.count);
      EXPECT_EQ(names.integers("b_low")[row], b.low);
      EXPECT_EQ(names.texts("found")[row], a.count == 0 ? "B" : b.count == 0 ? "A" : "both");
      const auto mean = [](int64_t ns, size_t runs) {
        const auto steps = static_cast<int64_t>(kSteps * runs);
        return (2 * ns + steps) / (2 * steps);
      };
      EXPECT_EQ(names.integers("a_ns")[row], mean(5 * a.count, sides[0].size()));
      EXPECT_EQ(names.integers("change_ns")[row],
                mean(5 * b.count, sides[1].size()) - mean(5 * a.count, sides[0].size()));
    }
  }
  EXPECT_GT(rows, 200);
  EXPECT_GT(changed, 0);
}

}  // namespace
}  // namespace crosscut::compare
