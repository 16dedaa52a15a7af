// Limits: bursts, the memory cap, the flight recorder, shared memory that is not there, programs
// that become other programs, clocks.
#include <sys/stat.h>

#include <fstream>

#include "src/format/reap.h"
#include "tests/endtoend/faults/faults_fixture.h"

namespace crosscut::faults {
namespace {

constexpr const char* kHeld = "CROSSCUT_FAULT=drain.hold:0:fail";

TEST_F(Faults, ABurstRightAfterTheStart_LosesNothingUpToTheCapThoughTheDrainIsHeld) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome = Run({"burst", run_, "500000", "64"}, {kHeld});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_EQ(found.dropped, 0u);
  EXPECT_EQ(found.kept, 1'000'000u);
  EXPECT_EQ(found.unbalanced, 0u);
  EXPECT_EQ(found.left_open, 0);
}

TEST_F(Faults, ABurstBeyondTheCap_IsKeptToTheCapAndCountedBeyondIt) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome = Run({"burst", run_, "1000000", "8"}, {kHeld});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  constexpr uint64_t kRingWords = (8 << 20) / 16 * 12 / 8;
  EXPECT_GT(found.kept, kRingWords * 95 / 100);
  EXPECT_LT(found.kept, kRingWords);
  EXPECT_EQ(found.kept + found.dropped, 2'000'000u);
}

class Capped : public Faults, public testing::WithParamInterface<bool> {};

TEST_P(Capped, SixtyFourThreads_StayWithinTheCapAndFivePercent) {
  const bool held = GetParam();
  if (held) NEEDS_FAULT_POINTS();
  if (kSanitized || base::UnderEmulator()) {
    GTEST_SKIP() << "sanitizers and emulators take memory of their own";
  }
  const Outcome outcome = Run({"cap", run_, "16", "20000"}, {held ? kHeld : "CROSSCUT_FAULT="});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const long peak_kib = std::stol(outcome.out);
  RecordProperty("peak_kib", static_cast<int>(peak_kib));
  EXPECT_LE(peak_kib, 16 * 1024 * 105 / 100);
  EXPECT_GT(peak_kib, 8 * 1024);
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  // The drain's own span is counted, too, where the drain never got a chunk to say who it is.
  EXPECT_GE(found.counters + found.dropped, 64u * 20'000);
  EXPECT_LE(found.counters + found.dropped, 64u * 20'000 + (held ? 0 : 2));
}

INSTANTIATE_TEST_SUITE_P(Drain, Capped, testing::Values(true, false),
                         [](const auto& held) { return held.param ? "Held" : "Running"; });

class Flight : public Faults, public testing::WithParamInterface<bool> {};

TEST_P(Flight, KeepsTheNewestWithoutAGapWhateverTheDrainDoes) {
  const bool held = GetParam();
  if (held) NEEDS_FAULT_POINTS();
  const Outcome outcome = Run({"flight", run_, "300000"}, {held ? kHeld : "CROSSCUT_FAULT="});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  const auto numbers = found.numbers.find(0);
  ASSERT_NE(numbers, found.numbers.end());
  const std::vector<uint64_t>& kept = numbers->second;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), 300'000u);
  EXPECT_EQ(kept.back() - kept.front() + 1, kept.size());
  EXPECT_GT(kept.size(), 10'000u);
  EXPECT_LT(kept.size(), (2u << 20) / 24);
  EXPECT_GE(found.dropped, 300'000u - kept.size());
}

INSTANTIATE_TEST_SUITE_P(Drain, Flight, testing::Values(true, false),
                         [](const auto& held) { return held.param ? "Held" : "Running"; });

class Shm : public Faults, public testing::WithParamInterface<const char*> {};

TEST_P(Shm, SmallOrMissing_StillRecordsAndSaysWhere) {
  const Outcome outcome = Run({"shm", run_, GetParam()});
  if (WEXITSTATUS(outcome.status) == 77) GTEST_SKIP() << "mounting is not allowed here";
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::StartsWith("crosscut: the ring "));
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), 1u);
  const ProcessAudit& found = audit.processes[0];
  EXPECT_EQ(found.counters + found.dropped, 50'000u);
  EXPECT_GT(found.counters, 0u);
}

INSTANTIATE_TEST_SUITE_P(Size, Shm, testing::Values("4m", "256k", "none"),
                         [](const auto& size) { return std::string("Size_") + size.param; });

TEST_F(Faults, ARingDirectoryThatIsNotThere_MovesTheRingToTheRunDirectory) {
  ASSERT_EQ(mkdir(run_.c_str(), 0700), 0);
  std::ofstream(run_ + "/run.json") << R"({"format":1,"seed":5,"ring_dir":"/nowhere/at/all"})";
  const Outcome outcome = Run({"burst", run_, "1000", "4"});
  ASSERT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, testing::HasSubstr("the ring is in the run directory"));
  EXPECT_EQ(ReadRun(run_).processes.at(0).kept, 2000u);
}

TEST_F(Faults, ProgramsRunByVforkAndPosixSpawn_DisturbNoThread) {
  const Outcome outcome = Run({"spawns", run_, std::to_string(Count(2000, 100))});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), 1u);
  auto numbers = audit.processes[0].numbers;
  FILE* told = fmemopen(const_cast<char*>(outcome.out.data()), outcome.out.size(), "r");
  unsigned long long thread, count;
  while (fscanf(told, "%llu %llu", &thread, &count) == 2) {
    EXPECT_EQ(numbers[thread].size(), count);
    EXPECT_EQ(GapIn(numbers[thread]), "");
  }
  fclose(told);
}

TEST_F(Faults, AChainOfExecs_IsOneLogPerImageAndEveryEventInIt) {
  const Outcome outcome = Run({"chain", run_, "5", FAULTS_PROGRAM});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit before = ReadRun(run_);
  ASSERT_TRUE(format::ReapRun(run_).ok());
  for (const Audit& audit : {before, ReadRun(run_)}) {
    ASSERT_EQ(audit.error, "");
    ASSERT_EQ(audit.processes.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      auto numbers = audit.processes[i].numbers;
      EXPECT_EQ(numbers[0].size(), 10u);
      EXPECT_EQ(GapIn(numbers[0]), "");
      if (i == 0) continue;
      EXPECT_EQ(audit.processes[i].start_method, "exec");
      EXPECT_EQ(audit.processes[i].parent_key, audit.processes[i - 1].key);
    }
  }
}

TEST_F(Faults, NamesOfOneMebibyteAndMore_AreKeptToTheirLimit) {
  const Outcome outcome = Run({"names", run_});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_EQ(found.longest_name, size_t{1} << 20);
  EXPECT_EQ(found.unknown_names, 0u);
  EXPECT_EQ(found.spans_named_long, 3u);
}

TEST_F(Faults, TheMonotonicClock_RecordsAllAndNeverGoesBack) {
  const Outcome outcome = Run({"end", run_, "return"}, {"CROSSCUT_CLOCK=monotonic"});
  EXPECT_EQ(WEXITSTATUS(outcome.status), 3);
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_EQ(found.ticks, "monotonic");
  EXPECT_EQ(found.counters, 100u);
  EXPECT_EQ(found.steps_back, 0u);
}

TEST_F(Faults, AProgramWithRaisedPrivileges_IsNotRecordedAndRunsOn) {
  if (base::UnderEmulator()) GTEST_SKIP() << "an emulated program has the emulator's privileges";
  const std::string program = dir_ + "/raised";
  fs::copy_file(FAULTS_PROGRAM, program);
  if (chown(program.c_str(), static_cast<uid_t>(-1), 65534) != 0) {
    GTEST_SKIP() << "needs the right to give a file to another group";
  }
  ASSERT_EQ(chmod(program.c_str(), 02755), 0);
  program_ = program;
  const Outcome outcome = Run({"end", run_, "return"});
  EXPECT_EQ(WEXITSTATUS(outcome.status), 1) << outcome.err;
  EXPECT_THAT(outcome.err, testing::HasSubstr("raised privileges"));
  EXPECT_FALSE(fs::exists(run_));
}

}  // namespace
}  // namespace crosscut::faults
