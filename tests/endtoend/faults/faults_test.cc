// Things go wrong in a recorded program (faults_program.cc); a reader must find every event whose
// call returned, and nothing else, and the program must not notice.
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "src/base/testing/emulator.h"
#include "src/format/format.h"
#include "tests/endtoend/faults/faults_fixture.h"

namespace crosscut::faults {
namespace {

// CROSSCUT_TEST_KILLS: another count, for the long form.
uint64_t KillCount() {
  const char* text = getenv("CROSSCUT_TEST_KILLS");
  return text != nullptr ? strtoull(text, nullptr, 10) : Count(250, 100);
}

// Counters that a killed program shares with the test.
class Acknowledged {
 public:
  explicit Acknowledged(const std::string& path) {
    const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
    EXPECT_EQ(ftruncate(fd, 4096), 0);
    at_ = static_cast<std::atomic<uint64_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~Acknowledged() { munmap(at_, 4096); }
  uint64_t operator[](size_t i) const { return at_[i].load(); }

 private:
  std::atomic<uint64_t>* at_;
};

void ExpectNothingLost(const Audit& audit, const Acknowledged& acknowledged, int threads) {
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), 1u);
  const ProcessAudit& found = audit.processes[0];
  EXPECT_EQ(found.unknown_names, 0u);
  EXPECT_EQ(found.dropped, 0u);
  EXPECT_EQ(found.unbalanced, 0u);
  for (int t = 0; t < threads; ++t) {
    const auto numbers = found.numbers.find(static_cast<uint64_t>(t));
    const std::vector<uint64_t> none;
    const std::vector<uint64_t>& got = numbers == found.numbers.end() ? none : numbers->second;
    EXPECT_EQ(GapIn(got), "") << "thread " << t;
    EXPECT_GE(got.size(), acknowledged[t]) << "lost, thread " << t;
    EXPECT_LE(got.size(), acknowledged[t] + 1) << "invented, thread " << t;
  }
}

// Nothing was lost for want of room: what is not there is older than what is, and counted, three
// events a number. A chunk on its way out may be there and counted.
void ExpectNewestKept(const Audit& audit, const Acknowledged& acknowledged, int threads) {
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), 1u);
  const ProcessAudit& found = audit.processes[0];
  EXPECT_EQ(found.unknown_names, 0u);
  EXPECT_EQ(found.full, 0u);
  uint64_t marked = 0;
  for (int t = 0; t < threads; ++t) {
    marked += 3 * acknowledged[t];
    const auto numbers = found.numbers.find(static_cast<uint64_t>(t));
    if (numbers == found.numbers.end()) {
      EXPECT_TRUE(threads > 1 || acknowledged[t] == 0) << "lost all of thread " << t;
      continue;
    }
    EXPECT_TRUE(std::is_sorted(numbers->second.begin(), numbers->second.end()));
    EXPECT_LE(numbers->second.back(), acknowledged[t] + 1) << "invented, thread " << t;
    if (threads == 1) {
      EXPECT_GE(numbers->second.back(), acknowledged[t]) << "lost the newest";
    }
  }
  constexpr uint64_t kChunkEvents = format::kRingChunkWords;
  const auto writers = static_cast<uint64_t>(threads) + 1;  // and the drain
  EXPECT_GE(found.kept + found.dropped, marked);
  EXPECT_LE(found.kept + found.dropped, marked + writers * (3 + kChunkEvents));
}

TEST_F(Faults, KilledAtRandom_AFlightRecorderHasTheNewest) {
  std::mt19937 random(20261125);
  const uint64_t kills = KillCount() / 4;
  for (uint64_t i = 0; i < kills && !HasFailure(); ++i) {
    const int threads = 1 + static_cast<int>(random() % 8);
    const std::string run = run_ + std::to_string(i);
    const Acknowledged acknowledged(dir_ + "/ack");
    const bool held = kHasFaultPoints && i % 2 == 0;
    const pid_t pid = Spawn({"kill", run, std::to_string(threads), dir_ + "/ack", "flight"},
                            {held ? "CROSSCUT_FAULT=drain.hold:0:fail" : "CROSSCUT_FAULT="});
    while (acknowledged[63] == 0) usleep(100);
    usleep(random() % 60'000);
    kill(pid, SIGKILL);
    Wait(pid);
    ExpectNewestKept(ReadRun(run), acknowledged, threads);
    RemoveRings();
  }
}

TEST_F(Faults, KilledAtRandom_LosesNoAcknowledgedEventAndInventsNone) {
  std::mt19937 random(20240607);
  const uint64_t kills = KillCount();
  for (uint64_t i = 0; i < kills && !HasFailure(); ++i) {
    const int threads = 1 + static_cast<int>(random() % 8);
    const std::string run = run_ + std::to_string(i);
    const Acknowledged acknowledged(dir_ + "/ack");
    const pid_t pid = Spawn({"kill", run, std::to_string(threads), dir_ + "/ack"});
    while (acknowledged[63] == 0) usleep(100);
    usleep(random() % 15'000);
    kill(pid, SIGKILL);
    Wait(pid);
    ExpectNothingLost(ReadRun(run), acknowledged, threads);
    RemoveRings();
  }
}

TEST_F(Faults, KilledAtEveryFaultPointOfTheWriter_LosesNothing) {
  NEEDS_FAULT_POINTS();
  for (const char* point : {"drain.appended", "stream.publish", "drain.pass", "session.phase",
                            "session.started", "ring.populate", "recorder.publish"}) {
    for (const int nth : {1, 2, 7}) {
      const std::string run = run_ + point + std::to_string(nth);
      const Acknowledged acknowledged(dir_ + "/ack");
      const pid_t pid =
          Spawn({"kill", run, "2", dir_ + "/ack"},
                {std::string("CROSSCUT_FAULT=") + point + ":" + std::to_string(nth) + ":kill"});
      for (int i = 0; i < 100 && kill(pid, 0) == 0; ++i) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) break;
        usleep(1000);
      }
      kill(pid, SIGKILL);
      Wait(pid);
      const Audit audit = ReadRun(run);
      if (acknowledged[63] == 0 && audit.processes.empty()) continue;  // died before its start
      SCOPED_TRACE(run);
      ExpectNothingLost(audit, acknowledged, 2);
    }
  }
}

std::vector<std::string> Endings() {
  std::vector<std::string> all = {"return", "exit", "_exit", "quick_exit",  "throw", "abort",
                                  "term",   "kill", "segv",  "thread_exit", "exec"};
#ifndef __SANITIZE_THREAD__  // its thread, there from the first thread on, outlives such exits
  // Nor does the recorder's thread see them where qemu makes up /proc/self/exe.
  if (!base::UnderEmulator()) {
    all.insert(all.end(), {"pthread_exit", "raw_exit", "raw_exit_before_others"});
  }
#endif
  return all;
}

TEST_F(Faults, EveryEnding_LooksTheSameRecordedOrNotAndLosesNothing) {
  std::vector<double> later;
  for (const std::string& how : Endings()) {
    SCOPED_TRACE(how);
    const Outcome plain = Run({"end", "-", how});
    const std::string run = run_ + how;
    const Outcome recorded = Run({"end", run, how});
    later.push_back(recorded.ms - plain.ms);
    EXPECT_EQ(recorded.status, plain.status);
    EXPECT_EQ(recorded.out, plain.out);
    if (!kSanitized) {
      EXPECT_EQ(recorded.err, plain.err);
    }
    const Audit audit = ReadRun(run);
    ASSERT_EQ(audit.error, "");
    ASSERT_EQ(audit.processes.size(), 1u);
    auto numbers = audit.processes[0].numbers;
    EXPECT_EQ(numbers[0].size(), 100u);
    EXPECT_EQ(GapIn(numbers[0]), "");
  }
  std::sort(later.begin(), later.end());
  printf(
      "recorded programs end later by %.1f ms (median of %zu endings, the start of the session "
      "included; at most %.1f ms)\n",
      later[later.size() / 2], later.size(), later.back());
}

TEST_F(Faults, EventsOfThreadDestructors_AreKeptOrCounted) {
  const Outcome outcome = Run({"destructors", run_});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), 1u);
  EXPECT_EQ(audit.processes[0].counters + audit.processes[0].dropped, 2u + 3u + 3u);
  EXPECT_GE(audit.processes[0].counters, 2u + 3u);
}

TEST_F(Faults, ThreadChurn_LosesNothingAndEveryThreadEnds) {
  const uint64_t threads = Count(100'000, 10'000);
  const Outcome outcome = Run({"churn", run_, std::to_string(threads)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  long maps = 999, left = 999;  // more than after the first tenth
  ASSERT_EQ(sscanf(outcome.out.c_str(), "%ld %ld", &maps, &left), 2);
  if (!kSanitized) {
    EXPECT_LE(maps, 16);  // libc's own stacks and arenas
  }
  EXPECT_EQ(left, 0);
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_EQ(found.counters, 2 * threads);
  EXPECT_EQ(found.dropped, 0u);
  EXPECT_EQ(found.threads_ended, threads);
}

class Forked : public Faults, public testing::WithParamInterface<const char*> {};

TEST_P(Forked, Children_StayOutOfTheParentsLogWhileEightThreadsRecord) {
  const bool follow = std::string(GetParam()) == "follow";
  // TSan forbids threads in a child forked off several, the drain's too; ASan's allocator leaves
  // the child the locks that another thread held at the fork.
  if (follow && kSanitized) GTEST_SKIP() << "a sanitizer's run-time does not bear it";
  if (std::string(GetParam()) == "clone" && base::UnderEmulator()) {
    GTEST_SKIP() << "qemu takes MADV_WIPEONFORK and does nothing";
  }
  const size_t forks = Count(2000, 400);
  const Outcome outcome = Run({"forks", run_, std::to_string(forks), GetParam()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  ASSERT_EQ(audit.processes.size(), follow ? forks + 1 : 1u);
  for (const ProcessAudit& process : audit.processes) {
    auto numbers = process.numbers;
    if (process.pid != pids_.back()) {
      EXPECT_EQ(process.start_method, "fork");
      EXPECT_EQ(numbers[100].size(), 5u);
      continue;
    }
    EXPECT_EQ(numbers[100].size(), 0u);
    FILE* told = fmemopen(const_cast<char*>(outcome.out.data()), outcome.out.size(), "r");
    unsigned long long thread, count;
    uint64_t kept = 0, recorded = 0;
    while (fscanf(told, "%llu %llu", &thread, &count) == 2) {
      kept += numbers[thread].size();
      recorded += count;
      if (process.dropped > 0) continue;
      EXPECT_EQ(numbers[thread].size(), count);
      EXPECT_EQ(GapIn(numbers[thread]), "");
    }
    fclose(told);
    // A sanitized drain may fall behind eight threads; what is dropped is counted.
    EXPECT_LE(kept, recorded);
    EXPECT_GE(kept + process.dropped, recorded);
    if (!kSanitized) {
      EXPECT_EQ(process.dropped, 0u);
    }
  }
  for (const ProcessAudit& process : audit.processes) pids_.push_back(process.pid);
}

INSTANTIATE_TEST_SUITE_P(How, Forked, testing::Values("fork", "clone", "follow"),
                         [](const auto& how) { return how.param; });

TEST_F(Faults, StartAndStopAgainAndAgain_GrowsNothing) {
  const size_t cycles = Count(100'000, 1000);
  const Outcome outcome = Run({"cycles", run_, std::to_string(cycles)});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  long maps = 9, memory = 9, threads = 9, fds = 9;
  ASSERT_EQ(sscanf(outcome.out.c_str(), "%ld %ld %ld %ld", &maps, &memory, &threads, &fds), 4);
  if (!kSanitized) {
    EXPECT_LE(maps, 2);  // of libc's heap; thousands if a cycle left one
    // KiB, in half of the cycles: of 64 bytes a cycle, the log's index takes 24 for each of the one
    // or two chunks that a cycle writes. So many cycles, since libc's heap has moods of some
    // hundred.
    EXPECT_LE(memory, 50'000 * 64 >> 10);
  }
  EXPECT_EQ(threads, 0);
  EXPECT_EQ(fds, 0);
  const Audit audit = ReadRun(run_);
  EXPECT_EQ(audit.error, "");
  auto numbers = audit.processes.at(0).numbers;
  EXPECT_EQ(GapIn(numbers[0]), "");
  EXPECT_EQ(numbers[0].size(), cycles);
}

TEST_F(Faults, ClosingEveryDescriptor_PutsNoByteOfOursInTheProgramsFiles) {
  const Outcome outcome = Run({"descriptors", run_, dir_ + "/file"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(Contents(dir_ + "/file" + std::to_string(i)), "mine");
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  auto numbers = audit.processes.at(0).numbers;
  EXPECT_EQ(numbers[0].size(), 100'000u);
}

TEST_F(Faults, WithTheDrainStopped_KeptAndDroppedMakeUpWhatWasRecorded) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome =
      Run({"overload", run_, "4", "100000"}, {"CROSSCUT_FAULT=drain.pass:0:fail"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  const ProcessAudit& found = audit.processes.at(0);
  EXPECT_GT(found.dropped, 0u);
  EXPECT_EQ(found.counters + found.dropped, 400'000u);
}

TEST_F(Faults, FileSizeLimit_StopsRecordingWithAReasonAndLeavesTheProgramAlone) {
  const Outcome outcome = Run({"limit", run_, "20000"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::StartsWith("crosscut: recording stopped: "));
  const Audit audit = ReadRun(run_);
  EXPECT_EQ(audit.error, "");
  EXPECT_EQ(audit.processes.at(0).stop_reason, 3);
  EXPECT_GT(audit.processes.at(0).counters, 0u);
}

TEST_F(Faults, AFailingWrite_StopsRecordingWithAReasonAndKeepsWhatTheRingHolds) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome =
      Run({"limit", run_, "1000000000"}, {"CROSSCUT_FAULT=log.write.half:3:fail"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::StartsWith("crosscut: recording stopped: "));
  const Audit audit = ReadRun(run_);
  EXPECT_EQ(audit.error, "");
  auto numbers = audit.processes.at(0).numbers;
  EXPECT_EQ(GapIn(numbers[0]), "");
}

TEST_F(Faults, ReadOnlyDirectory_IsNoSessionAndSaysWhy) {
  ASSERT_EQ(mkdir(run_.c_str(), 0500), 0);
  if (access(run_.c_str(), W_OK) == 0) {  // root writes anywhere but in /proc
    const Outcome outcome = Run({"signals", "/proc/crosscut-run"});
    EXPECT_EQ(WEXITSTATUS(outcome.status), 1);
    EXPECT_THAT(outcome.err, testing::HasSubstr("run directory"));
    return;
  }
  const Outcome outcome = Run({"signals", run_});
  EXPECT_EQ(WEXITSTATUS(outcome.status), 1);
  EXPECT_THAT(outcome.err, testing::HasSubstr("cannot write in"));
}

TEST_F(Faults, FullSharedMemory_MovesTheRingToTheRunDirectoryAndSaysSo) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome =
      Run({"overload", run_, "1", "1000"}, {"CROSSCUT_FAULT=ring.create:1:fail"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, testing::HasSubstr("the ring is in the run directory"));
  EXPECT_EQ(ReadRun(run_).processes.at(0).counters, 1000u);
}

TEST_F(Faults, NoThreadForTheDrain_IsNoSessionAndLeavesNoFile) {
  NEEDS_FAULT_POINTS();
  const Outcome outcome = Run({"signals", run_}, {"CROSSCUT_FAULT=drain.thread:1:fail"});
  EXPECT_EQ(WEXITSTATUS(outcome.status), 1);
  EXPECT_THAT(outcome.err, testing::HasSubstr("cannot start a thread"));
  EXPECT_TRUE(ReadRun(run_).processes.empty());
}

TEST_F(Faults, NoMemory_IsNoSessionForEveryFailingAllocation) {
  NEEDS_FAULT_POINTS();
  int refused = 0;
  for (int nth = 1; nth <= 12; ++nth) {
    const Outcome outcome = Run({"overload", run_ + std::to_string(nth), "1", "100"},
                                {"CROSSCUT_FAULT=memory.map:" + std::to_string(nth) + ":fail"});
    EXPECT_TRUE(WIFEXITED(outcome.status)) << nth;
    refused += WEXITSTATUS(outcome.status) == 1;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(Faults, SpansOverTheEdgesOfControlSteps_LeaveEveryStackRight) {
  const Outcome outcome = Run({"control", run_});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Audit audit = ReadRun(run_);
  ASSERT_EQ(audit.error, "");
  EXPECT_EQ(audit.processes.at(0).unbalanced, 0u);
  EXPECT_EQ(audit.processes.at(0).left_open, 0);
  EXPECT_LT(audit.processes.at(0).kept, 300u * 6 + 600 * 2);  // some steps were not recorded
}

TEST_F(Faults, NoSignalHandlerIsInstalled) { EXPECT_EQ(Run({"signals", run_}).status, 0); }

}  // namespace
}  // namespace crosscut::faults
