#include "src/analyze/accounting/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "src/analyze/tables.h"
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
TEST(Accounting, WhatControlStepsPayTooIsCountedByStepAndSubtractedFromAll) {
  testing::TestTrace t;
  const trace::ProcessId process = t.Process("p", 0, 1'100'000);
  const trace::TrackId lead = t.Lead(process);
  for (int step = 0; step < 1000; ++step) {
    const int64_t begin = 100 + step * 1000;
    const uint8_t level = step % 10 == 3 ? 0 : 1;
    t.Step(process, begin, begin + 1000, level, step % 10 == 3 || step % 10 == 4);
    if (level != 0) t.Operation(lead, "tasks", begin + 200, begin + 700);
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
  const ProcessAccount& account = accounting.processes[0];
  EXPECT_NEAR(static_cast<double>(account.correction.estimated_ns), 1000 * 40, 1);
  EXPECT_NEAR(static_cast<double>(account.high.estimated_ns), 1000 * 10, 1);
  const Context context(trace);
  const Table overhead = *ComputeTable(trace, context, "overhead");
  EXPECT_EQ(overhead.integers("count")[0], 900);
  EXPECT_NEAR(static_cast<double>(overhead.integers("total_ns")[0]), 1000 * 40, 1);
  EXPECT_NEAR(static_cast<double>(overhead.integers("subtracted_ns")[0]), 1000 * 40, 1);
  const Integers corrected = ComputeTable(trace, context, "steps")->integers("corrected_ns");
  EXPECT_THAT(corrected, ::testing::Each(960));
}

// Control steps take 12 us longer than unrecorded ones of 300 us, and profiled ones 6 us more.
TEST(Accounting, TheIntervalOfCorrectedStepsHoldsThoseOfNoRecording) {
  testing::TestTrace t;
  const trace::ProcessId process = t.Process("p", 0, 400'000'000);
  const trace::TrackId lead = t.Lead(process);
  const trace::NameId op = t.Name("op", trace::Kind::kSpan, trace::Layer::kFramework, false, "op");
  int64_t at = 0;
  for (int step = 0; step < 1000; ++step) {
    const uint8_t level = step % 20 < 3 ? 0 : 1;
    const int64_t end = at + (level == 0 ? 312'000 : 318'000);
    t.Step(process, at, end, level, step % 20 == 0 || step % 20 == 3);
    if (level != 0) t.Span(lead, at + 10'000, end - 10'000, op);
    at = end;
  }
  trace::Trace& trace = t.Finish();
  trace.processes[0].probes.push_back(
      {trace.names[op.value].probe, 2'000'000, 0, 1'900'000, 2'100'000, 9});
  const Context context(trace);
  const Table steps = *ComputeTable(trace, context, "steps");
  EXPECT_NEAR(static_cast<double>(steps.integers("corrected_ns")[10]), 312'000, 2'000);
  EXPECT_LT(steps.integers("corrected_low_ns")[10], 300'000);
  EXPECT_GT(steps.integers("corrected_low_ns")[10], 290'000);
  const Table operations = *ComputeTable(trace, context, "processes");
  EXPECT_LT(operations.integers("corrected_low_ns")[0], 400'000'000 - 1000 * 15'000);
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
