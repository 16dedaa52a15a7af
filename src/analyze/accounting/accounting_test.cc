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
