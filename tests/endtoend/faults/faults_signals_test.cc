// Marks out of signal handlers, and marks of a thread that was away for a run.
#include <sstream>

#include "tests/endtoend/faults/faults_fixture.h"

namespace crosscut::faults {
namespace {

constexpr uint64_t kHandlers = 4096;

void ExpectRising(const std::vector<uint64_t>& numbers, uint64_t thread) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    ASSERT_LT(numbers[i - 1], numbers[i]) << "thread " << thread;
  }
}

// What a thread marks itself is there, whatever interrupts it; of a handler's three marks all are
// there or none.
TEST_F(Faults, MarksInSignalHandlers_AreRecordedWholeOrCountedAndTakeNothingFromTheThread) {
  const Outcome outcome = Run({"handlers", run_, std::to_string(Count(20'000, 300))});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  // Where the drain had no processor for seconds the ring was full, and an end may be among what
  // was lost and counted.
  if (found.full == 0) {
    EXPECT_EQ(found.unbalanced, 0u);
    EXPECT_EQ(found.left_open, 0);
  }
  EXPECT_EQ(found.unknown_names, 0u);
  uint64_t in_handlers = 0;
  for (const auto& [thread, numbers] : found.numbers) {
    ExpectRising(numbers, thread);
    if (thread >= kHandlers) in_handlers += numbers.size();
  }
  std::istringstream lines(outcome.out);
  uint64_t thread = 0, marked = 0;
  while (lines >> thread >> marked) {
    if (thread == 0) {
      EXPECT_GT(in_handlers, marked / 8) << "of " << marked;
      EXPECT_LE(in_handlers, marked);
    } else if (found.dropped == 0 && marked != 0) {
      ASSERT_TRUE(found.numbers.contains(thread)) << thread << " marked " << marked;
      EXPECT_EQ(found.numbers.at(thread).back(), marked);
    }
  }
}

TEST_F(Faults, MarksInSignalHandlers_WhileSessionsStartAndStopHarmNothing) {
  const Outcome outcome = Run({"handlers", run_, std::to_string(Count(20'000, 300)), "sessions"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  for (const auto& [thread, numbers] : audit.processes.at(0).numbers) {
    ExpectRising(numbers, thread);
  }
}

TEST_F(Faults, AThreadThatWasAwayForARun_WritesIntoNoRingButItsOwn) {
  const Outcome outcome = Run({"runs", run_});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_ + "2");
  ASSERT_EQ(audit.error, "");
  auto numbers = audit.processes.at(0).numbers;
  EXPECT_EQ(numbers[0].size(), 20'000u);
  EXPECT_EQ(GapIn(numbers[0]), "");
  EXPECT_EQ(numbers[1].size(), 100u);
  EXPECT_EQ(GapIn(numbers[1]), "");
  EXPECT_EQ(audit.processes.at(0).unbalanced, 0u);
}

}  // namespace
}  // namespace crosscut::faults
