// What the drain does when it is asked, and where its log, its process or its descriptors are not
// as usual.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "crosscut/crosscut.h"
#include "src/collect/test_drain.h"

namespace crosscut::record {
namespace {

using testing::DrainTest;
using testing::failure;
using testing::failure_number;
using testing::failures;
using testing::hold;
using testing::kName;
using testing::MarkSpans;
using testing::Ns;
using testing::passes;
using testing::SpansIn;
using testing::starts;

TEST_F(DrainTest, WhatIsAskedIsDoneOnceAndTheProgramsHooksAreCalled) {
  RecordAndDrain(16);
  Flush();
  EXPECT_EQ(starts, 0);
  drain_->Ask(Drain::kStarted);
  ASSERT_TRUE(drain_->Await(60'000));
  EXPECT_EQ(starts, 1);
  drain_->Ask(Drain::kStarted | Drain::kFlush);
  ASSERT_TRUE(drain_->Await(60'000));
  EXPECT_EQ(starts, 2);
  const int before = passes;
  Flush();
  EXPECT_GT(passes, before);
  Quit();
  EXPECT_EQ(starts, 2);
  EXPECT_EQ(failures, 0);
}

// One session after the other, by one drain: each as if it were the first.
TEST_F(DrainTest, ALogThatCannotBeWrittenIsToldAndTheNextOneIsWritten) {
  for (int round = 1; round <= 2; ++round) {
    DrainOptions options;
    options.ring = Record(32);
    StartOn(options, open("/dev/full", O_RDWR | O_CLOEXEC));
    MarkSpans(kName, 100);
    Flush();
    Flush();
    Quit();
    EXPECT_EQ(failures, round);
    EXPECT_EQ(failure_number, ENOSPC);
    EXPECT_EQ(options.ring->header()->failed_errno, uint32_t{ENOSPC});
    EXPECT_NE(options.ring->header()->failed_at_byte, 0u);

    ChunkRing* ring = RecordAndDrain(32);
    for (int i = 0; i < 3; ++i) MarkSpans(kName + 1, 100);
    Flush();
    Quit();
    EXPECT_EQ(failures, round);
    EXPECT_EQ(ring->header()->failed_at_byte, 0u);
    auto spans = SpansIn(ReadLog());
    EXPECT_EQ(spans.count(kName), 0u) << "of the session before";
    ASSERT_EQ(spans[kName + 1].size(), 1u);
    EXPECT_EQ(spans[kName + 1].begin()->second, 300u);
    std::filesystem::remove(log());
  }
}

TEST_F(DrainTest, WhereTheLogWasRemovedThatIsToldOnceAndTheRingGoes) {
  ChunkRing* ring = Record(16);
  const std::string ring_file = dir_ + "/named";
  fclose(fopen(ring_file.c_str(), "we"));
  DrainOptions options;
  options.ring = ring;
  options.ring_name = ring_file.c_str();
  Start(options);
  Flush();
  EXPECT_EQ(access(ring_file.c_str(), F_OK), 0);
  EXPECT_EQ(ring->header()->failed_at_byte, 0);
  unlink(log().c_str());
  Flush();
  Flush();
  EXPECT_NE(access(ring_file.c_str(), F_OK), 0);
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(failure, "log: the log was removed");
  EXPECT_EQ(failure_number, 0);
  EXPECT_GE(ring->header()->failed_at_byte, format::kLogHeaderBytes);
  Quit();
  EXPECT_EQ(failures, 1);
  EXPECT_NE(ring->header()->state, uint64_t{format::kRingFinished});
}

TEST_F(DrainTest, AtTheEndTheRingOfARemovedRunGoesAndAllThatNothingWasRecordedInto) {
  for (const auto& [request, removed] :
       {std::pair(Drain::kLook, false), {Drain::kLook, true}, {Drain::kDiscard, false}}) {
    ChunkRing* ring = Record(16);
    const std::string ring_file = dir_ + "/named", log_file = log();
    fclose(fopen(ring_file.c_str(), "we"));
    DrainOptions options;
    options.ring = ring;
    options.ring_name = ring_file.c_str();
    options.log_name = log_file.c_str();
    Start(options);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());
    if (removed) unlink(log_file.c_str());
    drain_->Ask(request);
    ASSERT_TRUE(drain_->Await(60'000));
    const bool goes = removed || request == Drain::kDiscard;
    EXPECT_EQ(access(ring_file.c_str(), F_OK) != 0, goes);
    EXPECT_EQ(access(log_file.c_str(), F_OK) != 0, goes);
    Quit();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(ring->header()->state == uint64_t{format::kRingFinished}, !goes);
    unlink(log_file.c_str());
  }
}

TEST_F(DrainTest, WhatItLeavesStaysInTheRingAndTheLogIsNotComplete) {
  for (const bool written_on : {true, false}) {
    ChunkRing* ring = RecordAndDrain(16);
    format::RingStore(ring->header()->marks_use, uint64_t{1});
    MarkSpans(kName, 10);
    drain_->Leave(written_on);
    EXPECT_FALSE(drain_->running());
    EXPECT_EQ(ring->header()->marks_use, written_on ? 0 : 1);
    EXPECT_FALSE(ring->Drained());
    EXPECT_EQ(SpansIn(ReadLog(false)).count(kName), 0);
    unlink(log().c_str());
  }
}

// Whatever the program opens and closes: the log, the ring's mark, and nothing else.
TEST_F(DrainTest, ItHasDescriptorsOfItsOwnThatStandHigh) {
  rlimit usual = {};
  getrlimit(RLIMIT_NOFILE, &usual);
  for (const rlim_t most : {usual.rlim_cur, rlim_t{1000}}) {
    const rlimit limit = {most, usual.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    DrainOptions options;
    options.ring = Record(16);
    Recorder::Get().SetPhase(Phase::kOff, ClockNow());  // it opens no files of its own then
    options.mark = open((dir_ + "/mark").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const int mark = options.mark;
    Start(options);
    EXPECT_EQ(fcntl(mark, F_GETFD), -1) << "the program's number is free";
    std::map<int, std::string> files;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      char name[32] = {};
      FILE* const comm = fopen((task.path() / "comm").c_str(), "re");
      if (comm == nullptr || fgets(name, sizeof name, comm) == nullptr) name[0] = '\0';
      if (comm != nullptr) fclose(comm);
      if (std::string(name) != "crosscut-drain\n") continue;
      for (const auto& fd : std::filesystem::directory_iterator(task.path() / "fd")) {
        files[std::stoi(fd.path().filename())] = std::filesystem::read_symlink(fd.path());
      }
    }
    const auto least = static_cast<int>(std::min<rlim_t>(most / 2, 4096));
    ASSERT_EQ(files.size(), 2u);
    EXPECT_GE(files.begin()->first, least);
    EXPECT_LT(files.rbegin()->first, least + 2);
    EXPECT_EQ(files.begin()->second, log());
    EXPECT_EQ(files.rbegin()->second, dir_ + "/mark");
    Quit();
    setrlimit(RLIMIT_NOFILE, &usual);
    unlink(log().c_str());
  }
}

TEST_F(DrainTest, InControlStepsItLooksOnlyWhereItIsAsked) {
  RecordAndDrain(16);
  const int before = passes;
  while (passes == before) usleep(1000);  // by itself
  Recorder::Get().SetPhase(Phase::kControl, ClockNow());
  Flush();
  const int asked = passes;
  usleep(200'000);
  EXPECT_EQ(passes, asked);
  Flush();
  EXPECT_GT(passes, asked);
  Quit();
}

TEST_F(DrainTest, WhoWaitsForItWaitsAsLongAsHeSays) {
  RecordAndDrain(16);
  hold = true;
  drain_->Ask(Drain::kStarted);
  const int64_t begin = Ns(CLOCK_MONOTONIC);
  EXPECT_FALSE(drain_->Await(20));
  EXPECT_GE(Ns(CLOCK_MONOTONIC) - begin, 20'000'000);
  hold = false;
  EXPECT_TRUE(drain_->Await(60'000));
  Quit();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have threads, too
// By a bare exit call, of which no handler is told.
TEST_F(DrainTest, WhereAllThreadsHaveLeftTheProcessEndsAsItsMainThreadDid) {
  enum Beside { kNobody, kALibrarysThread, kTheProgramsThread };
  for (const Beside beside : {kNobody, kALibrarysThread, kTheProgramsThread}) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      Recorder::Get().AfterFork(nullptr);
      DrainOptions options;
      options.ring = Record(16);
      if (beside == kALibrarysThread) options.other_threads = [] { return 1; };
      Start(options);
      if (beside == kALibrarysThread) {
        std::thread([] {
          for (;;) pause();
        }).detach();
      } else if (beside == kTheProgramsThread) {
        std::thread([] {
          usleep(200'000);
          const std::filesystem::directory_iterator tasks("/proc/self/task");
          syscall(SYS_exit_group, std::distance(begin(tasks), end(tasks)) == 3 ? 9 : 8);
        }).detach();
      }
      syscall(SYS_exit, 7);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << beside;
    EXPECT_EQ(WEXITSTATUS(status), beside == kTheProgramsThread ? 9 : 7) << beside;
    unlink(log().c_str());
  }
}
#endif

}  // namespace
}  // namespace crosscut::record
