#include "src/analyze/accounting/accounting.h"

#include <gtest/gtest.h>

#include <utility>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

// What leads an operation passes its call on in control steps, too.
TEST(MeanInflation, TheUpperBoundGrowsWithTheOperationsOfAStep) {
  Inflation inflation;
  inflation.control_steps = 10;
  inflation.levels = {{1, 90, 30, 1.02, 1.01, 1.03}};
  inflation.control_step_ns = 4e6;
  for (const auto& [operations, floor] :
       {std::pair{0.0, 0.00425}, {3.0, 0.00425}, {12.0, 0.017}, {1e6, 0.05}}) {
    inflation.operations = operations;
    EXPECT_DOUBLE_EQ(MeanInflation(inflation).high, 1.027 + floor) << operations;
  }
}

TEST(MeanInflation, HasWhatControlStepsPayAsWell) {
  Inflation inflation;
  inflation.control_steps = 10;
  inflation.levels = {{1, 90, 30, 1.02, 1.01, 1.03}};
  inflation.control_step_ns = 1e6;
  inflation.unswitched_ns = 2e4, inflation.unswitched_low_ns = 1e4,
  inflation.unswitched_high_ns = 9e4;
  const LevelInflation mean = MeanInflation(inflation);
  EXPECT_DOUBLE_EQ(mean.ratio, 1.018 + 0.02);
  EXPECT_DOUBLE_EQ(mean.low, 1.009 + 0.01);
  EXPECT_DOUBLE_EQ(mean.high, 1.027 + 0.09 + 0.017);
  EXPECT_DOUBLE_EQ(mean.step_ns, 1.018e6);
}

// Steps of 1,000 ns, 900 of 1,000 profiled, each with one probe that costs 40 in control steps too.
TEST(Accounting, WhatControlStepsPayTooIsCountedByStep) {
  testing::TestTrace t;
  const trace::ProcessId process = t.Process("p", 0, 1'100'000);
  const trace::TrackId lead = t.Lead(process);
  for (int step = 0; step < 1000; ++step) {
    const int64_t begin = 100 + step * 1000;
    const uint8_t level = step % 10 == 3 ? 0 : 1;
    t.Step(process, begin, begin + 1000, level, step % 10 == 3 || step % 10 == 4);
    t.Operation(lead, "tasks", begin + 200, begin + 700);
  }
  trace::Trace& trace = t.Finish();
  const trace::StringId probe = trace.strings.Intern("mark");
  for (trace::Name& name : trace.names) name.probe = probe;
  trace.processes[0].probes.push_back({probe, 0, 0, 0, 0, 9, 40'000, 10'000, 80'000});
  const Accounting accounting(trace);
  const Inflation& inflation = accounting.processes[0].inflation;
  EXPECT_NEAR(inflation.unswitched_ns, 40, 0.1);
  EXPECT_NEAR(inflation.unswitched_low_ns, 10, 0.1);
  EXPECT_NEAR(inflation.unswitched_high_ns, 80, 0.1);
  EXPECT_EQ(inflation.estimated_ns, 0);  // so these marks say nothing of the scale
}

TEST(Accounting, OperationsAreCountedInStepsThatHaveThemRecorded) {
  testing::TestTrace t;
  const trace::ProcessId process = t.Process("p", 0, 1'000'000);
  const trace::TrackId lead = t.Lead(process), other = t.Thread(process);
  t.Operation(lead, "before", 50, 60);
  for (int step = 0; step < 900; ++step) {
    const int64_t begin = 100 + step * 1000;
    const uint8_t level = step % 30 < 6 ? 0 : 1;
    t.Step(process, begin, begin + 1000, level, step % 30 == 0 || step % 30 == 6);
    t.Operation(lead, "forward", begin, begin + 300);
    if (level == 0) continue;
    t.Operation(lead, "inner", begin + 100, begin + 200);
    if (step % 2 != 0) t.Operation(other, "data", begin + 100, begin + 1200);
  }
  const Accounting accounting(t.Finish());
  const Inflation& inflation = accounting.processes[0].inflation;
  ASSERT_TRUE(inflation.checked) << inflation.why_not;
  EXPECT_DOUBLE_EQ(inflation.operations, 2.5);
}

}  // namespace
}  // namespace crosscut::analyze
