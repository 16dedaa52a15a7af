#include "src/analyze/time/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/testing/brute_force.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::InstantAt;
using testing::RandomTrace;
using testing::TestTrace;
using trace::Layer;

// Case T2 of RL-Scope's reference: nested operations and an asynchronous device.
TestTrace TraceOfT2() {
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
  return t;
}

TEST(Metrics, EachInstantOfT2FallsInTheFirstClassThatMatches) {
  TestTrace t = TraceOfT2();
  const Table got = Compute(t.Finish(), "metrics");
  EXPECT_THAT(got.texts("operation"),
              ElementsAre("(all)", "backprop", "training_loop", "inference"));
  EXPECT_THAT(got.integers("total_ns"), ElementsAre(1000, 400, 300, 300));
  EXPECT_THAT(got.integers("gpu_ns"), ElementsAre(430, 230, 50, 150));
  EXPECT_THAT(got.integers("cuda_cpp_ns"), ElementsAre(60, 30, 0, 30));
  EXPECT_THAT(got.integers("framework_cpp_ns"), ElementsAre(170, 100, 0, 70));
  EXPECT_THAT(got.integers("python_ns"), ElementsAre(340, 40, 250, 50));
  EXPECT_THAT(got.integers("other_ns"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(got.integers("cpp_ns"), ElementsAre(230, 130, 0, 100));
  EXPECT_THAT(got.integers("cpp_and_gpu_ns"), ElementsAre(660, 360, 50, 250));
  EXPECT_THAT(got.integers("gpu_and_cuda_cpp_ns"), ElementsAre(490, 260, 50, 180));
  EXPECT_THAT(got.reals("percent_time_in_gpu"),
              ElementsAre(DoubleEq(43), DoubleEq(57.5), DoubleEq(50.0 / 3), DoubleEq(50)));
  EXPECT_DOUBLE_EQ(got.reals("percent_time_in_python")[0], 34);
  EXPECT_DOUBLE_EQ(got.reals("theoretical_speedup")[0], 1000.0 / 660);
  EXPECT_DOUBLE_EQ(got.reals("python_overhead_percent")[0], 34000.0 / 660);
}

TEST(Metrics, WhatIsNeitherPythonNorNativeNorADeviceIsOther) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kIdle, {{0, 10}});
  t.Spans(lead, Layer::kOverhead, {{10, 30}});
  t.Spans(lead, Layer::kSimulator, {{40, 50}});
  t.Spans(lead, Layer::kComm, {{50, 55}});
  t.Spans(lead, Layer::kData, {{55, 60}});
  t.Spans(lead, Layer::kNative, {{60, 65}});
  t.Step(p, 70, 80, 0);
  t.Step(p, 80, 100, 3);
  t.Spans(lead, Layer::kPython, {{70, 85}});
  const Table got = Compute(t.Finish(), "metrics");
  EXPECT_EQ(got.integers("framework_cpp_ns")[0], 25);
  EXPECT_EQ(got.integers("python_ns")[0], 5);
  EXPECT_EQ(got.integers("other_ns")[0], 70);
  EXPECT_EQ(got.integers("control_ns")[0], 10);
  EXPECT_DOUBLE_EQ(got.reals("percent_time_in_python")[0], 500.0 / 90);  // of what is known
  EXPECT_DOUBLE_EQ(got.reals("percent_time_in_other")[0], 6000.0 / 90);
  EXPECT_DOUBLE_EQ(got.reals("theoretical_speedup")[0], 30.0 / 25);
}

TEST(Metrics, RatiosOfNothingAreMissing) {
  TestTrace t;
  const auto p = t.Process("p", 0, 10);
  t.Spans(t.Lead(p), Layer::kPython, {{0, 10}});
  t.Process("empty", 5, 5);
  const Table got = Compute(t.Finish(), "metrics");
  EXPECT_TRUE(std::isnan(got.reals("theoretical_speedup")[0]));
  EXPECT_TRUE(std::isnan(got.reals("python_overhead_percent")[0]));
  EXPECT_DOUBLE_EQ(got.reals("percent_time_in_python")[0], 100);
  EXPECT_TRUE(std::isnan(got.reals("percent_time_in_gpu")[2]));
}

// The words, from the layers of an instant; nothing shared with ClassOf.
std::string ClassInWords(LayerSet layers) {
  const std::string text = "+" + LayersText(layers) + "+";
  const auto has = [&](const char* name) {
    return text.find("+" + std::string(name) + "+") != std::string::npos;
  };
  if (DeviceBusy(layers)) return "gpu_ns";
  if (has("runtime")) return "cuda_cpp_ns";
  for (const char* name : {"framework", "native", "simulator", "comm", "data"}) {
    if (has(name)) return "framework_cpp_ns";
  }
  return has("python") ? "python_ns" : "other_ns";
}

using ClassSums = std::map<std::pair<std::string, std::string>, int64_t>;  // operation, class

TEST(Metrics, EqualABruteForceAndAddUpOnTwoThousandTraces) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const trace::Process& p = trace.processes[0];
    ClassSums want;
    int64_t wall = 0;
    for (int64_t at = p.start_ns; at < p.end_ns; ++at) {
      const auto key = InstantAt(trace, at);
      if (!key) continue;
      ++wall;
      ++want[{key->first, ClassInWords(key->second)}];
      ++want[{"(all)", ClassInWords(key->second)}];
    }
    const Table got = Compute(trace, "metrics");
    ASSERT_EQ(got.integers("total_ns")[0], wall) << "seed " << seed;
    for (size_t row = 0; row < got.rows(); ++row) {
      const auto ns = [&](const char* column) { return got.integers(column)[row]; };
      for (const char* c : {"gpu_ns", "cuda_cpp_ns", "framework_cpp_ns", "python_ns", "other_ns"}) {
        ASSERT_EQ(ns(c), (want[{got.texts("operation")[row], c}])) << "seed " << seed << " " << c;
      }
      ASSERT_EQ(ns("total_ns"), ns("python_ns") + ns("cpp_and_gpu_ns") + ns("other_ns"));
      ASSERT_EQ(ns("cpp_ns"), ns("cuda_cpp_ns") + ns("framework_cpp_ns"));
      ASSERT_EQ(ns("cpp_and_gpu_ns"), ns("cpp_ns") + ns("gpu_ns"));
      ASSERT_EQ(ns("gpu_and_cuda_cpp_ns"), ns("gpu_ns") + ns("cuda_cpp_ns"));
    }
  }
}

TEST(Metrics, CorrectedTimesAreThoseOfTheCells) {
  TestTrace t = TraceOfT2();
  const auto lead = trace::TrackId{0};
  t.trace().processes[0].probes.push_back(
      {t.trace().strings.Intern("span"), 2000, 0, 2000, 2000, 9});
  const auto probed = t.Name("call", trace::Kind::kSpan, Layer::kPython, false, "span");
  for (int64_t at = 0; at < 100; at += 10) t.Span(lead, at, at + 5, probed);
  const trace::Trace& trace = t.Finish();
  const Table raw = Compute(trace, "metrics"), got = Compute(trace, "corrected_metrics");
  const Table overlap = Compute(trace, "overlap");
  const Integers& cells = overlap.integers("corrected_ns");
  EXPECT_EQ(got.integers("total_ns")[0], std::accumulate(cells.begin(), cells.end(), int64_t{0}));
  EXPECT_LT(got.integers("python_ns")[0], raw.integers("python_ns")[0]);
  EXPECT_EQ(got.integers("gpu_ns")[0], raw.integers("gpu_ns")[0]);
  EXPECT_EQ(got.integers("total_ns")[0], got.integers("python_ns")[0] +
                                             got.integers("cpp_and_gpu_ns")[0] +
                                             got.integers("other_ns")[0]);
}

TEST(StepMetrics, HaveARowPerStepThatSumsToIt) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestTrace random = RandomTrace(seed);
    const trace::Trace& trace = random.Finish();
    const Table got = Compute(trace, "step_metrics"), steps = Compute(trace, "steps");
    ASSERT_EQ(got.rows(), steps.rows());
    ASSERT_EQ(got.integers("total_ns"), steps.integers("wall_ns")) << "seed " << seed;
  }
}

TEST(StepMetricSpread, IsThatOfTypicalStepsOfAKind) {
  TestTrace t;
  const auto p = t.Process("p", 0, 1000);
  const auto lead = t.Lead(p);
  t.Step(p, 0, 100, 3, true);  // after a switch: no part
  for (int64_t i = 1; i <= 4; ++i) t.Step(p, i * 100, i * 100 + 100, 3);
  t.Step(p, 500, 600, 0);  // control
  t.Step(p, 600, 700, 1);  // of another level
  t.Step(p, 900, 1000, 3);
  t.process(p).steps.back().open = true;
  t.Spans(lead, Layer::kPython,
          {{0, 90}, {100, 110}, {200, 220}, {300, 330}, {400, 440}, {600, 699}, {900, 999}});
  t.Spans(lead, Layer::kFramework, {{150, 160}, {250, 260}, {350, 360}});
  const Table got = Compute(t.Finish(), "step_metric_spread");
  ASSERT_EQ(got.rows(), 17U);
  for (size_t row = 0; row < got.rows(); ++row) {
    EXPECT_EQ(got.texts("kind")[row], "step");
    if (got.texts("metric")[row] == "python_ns") {
      EXPECT_EQ(got.integers("steps")[row], 4);
      EXPECT_DOUBLE_EQ(got.reals("mean")[row], 25);
      EXPECT_DOUBLE_EQ(got.reals("std")[row], std::sqrt(500.0 / 3));
      EXPECT_DOUBLE_EQ(got.reals("min")[row], 10);
      EXPECT_DOUBLE_EQ(got.reals("p50")[row], 20);
      EXPECT_DOUBLE_EQ(got.reals("p90")[row], 40);
      EXPECT_DOUBLE_EQ(got.reals("max")[row], 40);
    }
    if (got.texts("metric")[row] == "theoretical_speedup") {
      EXPECT_EQ(got.integers("steps")[row], 3);  // one has no native time
      EXPECT_DOUBLE_EQ(got.reals("mean")[row], 3);
    }
  }
}

}  // namespace
}  // namespace crosscut::analyze
