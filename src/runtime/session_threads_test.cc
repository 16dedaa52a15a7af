// Sessions whose threads, sources, clocks and disks do what they seldom do: nothing is lost that is
// not told, and nobody is harmed.
#include "src/runtime/session_threads_test.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/format/step_shares.h"

namespace crosscut::record {
namespace {

template <class Done>
bool Within60Seconds(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done() && std::chrono::steady_clock::now() < end) usleep(500);
  return done();
}

TEST_F(SessionThreads, AFailedLogIsNotRecordedIntoAtLaterSteps) {
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  options_.control_percent = 20;
  Start();
  const rlimit small = {6 << 10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const uint32_t work = Name("work");
  const bool failed = Within60Seconds([&] {
    crosscut_step(0);
    for (int i = 0; i < 2000; ++i) {
      crosscut_begin(work);
      crosscut_end();
    }
    return crosscut_recording() == 0;
  });
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(failed);
  for (int i = 0; i < 300; ++i) {
    crosscut_step(0);
    crosscut_pause();
    crosscut_resume();
    ASSERT_EQ(crosscut_recording(), 0) << i;
    ASSERT_EQ(crosscut_in_control(), 0) << i;
  }
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
  EXPECT_EQ(crosscut_start(&options_), CROSSCUT_EIO) << "its log can be written no more";
  Into("another");
  Start();
  EXPECT_NE(crosscut_recording(), 0);
}

TEST_F(SessionThreads, ALongPauseLosesNoStep) {
  options_.memory_bytes = 2 << 20;
  Start();
  constexpr int kSteps = 60'000;
  crosscut_step(0);
  crosscut_pause();
  for (int i = 0; i < kSteps; ++i) {
    crosscut_step(0);
    if (i % 1000 == 0) usleep(2000);  // a program has work between its steps
  }
  crosscut_resume();
  crosscut_step(0);
  StopAndFlush();
  int steps = 0, lost = 0;
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    steps += CodeOf(event) == format::kStepLevel;
    if (CodeOf(event) == format::kDrop) lost += static_cast<int>(event[2]);
  });
  EXPECT_EQ(steps, kSteps + 2);
  EXPECT_EQ(lost, 0);
}

TEST_F(SessionThreads, AFlushHasWhatThreadsMarkedInASessionBefore) {
  for (int round = 0; round < 20; ++round) {
    Start();
    const uint32_t name = Name("round " + std::to_string(round));
    std::atomic<bool> marked{false}, done{false};
    std::thread thread([&] {
      for (int i = 0; i < 10; ++i) crosscut_instant(name);
      marked = true;
      while (!done) usleep(100);
    });
    while (!marked) usleep(50);
    crosscut_stop();
    Start();
    ASSERT_EQ(crosscut_flush(), CROSSCUT_OK) << crosscut_error();
    const std::string copy = dir_ + "/copy";
    std::filesystem::copy(run_, copy, std::filesystem::copy_options::recursive);
    int found = 0;
    ForEachEvent(copy, [&](uint64_t, std::span<const uint64_t> event) {
      found += CodeOf(event) == format::kInstant && event[1] == name;
    });
    EXPECT_EQ(found, 10) << round;
    std::filesystem::remove_all(copy);
    done = true;
    thread.join();
    crosscut_stop();
  }
}

TEST_F(SessionThreads, WhatOneSessionLostIsToldThoughItsThreadEndsInTheNext) {
  options_.memory_bytes = 2 << 20;
  Start();
  const uint32_t name = Name("counted");
  uint64_t marked = 0;
  std::thread([&] {
    for (; marked < 1'000'000; ++marked) crosscut_counter(name, 1);
    crosscut_stop();
    Start();
    ++marked;
    crosscut_counter(name, 1);
  }).join();
  StopAndFlush();
  uint64_t found = 0, told = 0;
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    found += CodeOf(event) == format::kCounter && event[1] == name;
    if (CodeOf(event) == format::kDrop) told += event[2];
  });
  EXPECT_GE(found + told, marked);
  EXPECT_LE(found + told, marked + 100) << "the drain's own spans and counters may be lost, too";
}

std::atomic<uint64_t> hours{0};
uint64_t ClockOfDays() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) +
         hours * 3600 * 1'000'000'000;
}

TEST_F(SessionThreads, AnEventOfTheFourthDayIsReadThereThoughItsChunkIsOfTheFirst) {
  ClockInjectForTest(&ClockOfDays);
  Start();
  const uint32_t name = Name("each tenth hour");
  std::vector<uint64_t> marked, read;
  for (; hours < 120; hours += 10) {
    marked.push_back(crosscut_now());
    crosscut_instant(name);
    ASSERT_EQ(crosscut_flush(), CROSSCUT_OK);
  }
  StopAndFlush();
  ForEachEvent(run_, [&](uint64_t tick, std::span<const uint64_t> event) {
    if (CodeOf(event) == format::kInstant) read.push_back(tick);
  });
  ClockInjectForTest(nullptr);
  ASSERT_EQ(read.size(), marked.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_GE(read[i], marked[i]) << i;
    EXPECT_LT(read[i] - marked[i], uint64_t{3600} * 1'000'000'000) << i;
  }
}

// A ring that is full of what ended threads have left half full, and days later others come.
TEST_F(SessionThreads, WhoGetsTheChunkOfAThreadThatEndedDaysAgoIsReadInItsOwnTime) {
  ClockInjectForTest(&ClockOfDays);
  options_.memory_bytes = 2 << 20;
  Start();
  const uint32_t name = Name("of the first day"), late = Name("of the fifth");
  const auto threads_that_mark = [](uint32_t what) {
    for (int i = 0; i < 64; ++i) std::thread([what] { crosscut_instant(what); }).join();
  };
  threads_that_mark(name);
  ASSERT_EQ(crosscut_flush(), CROSSCUT_OK);
  hours = hours + 120;
  const uint64_t then = crosscut_now();
  threads_that_mark(late);  // nobody has emptied those chunks yet
  ASSERT_EQ(crosscut_flush(), CROSSCUT_OK);
  threads_that_mark(late);
  StopAndFlush();
  size_t read = 0;
  uint64_t told = 0;
  ForEachEvent(run_, [&](uint64_t tick, std::span<const uint64_t> event) {
    if (CodeOf(event) == format::kDrop) told += event[2];
    if (CodeOf(event) != format::kInstant || event[1] != late) return;
    ++read;
    EXPECT_GE(tick, then);
  });
  ClockInjectForTest(nullptr);
  EXPECT_GT(read, 0u);
  EXPECT_GE(read + told, 128u);
}

// Neither plan has control steps or boundary steps, so no mixture of them may.
TEST_F(SessionThreads, AThreadThatStepsHasThePlanOfItsSession) {
  std::atomic<bool> done{false};
  std::thread steps([&] {
    while (!done) crosscut_step(0);
  });
  for (int i = 0; i < 3000; ++i) {
    options_.plan = i % 2 == 0 ? "full" : "operators=4,everything=96";
    Start();
    usleep(200);
    crosscut_stop();
  }
  done = true;
  steps.join();
  ASSERT_EQ(crosscut_flush(), CROSSCUT_OK) << crosscut_error();
  uint64_t levels[format::kStepLevels] = {};
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    if (CodeOf(event) == format::kStepLevel) ++levels[event[2] & 3];
  });
  EXPECT_GT(levels[CROSSCUT_LEVEL_EVERYTHING], 0u);
  EXPECT_EQ(levels[CROSSCUT_LEVEL_CONTROL], 0u);
  EXPECT_EQ(levels[CROSSCUT_LEVEL_BOUNDARY], 0u);
}

TEST_F(SessionThreads, StepsOfTwoThreadsAreAllCountedAndEachHasItsNumber) {
  options_.memory_bytes = 32 << 20;
  Start();
  constexpr int kSteps = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kSteps; ++i) crosscut_step(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  StopAndFlush();
  std::vector<int> seen(2 * kSteps);
  int lost = 0;
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    if (CodeOf(event) == format::kStepLevel && event[1] < seen.size()) ++seen[event[1]];
    if (CodeOf(event) == format::kDrop) lost += static_cast<int>(event[2]);
  });
  EXPECT_EQ(lost, 0);
  for (const int times : seen) ASSERT_EQ(times, 1);
}

TEST_F(SessionThreads, TheFirstStepOfASessionIsNumber0ThoughAThreadSteppedOverTheLastStop) {
  enum Turn { kRest, kStep, kEnd };
  std::atomic<Turn> turn{kRest};
  std::atomic<bool> rests{true};
  std::thread beside([&] {
    for (Turn is = kRest; is != kEnd; is = turn) {
      Set(&rests, is == kRest);
      is == kStep ? (void)crosscut_step(0) : turn.wait(kRest);
    }
  });
  for (int i = 0; i < 100; ++i) {
    Start();
    EXPECT_EQ(crosscut_step(0), 0u) << i;
    Set(&turn, kStep);
    rests.wait(true);
    crosscut_stop();
    Set(&turn, kRest);
    rests.wait(false);
  }
  Set(&turn, kEnd);
  beside.join();
}

struct Watched {
  int handle = 0, calls = 0;
  bool removes = false, throws = false;
};
crosscut_source SourceOf(Watched* watched) {
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "watched";
  source.version = "1";
  source.self = watched;
  source.set_level = [](void* self, crosscut_level) {
    auto* it = static_cast<Watched*>(self);
    ++it->calls;
    if (it->removes) crosscut_source_remove(it->handle);
    if (it->throws) throw std::runtime_error("not today");
    return 0;
  };
  return source;
}

TEST_F(SessionThreads, ASourceThatRemovesItselfIsCalledNoMore) {
  Watched watched;
  watched.removes = true;
  const crosscut_source source = SourceOf(&watched);
  watched.handle = crosscut_source_add(&source);
  ASSERT_GT(watched.handle, 0);
  Start();
  EXPECT_EQ(watched.calls, 1);
  crosscut_stop();
  Start();
  crosscut_stop();
  EXPECT_EQ(watched.calls, 1);
}

TEST_F(SessionThreads, ASourceThatThrowsEndsNeitherTheSessionNorTheProgram) {
  Watched watched;
  watched.throws = true;
  const crosscut_source source = SourceOf(&watched);
  watched.handle = crosscut_source_add(&source);
  ASSERT_GT(watched.handle, 0);
  Start();
  EXPECT_EQ(crosscut_stop(), CROSSCUT_OK) << crosscut_error();
  EXPECT_EQ(watched.calls, 2);
  crosscut_source_remove(watched.handle);
}

TEST_F(SessionThreads, NothingThatACalibrationMarksIsRecorded) {
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "calibrates";
  source.version = "1";
  source.set_level = [](void*, crosscut_level) { return 0; };
  source.calibrate = [](void*) {
    crosscut_progress(0.5);
    crosscut_phase("calibration");
    crosscut_base(CROSSCUT_PYTHON);
    const uint32_t name = Name("calibrated");
    for (int i = 0; i < 100; ++i) crosscut_instant(name);
    EXPECT_EQ(crosscut_recording(), 0);
  };
  const int handle = crosscut_source_add(&source);
  Start();
  StopAndFlush();
  crosscut_source_remove(handle);
  ForEachEvent(run_, [&](uint64_t, std::span<const uint64_t> event) {
    EXPECT_FALSE(CodeOf(event) == format::kInstant && event[1] == Name("calibrated"));
  });
}

TEST_F(SessionThreads, WhoRemovesASourceWaitsForACallThatRuns) {
  struct Slow {
    std::atomic<bool> inside{false}, leaves{false}, gone{false};
    bool touched_late = false;
  } slow;
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "slow";
  source.version = "1";
  source.self = &slow;
  source.set_level = [](void* self, crosscut_level) {
    auto* it = static_cast<Slow*>(self);
    it->inside = true;
    while (!it->leaves) usleep(100);
    it->touched_late = it->gone;
    return 0;
  };
  const int handle = crosscut_source_add(&source);
  std::thread starts([this] { Start(); });
  while (!slow.inside) usleep(100);
  std::thread removes([&] {
    crosscut_source_remove(handle);
    slow.gone = true;
  });
  usleep(1'500'000);  // longer than any start or stop is waited for
  EXPECT_FALSE(slow.gone);
  slow.leaves = true;
  starts.join();
  removes.join();
  EXPECT_FALSE(slow.touched_late);
  crosscut_stop();
}

TEST_F(SessionThreads, StoppingAndStartingWhileThreadsMarkLosesNoMarkOfASession) {
  std::atomic<bool> done{false};
  std::atomic<uint64_t> certain{0};
  std::atomic<uint32_t> session{0};  // odd: recording, between a start's return and the next call
  const uint32_t name = Name("marked");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const uint32_t before = session;
        crosscut_instant(name);
        if (before % 2 == 1 && session == before) ++certain;
        usleep(20);
      }
    });
  }
  for (int i = 0; i < 150; ++i) {
    Into("run" + std::to_string(i % 3));
    Start();
    ++session;
    for (int pause = 0; pause < 3; ++pause) {
      usleep(300);
      ++session;
      crosscut_pause();
      crosscut_resume();
      ++session;
    }
    usleep(300);
    ++session;
    crosscut_stop();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(crosscut_flush(), CROSSCUT_OK);
  uint64_t found = 0;
  for (int i = 0; i < 3; ++i) {
    ForEachEvent(dir_ + "/run" + std::to_string(i), [&](uint64_t, std::span<const uint64_t> event) {
      found += CodeOf(event) == format::kInstant && event[1] == name;
      EXPECT_NE(CodeOf(event), format::kDrop);
    });
  }
  EXPECT_GE(found, certain);
  EXPECT_GT(certain, 1000u);
}

}  // namespace
}  // namespace crosscut::record
