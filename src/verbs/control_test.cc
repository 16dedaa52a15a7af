#include "src/verbs/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "src/format/ring_search.h"
#include "src/verbs/armed_process.h"
#include "src/verbs/common_step.h"
#include "src/verbs/test_armed_ring.h"

namespace crosscut::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Action = ControlOptions::Action;

class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-control-test-XXXXXX";
    run_ = mkdtemp(name);
    std::ofstream(run_ + "/run.json") << "{\"format\": 1}";
  }
  void TearDown() override { std::filesystem::remove_all(run_); }

  ControlOptions Options(Action action) const {
    ControlOptions options;
    options.action = action;
    options.target = run_;
    return options;
  }
  // What must work, of all processes by their names.
  std::map<std::string, ControlledProcess> Do(const ControlOptions& options) const {
    std::map<std::string, ControlledProcess> out;
    const auto outcome = Control(options);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    if (!outcome.ok()) return out;
    EXPECT_EQ(outcome->run_dir, run_);
    for (const ControlledProcess& process : outcome->processes) {
      EXPECT_TRUE(process.pid == getpid() || process.pid == other_);
      EXPECT_EQ(process.title, "verbs_control_test (pid " + std::to_string(process.pid) + ")");
      out[process.key] = process;
    }
    EXPECT_TRUE(std::is_sorted(outcome->processes.begin(), outcome->processes.end(),
                               [](const auto& a, const auto& b) { return a.pid < b.pid; }));
    return out;
  }
  std::string Problem(const ControlOptions& options) const {
    const auto outcome = Control(options);
    EXPECT_FALSE(outcome.ok());
    return outcome.ok() ? "" : std::string(outcome.status().message());
  }

  std::string run_;
  pid_t other_ = 0;  // of the other process that there is
};

// A process that has a ring of its own mapped and does nothing.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& run) {
    int ready[2], made[2];
    if (pipe(ready) != 0 || pipe(made) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      char path[512] = {};
      if (read(ready[0], path, sizeof path - 1) <= 0) _exit(1);
      const int fd = open(path, O_RDWR);
      if (mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) _exit(1);
      if (write(made[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    ring_ = std::make_unique<ArmedRing>(run, 8, base::IdentityOf(pid_));
    char word;
    EXPECT_GT(write(ready[1], ring_->path().c_str(), ring_->path().size()), 0);
    EXPECT_EQ(read(made[0], &word, 1), 1);
    for (const int fd : {ready[0], ready[1], made[0], made[1]}) close(fd);
  }
  ~OtherProcess() {
    ring_->End();
    End();
  }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  ArmedRing& ring() { return *ring_; }

 private:
  pid_t pid_ = -1;
  std::unique_ptr<ArmedRing> ring_;
};

TEST_F(ControlTest, AWindowBeginsAndEndsAtOneStepOfAllThatCountThem) {
  ArmedRing fast(run_, 1), slow(run_, 2), other(run_, 3);
  fast.Serve(1000);
  slow.Serve(1300);
  other.Serve(0);
  uint64_t before = 0;
  for (int round = 0; round < 2; ++round) {
    auto begun = Do(Options(Action::kStart));
    ASSERT_EQ(begun.size(), 3u);
    // One more where a process was late for the step: the next is asked for anew.
    const uint64_t window = begun["p1"].window;
    EXPECT_GT(window, before);
    before = window;
    for (const char* name : {"p1", "p2", "p3"}) {
      EXPECT_TRUE(begun[name].followed);
      EXPECT_EQ(begun[name].words, "");
      EXPECT_EQ(begun[name].window, window);
      EXPECT_FALSE(begun[name].ended);
      EXPECT_EQ(begun[name].end_step, 0u);
      EXPECT_EQ(begun[name].counts_steps, name != std::string("p3"));
    }
    EXPECT_EQ(begun["p1"].first_step, begun["p2"].first_step);
    EXPECT_GT(begun["p1"].first_step, 0u);
    auto ended = Do(Options(Action::kStop));
    ASSERT_EQ(ended.size(), 3u);
    for (const char* name : {"p1", "p2", "p3"}) {
      EXPECT_TRUE(ended[name].followed);
      EXPECT_TRUE(ended[name].ended);
      EXPECT_EQ(ended[name].window, window);
    }
    EXPECT_EQ(ended["p1"].end_step, ended["p2"].end_step);
    EXPECT_GT(ended["p1"].end_step, ended["p1"].first_step);
  }
  for (ArmedRing* ring : {&fast, &slow, &other}) {
    ring->End();
    EXPECT_THAT(ring->kinds(), MatchesRegex("(12)+"));
    EXPECT_EQ(ring->asked().step_count, 0u);
    EXPECT_EQ(ring->asked().limit_ns, 0u);
  }
  EXPECT_EQ(other.asked().at_step, UINT64_MAX);
  EXPECT_NE(fast.asked().at_step, UINT64_MAX);
}

TEST_F(ControlTest, AWindowOfSomeStepsIsWaitedFor) {
  ArmedRing one(run_, 1), two(run_, 2);
  one.Serve(1000);
  two.Serve(2000);
  ControlOptions options = Options(Action::kStart);
  options.steps = 12;
  auto told = Do(options);
  ASSERT_EQ(told.size(), 2u);
  for (const char* name : {"p1", "p2"}) {
    EXPECT_TRUE(told[name].followed);
    EXPECT_TRUE(told[name].ended);
    EXPECT_EQ(told[name].end_step, told[name].first_step + 12);
  }
  two.End();
  EXPECT_THAT(two.kinds(), MatchesRegex("(12)*1")) << "it ended by itself";
}

// It ends by itself ten seconds later, should nobody be there to end it.
TEST_F(ControlTest, AWindowOfSomeTimeIsEndedByTheCommand) {
  ArmedRing counts(run_, 1), none(run_, 2);
  counts.Serve(1000);
  none.Serve(0);
  ControlOptions options = Options(Action::kStart);
  options.seconds = 0.25;
  const auto before = std::chrono::steady_clock::now();
  auto told = Do(options);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(250));
  ASSERT_EQ(told.size(), 2u);
  for (const char* name : {"p1", "p2"}) {
    EXPECT_TRUE(told[name].followed) << told[name].words;
    EXPECT_TRUE(told[name].ended);
  }
  none.End();
  EXPECT_EQ(none.kinds(), "12");
}

TEST_F(ControlTest, TheLimitOfAWindowOfSomeTimeIsTenSecondsMore) {
  ArmedRing ring(run_, 1);
  ring.header().control.counts_steps = 0;
  ControlOptions options = Options(Action::kStart);
  options.seconds = 2.5;
  options.steps = 0;
  options.timeout = 0.1;
  // Nobody answers: the request is taken back, and what it asked still stands there.
  const auto outcome = Control(options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->processes[0].followed);
  EXPECT_EQ(outcome->processes[0].words,
            "it ran no Python for 0.1 s: a call holds the interpreter's lock");
  EXPECT_EQ(ring.header().control.limit_ns, 12'500'000'000u);
  EXPECT_EQ(ring.header().control.window, 1u);
  EXPECT_EQ(ring.header().control.at_step, UINT64_MAX);
  EXPECT_EQ(ring.header().request & 0xff, 0u) << "taken back";
}

TEST_F(ControlTest, AStepThatIsNamedIsTheStep) {
  ArmedRing ring(run_, 1), none(run_, 2);
  ring.header().control.steps = 290;
  ring.Serve(1000, /*asked=*/true);
  none.Serve(0);
  ControlOptions options = Options(Action::kStart);
  options.at_step = 300;
  auto told = Do(options);
  EXPECT_TRUE(told["p1"].followed);
  EXPECT_EQ(told["p1"].first_step, 300u);
  EXPECT_FALSE(told["p2"].followed);
  EXPECT_EQ(told["p2"].words, "it counts no steps: the program does not call crosscut.step()");
  none.End();
  EXPECT_EQ(none.kinds(), "");
  options = Options(Action::kStop);
  options.at_step = 200;
  EXPECT_THAT(Problem(options), HasSubstr("step 200 has begun already"));
  options.at_step = 0;
  EXPECT_TRUE(Do(options)["p1"].ended);
}

TEST_F(ControlTest, WithoutWaitingForAStepNoStepIsNamed) {
  ArmedRing ring(run_, 1);
  ring.header().control.steps = 5;
  ring.Serve(50'000);
  ControlOptions options = Options(Action::kStart);
  options.at_once = true;
  EXPECT_TRUE(Do(options)["p1"].followed);
  ring.End();
  EXPECT_EQ(ring.asked().at_step, UINT64_MAX);
}

// A program that makes no step any more.
TEST_F(ControlTest, WhoBeginsNoStepIsGivenUpAndAStopTakesItWhereItIs) {
  ArmedRing ring(run_, 1);
  ring.header().control.counts_steps = 1;
  ring.header().control.steps = 7;
  ControlOptions options = Options(Action::kStart);
  options.timeout = 0.25;
  auto told = Do(options);
  EXPECT_FALSE(told["p1"].followed);
  EXPECT_EQ(told["p1"].words, "it began no step for 0.25 s (7 so far)");
  EXPECT_EQ(ring.header().request & 0xff, 0u) << "taken back";

  ring.header().state = format::kRingRecording;
  ring.header().control.window_begun = 4;
  std::atomic<bool> over = false;
  // It looks for requests that name no step alone.
  std::thread waits([&] {
    while (!over) {
      const uint32_t word = format::WaitingRequest(ring.header());
      if (word != 0 && ring.header().control.at_step == UINT64_MAX &&
          format::ClaimRequest(&ring.header(), word)) {
        ring.header().control.window_ended = 4;
        format::RingStore(ring.header().state, uint32_t{format::kRingStopped});
        format::Answer(&ring.header(), word, 0);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  options = Options(Action::kStop);
  options.timeout = 1.5;
  told = Do(options);
  over = true;
  waits.join();
  EXPECT_TRUE(told["p1"].followed) << told["p1"].words;
  EXPECT_TRUE(told["p1"].ended);
  EXPECT_EQ(told["p1"].window, 4u);
}

TEST_F(ControlTest, WhatAProcessAnswersIsTold) {
  ArmedRing ring(run_, 1);
  std::atomic<bool> over = false;
  std::thread answers([&] {
    while (!over) {
      const uint32_t word = format::WaitingRequest(ring.header());
      if (word != 0 && format::ClaimRequest(&ring.header(), word)) {
        strcpy(ring.header().control.words, "there is no room for it");
        format::Answer(&ring.header(), word, 5);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  auto told = Do(Options(Action::kStart));
  over = true;
  answers.join();
  EXPECT_FALSE(told["p1"].followed);
  EXPECT_EQ(told["p1"].words, "there is no room for it");
}

TEST_F(ControlTest, ASnapshotWaitsForNoStepAndIsNoWindow) {
  ArmedRing ring(run_, 1);
  ring.header().control.window_begun = 3;
  ring.Serve(50'000);
  EXPECT_THAT(Problem(Options(Action::kSnapshot)), HasSubstr("it is not recording now"));
  ring.header().state = format::kRingRecording;
  auto told = Do(Options(Action::kSnapshot));
  EXPECT_TRUE(told["p1"].followed);
  EXPECT_EQ(told["p1"].window, 3u);
  ring.End();
  EXPECT_EQ(ring.kinds(), "3");
  EXPECT_EQ(ring.asked().at_step, UINT64_MAX);
}

TEST_F(ControlTest, WhatDoesNotFitWhatTheProcessDoesIsRefused) {
  ArmedRing ring(run_, 1);
  const std::string title = "verbs_control_test (pid " + std::to_string(getpid()) + "): ";
  EXPECT_EQ(Problem(Options(Action::kStop)), title + "it is not recording now");
  for (const format::RingState state : {format::kRingRecording, format::kRingPaused}) {
    ring.header().state = state;
    ring.header().control.window_begun = 6;
    EXPECT_EQ(Problem(Options(Action::kStart)), title + "it is already recording, window 6");
  }
  // One that cannot follow does not keep the others back.
  ArmedRing other(run_, 2);
  other.Serve(0);
  auto told = Do(Options(Action::kStart));
  EXPECT_FALSE(told["p1"].followed);
  EXPECT_EQ(told["p1"].words, "it is already recording, window 6");
  EXPECT_TRUE(told["p2"].followed);
  EXPECT_EQ(told["p2"].window, 7u) << "the run's next";
}

TEST_F(ControlTest, AnEarlierRequestIsTakenBackByAStop) {
  ArmedRing ring(run_, 1);
  const uint32_t word = format::Ask(&ring.header(), {format::kRequestStart, 100});
  EXPECT_THAT(Problem(Options(Action::kStart)),
              HasSubstr("an earlier request is still waiting; `crosscut stop` takes it back"));
  EXPECT_EQ(ring.header().request, word);
  auto told = Do(Options(Action::kStop));
  EXPECT_TRUE(told["p1"].followed);
  EXPECT_EQ(told["p1"].words, "a start that was still waiting was taken back");
  EXPECT_EQ(ring.header().request & 0xff, 0u);
  // One that was answered waits no more, and one that is carried out is not taken back.
  const uint32_t next = format::Ask(&ring.header(), {format::kRequestStart, 100});
  ASSERT_TRUE(format::ClaimRequest(&ring.header(), next));
  EXPECT_THAT(Problem(Options(Action::kStop)), HasSubstr("an earlier request is still waiting"));
  format::Answer(&ring.header(), next, 0);
  EXPECT_THAT(Problem(Options(Action::kStop)), HasSubstr("it is not recording now"));
}

TEST_F(ControlTest, ALogThatFailedIsToldAndItsProcessStopped) {
  ArmedRing ring(run_, 1);
  ring.header().failed_at_byte = 4096;
  ring.header().failed_errno = ENOSPC;
  ring.Serve(0);
  auto told = Do(Options(Action::kStop));
  EXPECT_FALSE(told["p1"].followed);
  EXPECT_EQ(told["p1"].words, std::string("its log could not be written: ") + strerror(ENOSPC));
  ring.End();
  EXPECT_EQ(ring.kinds(), "2") << "it was asked all the same";
  ring.header().failed_errno = 0;
  const auto process = ArmedProcess::Open(*RingOfProcess(getpid()));
  ASSERT_TRUE(process.ok()) << process.status().message();
  EXPECT_EQ((*process)->failure(), "its log could not be written");
}

TEST_F(ControlTest, AProcessIsFoundByItsNumber) {
  ArmedRing ring(run_, 1);
  ring.Serve(0);
  ControlOptions options = Options(Action::kStart);
  options.target = std::to_string(getpid());
  auto told = Do(options);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told["p1"].followed);
  // The run's other windows have their numbers.
  ArmedRing other(run_, 2);
  other.header().control.window_begun = 9;
  other.Serve(0);
  Do(Options(Action::kStop));
  told = Do(options);  // of one of both, which this process has mapped
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.begin()->second.window, 10u);
}

TEST_F(ControlTest, WhoCannotBeAskedIsNamed) {
  ControlOptions options = Options(Action::kStart);
  EXPECT_EQ(Problem(options),
            "no process of " + run_ + " is alive: only what still runs can be asked");
  options.target = run_ + "/nothing";
  EXPECT_THAT(Problem(options), HasSubstr("is neither a process id nor a run directory"));
  std::filesystem::create_directory(run_ + "/folder");
  options.target = run_ + "/folder";
  EXPECT_THAT(Problem(options), HasSubstr("is not a run: it has no run.json"));
  for (const char* nobody : {"0", "-3", "999999999"}) {
    options.target = nobody;
    EXPECT_EQ(Problem(options), std::string("there is no process ") + nobody);
  }
  options.target = std::to_string(getpid());
  EXPECT_THAT(Problem(options), HasSubstr("is not ready for this: start it with"));

  ArmedRing ring(run_, 1);
  {
    const int fd = open(ring.path().c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    const auto outcome = Control(Options(Action::kStart));
    close(fd);
    EXPECT_EQ(outcome.status().code(), Status::Code::kLimit);
    EXPECT_THAT(std::string(outcome.status().message()),
                HasSubstr("another crosscut command is at work on"));
  }
  ring.header().control.armed = 0;
  EXPECT_THAT(Problem(Options(Action::kStart)), HasSubstr("records, but takes no requests"));
  ring.header().pid = 1;
  EXPECT_THAT(Problem(options), HasSubstr("has mapped the ring of another process"));
}

TEST_F(ControlTest, WhoEndsBeforeItAnswersOrInsideTheWindowIsTold) {
  {
    ArmedRing here(run_, 1);
    here.Serve(0);
    OtherProcess other(run_);
    other_ = other.pid();
    std::thread ends([&] {
      while (format::WaitingRequest(other.ring().header()) == 0) usleep(1000);
      other.End();
    });
    auto told = Do(Options(Action::kStart));
    ends.join();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_TRUE(told["p1"].followed);
    EXPECT_FALSE(told["p8"].followed);
    EXPECT_EQ(told["p8"].words, "it has ended in the meantime");
  }
  OtherProcess other(run_);
  other_ = other.pid();
  other.ring().Serve(0);
  std::thread ends([&] {
    while (format::RingLoad(other.ring().header().control.window_begun) == 0) usleep(1000);
    other.End();
  });
  ControlOptions options = Options(Action::kStart);
  options.seconds = 60;
  const auto before = std::chrono::steady_clock::now();
  auto told = Do(options);
  ends.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(60)) << "none is left";
  EXPECT_FALSE(told["p8"].ended);
}

// Whoever has begun to carry a request out has longer than whoever has not.
TEST_F(ControlTest, WhoHasTakenARequestUpIsWaitedFor) {
  ArmedRing ring(run_, 1);
  std::thread answers([&] {
    uint32_t word = 0;
    while ((word = format::WaitingRequest(ring.header())) == 0) usleep(1000);
    EXPECT_TRUE(format::ClaimRequest(&ring.header(), word));
    usleep(400'000);
    ring.header().control.window_begun = 1;
    format::RingStore(ring.header().state, uint32_t{format::kRingRecording});
    format::Answer(&ring.header(), word, 0);
  });
  ControlOptions options = Options(Action::kStart);
  options.timeout = 0.1;
  auto told = Do(options);
  answers.join();
  EXPECT_TRUE(told["p1"].followed) << told["p1"].words;
  EXPECT_EQ(told["p1"].window, 1u);
}

// A child that came into it meanwhile, too. Who has left it, or is in another, goes on.
TEST_F(ControlTest, AtTheEndOfAWindowWhoeverIsStillInItIsStopped) {
  ArmedRing left(run_, 1), another(run_, 2), child(run_, 3);
  OtherProcess asked(run_);
  other_ = asked.pid();
  for (ArmedRing* ring : {&left, &another, &child}) ring->header().control.armed = 0;
  std::thread forks([&] {
    const format::RingHeader& header = asked.ring().header();
    while (format::WaitingRequest(header) == 0) usleep(1000);
    const uint64_t window = header.control.window;
    for (ArmedRing* ring : {&left, &another, &child}) {
      ring->header().control.window_begun = window + (ring == &another ? 1 : 0);
      ring->header().control.window_ended = ring == &left ? window : 0;
      ring->header().state = format::kRingRecording;
      ring->header().control.armed = 1;
      ring->Serve(0);
    }
    asked.ring().Serve(0);
  });
  ControlOptions options = Options(Action::kStart);
  options.seconds = 0.05;
  auto told = Do(options);
  forks.join();
  for (const char* name : {"p8", "p3"}) {
    EXPECT_TRUE(told[name].followed) << name << told[name].words;
    EXPECT_TRUE(told[name].ended) << name;
  }
  for (ArmedRing* ring : {&left, &another, &child, &asked.ring()}) ring->End();
  EXPECT_EQ(asked.ring().kinds(), "12");
  EXPECT_EQ(child.kinds(), "2");
  EXPECT_EQ(left.kinds() + another.kinds(), "");
}

// It is waited for only as long as somebody makes the steps that would end it.
TEST_F(ControlTest, WhoCountsNoStepsIsStoppedOnceTheOthersHaveMadeTheirs) {
  ArmedRing counts(run_, 1), none(run_, 2);
  counts.Serve(1000);
  none.Serve(0);
  ControlOptions options = Options(Action::kStart);
  options.steps = 5;
  options.timeout = 3600;  // for nothing: nobody may wait for it
  auto told = Do(options);
  EXPECT_EQ(told["p1"].end_step, told["p1"].first_step + 5);
  EXPECT_TRUE(told["p2"].ended);
  for (ArmedRing* ring : {&counts, &none}) ring->End();
  EXPECT_THAT(counts.kinds(), MatchesRegex("(12)*1")) << "it ended by itself";
  EXPECT_THAT(none.kinds(), MatchesRegex("(12)+"));
}

// Of the fastest one's steps in a sixteenth of a second, and two; in fractions that are exact.
TEST(CommonStep, IsAsFarAheadAsTheFastestGetsMeanwhile) {
  const auto at = [](const std::vector<CountedSteps>& processes, double timeout = 0) {
    const auto step = CommonStep(processes, {1.0 / 32, 1.0 / 16, timeout});
    return step.ok() ? std::to_string(*step) : std::string(step.status().message());
  };
  EXPECT_EQ(at({{"a", 5, 5}}), "7");
  EXPECT_EQ(at({{"a", 5, 6}}), "10");
  EXPECT_EQ(at({{"a", 0, 100}}), "302");
  EXPECT_EQ(at({{"a", 90, 91}, {"b", 100, 140}}), "222");
  EXPECT_EQ(at({{"b", 100, 140}, {"a", 90, 91}}), "222");
  EXPECT_EQ(at({{"a", 9, 9}, {"b", 0, 3}}), "17") << "the farthest need not be the fastest";
  const auto half = CommonStep({{"a", 0, 5}}, {0.5, 0.125, 0});  // 1.25 steps
  EXPECT_EQ(*half, 9u);
  // So far behind it counts others, unless it gets there in time: at 64 steps a second.
  const std::string told =
      "a is at step 40, another at step 200: they count different steps; --now "
      "starts and stops them without waiting for a step";
  const auto behind = [&](uint64_t now, double timeout) {
    return at({{"a", now - 2, now}, {"b", 200, 200}}, timeout);  // the common step is 206
  };
  EXPECT_EQ(behind(46, 0), "206") << "160 steps: ten times those that are ahead, and a hundred";
  EXPECT_EQ(behind(45, 0), "a is at step 45" + told.substr(15));
  EXPECT_EQ(behind(40, 0), told);
  EXPECT_EQ(behind(14, 3), "206") << "192 steps in three seconds";
  EXPECT_EQ(behind(13, 3), "a is at step 13" + told.substr(15));
}

TEST_F(ControlTest, ProcessesThatCountDifferentStepsAreTold) {
  ArmedRing ahead(run_, 1), behind(run_, 2);
  ahead.header().control.steps = 1'000'000'000;
  ahead.Serve(5000);
  behind.Serve(5000);
  ControlOptions options = Options(Action::kStart);
  options.timeout = 1;
  EXPECT_THAT(Problem(options),
              HasSubstr("they count different steps; --now starts and stops them without waiting"));
}

}  // namespace
}  // namespace crosscut::verbs
