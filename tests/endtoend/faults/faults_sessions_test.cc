// The edges of sessions: records before and after main(), exits in every state, stops while other
// threads record.
#include "tests/endtoend/faults/faults_fixture.h"

namespace crosscut::faults {
namespace {

TEST_F(Faults, StaticObjectsAndExitHandlers_RecordUntilTheVeryEnd) {
  const Outcome outcome = Run({"statics", run_});
  EXPECT_EQ(WEXITSTATUS(outcome.status), 3) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  auto numbers = audit.processes.at(0).numbers;
  EXPECT_EQ(numbers[0].size(), 6u);  // one made, three destroyed, two handlers
  EXPECT_EQ(GapIn(numbers[0]), "");
}

class InState : public Faults, public testing::WithParamInterface<const char*> {};

TEST_P(InState, AnExit_KeepsTheStatusAndWhatWasRecorded) {
  const Outcome outcome = Run({"state", run_, GetParam()});
  EXPECT_TRUE(WIFEXITED(outcome.status));
  EXPECT_EQ(WEXITSTATUS(outcome.status), 12) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  EXPECT_EQ(audit.processes.at(0).counters, GetParam() == std::string("started") ? 0u : 1u);
  EXPECT_EQ(audit.processes.at(0).dropped, 0u);
}

INSTANTIATE_TEST_SUITE_P(State, InState,
                         testing::Values("started", "recording", "paused", "resumed", "snapshot",
                                         "stopped"),
                         [](const auto& state) { return state.param; });

TEST_F(Faults, StartsAndStopsWhileEightThreadsRecord_InventNothingAndLeaveNoStackWrong) {
  const Outcome outcome = Run({"races", run_, std::to_string(Count(10'000, 1000))});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_GT(found.counters, 0u);
  EXPECT_EQ(found.unknown_names, 0u);
  for (const auto& [thread, numbers] : found.numbers) {
    EXPECT_LE(thread, 8u);
    for (size_t i = 1; i < numbers.size(); ++i) {
      ASSERT_LT(numbers[i - 1], numbers[i]) << "thread " << thread;
    }
  }
}

}  // namespace
}  // namespace crosscut::faults
